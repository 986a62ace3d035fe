// The server's parts on their own: the head of a request, forms, workers.

#include <array>
#include <atomic>
#include <thread>

#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "connection.h"
#include "diml/error.h"
#include "head.h"
#include "multipart.h"
#include "workers.h"

namespace diml::server {
namespace {

int status_of(const std::string& text) {
  try {
    (void)parse_head(text, {});
  } catch (const Refusal& refusal) {
    return refusal.status();
  }
  return 200;
}

TEST(Head, IsTakenApart) {
  const Head head = parse_head(
      "POST /v1/search?top=3&path=a%20b%2Fc+d&flag HTTP/1.1\r\nHost: a\r\n"
      "Content-Length: 12\r\nX-Mine:  y \r\nExpect: 100-Continue\r\n\r\n",
      {});
  EXPECT_EQ(head.method, "POST");
  EXPECT_EQ(head.path(), "/v1/search");
  EXPECT_EQ(head.content_length, 12u);
  EXPECT_EQ(head.header("x-mine"), "y");
  EXPECT_TRUE(head.expects_continue);
  const std::map<std::string, std::string> query = {
      {"top", "3"}, {"path", "a b/c d"}, {"flag", ""}};
  EXPECT_EQ(head.query(), query);
}

TEST(Head, AnAddressThatCannotBeDecodedIsRefused) {
  for (const char* target : {"/?a=%", "/?a=%4", "/?a=%g0", "/?a=%-1", "/?a=1&a=2"}) {
    const Head head = parse_head("GET " + std::string(target) + " HTTP/1.1\r\n\r\n", {});
    EXPECT_THROW((void)head.query(), Refusal) << target;
  }
}

TEST(Head, WhatTwoReadersCouldUnderstandInTwoWaysIsRefused) {
  const std::string post = "POST / HTTP/1.1\r\n";
  EXPECT_EQ(status_of(post + "Content-Length: 2, 2\r\n\r\n"), 400);
  EXPECT_EQ(status_of(post + "Content-Length: +2\r\n\r\n"), 400);
  EXPECT_EQ(status_of(post + "Content-Length: 2\r\nContent-Length: 2\r\n\r\n"), 400);
  EXPECT_EQ(status_of(post + "Transfer-Encoding: gzip, chunked\r\n\r\n"), 501);
  EXPECT_EQ(status_of(post + "Transfer-Encoding:\r\n\r\n"), 501);
  EXPECT_EQ(status_of(post + "Transfer-Encoding: chunked\r\nContent-Length:\r\n\r\n"), 400);
  EXPECT_EQ(status_of("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
  EXPECT_EQ(status_of(post + "Content-Length : 2\r\n\r\n"), 400);
  EXPECT_EQ(status_of(post + "X: a\r\n b\r\n\r\n"), 400);
  EXPECT_EQ(status_of(post + "Expect: the unexpected\r\n\r\n"), 417);
}

TEST(Head, BreaksAreRefused) {
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n\r\n"), 200);
  for (const char* text : {"", "\r\n\r\n", "GET /\r\n\r\n", "G T / HTTP/1.1 \r\n\r\n",
                           "GET x HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n",
                           "GET / HTTP/1.1\r\n: x\r\n\r\n", "GET / HTTP/1.1\r\na b: x\r\n\r\n",
                           "GET / HTTP/1.1\r\na: x\n\r\n\r\n", "GET / HTTP/1.1\r\na: x"}) {
    const int status = status_of(text);
    EXPECT_TRUE(status == 400 || status == 505) << text << " " << status;
  }
}

TEST(Form, PartsAreWhatLiesBetweenBoundaries) {
  const std::string body =
      "--b\r\nContent-Disposition: form-data; name=\"image\"; filename=\"a \\\"b\\\".jpg\"\r\n"
      "Content-Type: image/jpeg\r\n\r\n\r\n--not\r\n\x01x\r\n--b\r\n"
      "content-disposition: form-data; name=top\r\n\r\n3\r\n--b--\r\n";
  const std::vector<FormPart> parts = parse_form("multipart/form-data; boundary=\"b\"", body);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].name, "image");
  EXPECT_EQ(parts[0].filename, "a \"b\".jpg");
  EXPECT_EQ(parts[0].bytes.substr(0, 7), "\r\n--not");
  EXPECT_EQ(parts[1].name, "top");
  EXPECT_EQ(parts[1].filename, "");
  EXPECT_EQ(parts[1].bytes, "3");
}

class TestedConnection : public testing::Test {
 protected:
  TestedConnection() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()), 0); }

  std::array<int, 2> ends_{};
  const ServerLimits limits_{};
  const std::atomic<bool> stopping_ = false;
};

