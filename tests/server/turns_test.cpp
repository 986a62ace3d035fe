// Whose turn it is: queues, workers, memory for bodies, tokens.

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "body_room.h"
#include "client_use.h"
#include "diml/error.h"
#include "fair_line.h"
#include "guests.h"
#include "keys.h"
#include "refusal.h"
#include "request_id.h"
#include "workers.h"
#include "write_lane.h"

namespace diml::server {
namespace {

template <class Call>
int status_of(Call call) {
  try {
    call();
  } catch (const Refusal& refusal) {
    return refusal.status();
  }
  return 200;
}

TEST(FairLine, AClientWaitsBehindItself) {
  FairLine<int> line;
  for (int k = 0; k < 5; ++k) line.push("many", k);
  line.push("one", 10);
  std::map<std::string, double> served;
  std::vector<int> order;
  while (!line.empty()) {
    order.push_back(*line.pop([&](const std::string& client) { return served[client]; }));
    ++served[order.back() == 10 ? "one" : "many"];
  }
  EXPECT_EQ(order, (std::vector<int>{0, 10, 1, 2, 3, 4}));
  EXPECT_FALSE(line.pop([](const std::string&) { return 0.0; }));
}

TEST(FairLine, GivesNothingToWhoHasToWait) {
  FairLine<int> line;
  line.push("a", 1);
  EXPECT_FALSE(
      line.pop([](const std::string&) { return std::numeric_limits<double>::infinity(); }));
  line.remove_if("a", [](int one) { return one == 1; });
  EXPECT_TRUE(line.empty());
}

TEST(ClientUse, IsForgottenInTime) {
  ClientUse use;
  const Clock::time_point now = Clock::now();
  use.add("a", 2.0, now);
  EXPECT_DOUBLE_EQ(use.of("a", now), 2.0);
  EXPECT_LT(use.of("a", now + std::chrono::seconds(30)), 0.2);
  EXPECT_EQ(use.of("b", now), 0.0);
  for (int k = 0; k < 5000; ++k) use.add(std::to_string(k), 0.0001, now);
  EXPECT_DOUBLE_EQ(use.of("a", now), 2.0);
}

TEST(Guests, AreCountedByAddressAndByNetwork) {
  EXPECT_EQ(Guests::party_of("192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(Guests::party_of("2001:db8:1:2::7"), Guests::party_of("2001:db8:1:2:ffff::1"));
  EXPECT_NE(Guests::party_of("2001:db8:1:2::7"), Guests::party_of("2001:db8:1:3::7"));
  EXPECT_EQ(Guests::party_of("unix"), "unix");
  Guests guests;
  Guests::Seat one = guests.seat("a");
  const Guests::Seat two = guests.seat("b");
  EXPECT_EQ(guests.of("a"), 1u);
  EXPECT_EQ(guests.total(), 2u);
  one.reset();
  EXPECT_EQ(guests.of("a"), 0u);
  EXPECT_EQ(guests.total(), 1u);
}

TEST(BodyRooms, LeaveRoomForAClientWhoHasNothingYet) {
  BodyRooms rooms(1000);
  BodyRoom many(rooms);
  int taken = 0;
  while (status_of([&] { many.take("many", 10); }) == 200) taken += 10;
  EXPECT_GE(taken, 600);
  EXPECT_LE(taken, 700);
  {
    BodyRoom other(rooms);
    EXPECT_EQ(status_of([&] { other.take("other", 200); }), 200);
    EXPECT_EQ(status_of([&] { other.take("other", 200); }), kBusy);
    EXPECT_EQ(rooms.taken(), static_cast<std::size_t>(taken) + 200);
  }
  EXPECT_EQ(rooms.taken(), static_cast<std::size_t>(taken));
}

void sleep_for(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

TEST(Workers, OneClientsManyTasksDoNotDelayAnothersOne) {
  Workers workers(1, 100);
  std::vector<std::thread> threads;
  std::atomic<int> done = 0;
  for (int k = 0; k < 40; ++k) {
    threads.emplace_back([&] {
      workers.run({after(60.0), {}, {}, "many"}, [&] {
        sleep_for(20);
        return ++done;
      });
    });
  }
  while (done < 3) sleep_for(1);
  const int before = done;
  workers.run({after(60.0), {}, {}, "one"}, [] { return 0; });
  EXPECT_LE(done - before, 4);
  for (std::thread& thread : threads) thread.join();
}

TEST(Workers, AClientWhoHasUsedLittleNeedNotWaitForLongTasks) {
  Workers workers(1, 100);
  std::atomic<bool> go_on = false;
  std::thread hog([&] {
    workers.run({after(60.0), {}, {}, "hog"}, [&] {
      while (!go_on) sleep_for(1);
      return 0;
    });
  });
  while (workers.running() == 0) sleep_for(1);
  sleep_for(50);
  // The only common thread is taken until go_on.
  EXPECT_EQ(workers.run({after(10.0), {}, {}, "light"}, [] { return 7; }), 7);
  // The same client gets nothing more by it.
  EXPECT_EQ(status_of([&] { workers.run({after(0.1), {}, {}, "hog"}, [] { return 7; }); }), kBusy);
  go_on = true;
  hog.join();
}

TEST(WriteLane, ALateChangeIsNotCarriedOut) {
  std::atomic<bool> others_write = true;
  std::atomic<int> changes = 0;
  WriteLane lane(
      [&] {
        while (others_write) sleep_for(1);
      },
      4, 0.1);
  const auto change = [&] {
    return status_of([&] { lane.run({after(5.0)}, [&] { return ++changes; }); });
  };
  EXPECT_EQ(change(), kBusy);
  EXPECT_EQ(change(), kBusy);
  EXPECT_NE(lane.fault(), "");
  others_write = false;
  while (change() != 200) sleep_for(1);
  EXPECT_EQ(changes, 1);
  EXPECT_EQ(lane.fault(), "");
}

TEST(WriteLane, AFullDiskIsToldWithoutItsPath) {
  WriteLane lane([] {}, 4, 1.0);
  try {
    lane.run({after(5.0)}, []() -> int {
      throw Error(ErrorKind::out_of_resources, "/srv/g/data.mdb: no space left", "room");
    });
    ADD_FAILURE() << "it was carried out";
  } catch (const Refusal& refusal) {
    EXPECT_EQ(refusal.status(), 507);
    EXPECT_EQ(refusal.line().find("/srv"), std::string::npos) << refusal.line();
    EXPECT_NE(refusal.cause().find("/srv/g/data.mdb"), std::string::npos);
  }
  EXPECT_EQ(lane.fault(), "there is no room on the disk");
  EXPECT_EQ(status_of([&] { lane.run({after(5.0)}, []() -> int { throw Refusal(409, "x"); }); }),
            409);
  EXPECT_EQ(lane.fault(), "");
}

TEST(WriteLane, FewChangesWait) {
  std::atomic<bool> others_write = true;
  WriteLane lane(
      [&] {
        while (others_write) sleep_for(1);
      },
      1, 10.0);
  std::vector<std::thread> threads;
  std::atomic<int> refused = 0;
  for (int k = 0; k < 6; ++k) {
    threads.emplace_back([&] {
      if (status_of([&] { lane.run({after(5.0)}, [] { return 0; }); }) == kBusy) ++refused;
    });
  }
  while (refused < 4) sleep_for(1);
  others_write = false;
  for (std::thread& thread : threads) thread.join();
  // One at work and one in the line; the first may still be in the line when the others come.
  EXPECT_TRUE(refused == 4 || refused == 5) << refused;
}

TEST(Tokens, AFileHasOneOnEachLineWithItsRights) {
  const auto tokens = parse_tokens("# who\nread shop s1\n\n  write  boss\ts2\r\n", "t");
  ASSERT_EQ(tokens.size(), 2u);
  EXPECT_EQ(tokens[0].name, "shop");
  EXPECT_EQ(tokens[0].secret, "s1");
  EXPECT_EQ(tokens[0].rights, TokenRights::read);
  EXPECT_EQ(tokens[1].secret, "s2");
  EXPECT_EQ(tokens[1].rights, TokenRights::write);
  EXPECT_EQ(parse_tokens("sesame\n", "t")[0].secret, "sesame");
  for (const char* wrong : {"", "# nothing\n", "a b\n", "own boss s\n", "read a b c\n", "a\nb\n",
                            "sesame\nread a b\n", "read a b\nsesame\n"}) {
    EXPECT_THROW(parse_tokens(wrong, "t"), Error) << wrong;
  }
  try {
    parse_tokens("read a b\nreed secret\n", "tokens.txt");
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find("tokens.txt, line 2: "), 0u) << error.what();
    EXPECT_EQ(std::string(error.what()).find("secret"), std::string::npos) << error.what();
  }
}

TEST(Keys, EveryTokenHasItsNameAndItsRights) {
  Keys keys(std::vector<AccessToken>{{"shop", "s1", TokenRights::read},
                                     {"boss", "s2", TokenRights::write}});
  EXPECT_TRUE(keys.any());
  EXPECT_EQ(keys.holder("Bearer s1", "a").name, "shop");
  EXPECT_EQ(keys.holder("Bearer s2", "a").rights, TokenRights::write);
  for (const char* wrong : {"", "s1", "Bearer", "Bearer ", "Bearer s", "Bearer s11", "bearer s1"}) {
    EXPECT_EQ(status_of([&] { keys.holder(wrong, "b"); }), 401) << wrong;
  }
  keys.set({{"shop", "s3", TokenRights::read}});
  EXPECT_EQ(status_of([&] { keys.holder("Bearer s1", "a"); }), 401);
  EXPECT_EQ(keys.holder("Bearer s3", "a").name, "shop");
  EXPECT_THROW(keys.set({}), Error);
  EXPECT_THROW(keys.set({{"a", "x y"}}), Error);
  EXPECT_THROW(keys.set({{"a", "x"}, {"a", "y"}}), Error);
  EXPECT_EQ(keys.holder("Bearer s3", "a").name, "shop");
}

TEST(Keys, WhoGuessesIsThrottledAndNobodyElse) {
  Keys keys(std::vector<AccessToken>{{"boss", "sesame"}});
  const Clock::time_point now = Clock::now();
  EXPECT_EQ(keys.holder("Bearer sesame", "office", now).name, "boss");
  const auto status = [&](const std::string& token, const std::string& client, int seconds) {
    return status_of(
        [&] { keys.holder("Bearer " + token, client, now + std::chrono::seconds(seconds)); });
  };
  for (int k = 0; k < 10; ++k) {
    EXPECT_EQ(status("guess" + std::to_string(k), "thief", 0), 401);
    EXPECT_EQ(status("guess" + std::to_string(k), "office", 0), 401);
  }
  EXPECT_EQ(status("guess", "thief", 0), 429);
  EXPECT_EQ(status("sesame", "thief", 0), 429);   // the answer does not tell that it is right
  EXPECT_EQ(status("sesame", "office", 0), 200);  // whoever has shown it before goes on
  EXPECT_EQ(status("sesame", "elsewhere", 0), 200);
  EXPECT_EQ(status("guess", "thief", 2), 401);
  EXPECT_EQ(status("sesame", "thief", 20), 200);
}

TEST(RequestIds, AreTakenOnlyWhenTheyCannotForgeALine) {
  for (const char* good : {"a", "7f3c-1.A_z", "0123456789abcdef0123456789abcdef"}) {
    EXPECT_TRUE(is_request_id(good)) << good;
  }
  for (const std::string& bad :
       {std::string(), std::string("a b"), std::string("a\"b"), std::string("a\nb"),
        std::string("\xc3\xa4"), std::string(129, 'a')}) {
    EXPECT_FALSE(is_request_id(bad)) << bad;
  }
  EXPECT_TRUE(is_request_id(make_request_id()));
  EXPECT_NE(make_request_id(), make_request_id());
}

}  // namespace
}  // namespace diml::server