TEST_F(TestedConnection, KnowsWhetherItsClientIsGone) {
  Connection connection(ends_[0], limits_, stopping_);
  EXPECT_FALSE(connection.client_is_gone());
  ASSERT_EQ(::send(ends_[1], "GET", 3, 0), 3);
  ::close(ends_[1]);
  // There is a request to answer before the end.
  EXPECT_FALSE(connection.client_is_gone());
  ASSERT_TRUE(connection.wait_for_request());
  ASSERT_TRUE(connection.receive());
  EXPECT_FALSE(connection.client_is_gone());
  connection.take(3);
  EXPECT_TRUE(connection.client_is_gone());
}

TEST_F(TestedConnection, WritesMoreThanTheSocketHolds) {
  Connection connection(ends_[0], limits_, stopping_);
  const std::string first(1'000'000, 'a');
  const std::string second(2'000'000, 'b');
  std::string got;
  std::thread reader([&] {
    std::string block(65536, '\0');
    for (ssize_t count = 0; (count = ::recv(ends_[1], block.data(), block.size(), 0)) > 0;) {
      got.append(block, 0, static_cast<std::size_t>(count));
    }
  });
  connection.begin_answer();
  EXPECT_TRUE(connection.write(first, second));
  connection.close(0.0);
  reader.join();
  ::close(ends_[1]);
  EXPECT_TRUE(got == first + second);
}

TEST(Workers, GiveBackWhatTheWorkReturnsOrThrows) {
  Workers workers(2, 4);
  EXPECT_EQ(workers.run({after(5.0)}, [] { return 42; }), 42);
  EXPECT_THROW(workers.run({after(5.0)}, []() -> int { throw Error("no"); }), Error);
}

TEST(Workers, RefuseWhatWaitsTooLongOrIsTooMuch) {
  Workers workers(1, 1);
  std::atomic<bool> go_on = false;
  std::thread first([&] {
    workers.run({after(5.0)}, [&] {
      while (!go_on) std::this_thread::yield();
      return 0;
    });
  });
  while (workers.running() == 0) std::this_thread::yield();
  const auto status = [&](double seconds) {
    try {
      workers.run({after(seconds)}, [] { return 0; });
    } catch (const Refusal& refusal) {
      return refusal.status();
    }
    return 200;
  };
  EXPECT_EQ(status(0.05), kBusy);  // nobody came to it
  std::thread second([&] { EXPECT_EQ(status(5.0), 200); });
  while (workers.waiting() == 0) std::this_thread::yield();
  EXPECT_EQ(status(5.0), kBusy);  // the line is full
  go_on = true;
  first.join();
  second.join();
}

TEST(Workers, DropWhatWaitsForSomebodyWhoIsGone) {
  Workers workers(1, 4);
  std::atomic<bool> go_on = false;
  std::thread first([&] {
    workers.run({after(60.0)}, [&] {
      while (!go_on) std::this_thread::yield();
      return 0;
    });
  });
  while (workers.running() == 0) std::this_thread::yield();
  bool ran = false;
  try {
    workers.run({after(60.0), [] { return true; }}, [&] { return ran = true; });
    ADD_FAILURE() << "somebody waited";
  } catch (const Refusal& refusal) {
    EXPECT_EQ(refusal.status(), kGone);
  }
  EXPECT_EQ(workers.waiting(), 0u);
  go_on = true;
  first.join();
  EXPECT_EQ(workers.run({after(60.0)}, [] { return 1; }), 1);  // whatever waited before has run
  EXPECT_FALSE(ran);
}

}  // namespace
}  // namespace diml::server
