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
    const Head head = parse_head("GET " + std::string(target) + " HTTP/1.1\r\nHost: a\r\n\r\n", {});
    EXPECT_THROW((void)head.query(), Refusal) << target;
  }
}

TEST(Head, WhatTwoReadersCouldUnderstandInTwoWaysIsRefused) {
  const std::string post = "POST / HTTP/1.1\r\nHost: a\r\n";
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
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), 200);
  const std::string get = "GET / HTTP/1.1\r\nHost: a\r\n";
  const std::string host = "Host: a\r\n\r\n";
  for (const std::string& text :
       {std::string(), std::string("\r\n\r\n"), "GET /\r\n" + host, "G T / HTTP/1.1 \r\n" + host,
        "GET x HTTP/1.1\r\n" + host, get + "no colon\r\n\r\n", get + ": x\r\n\r\n",
        get + "a b: x\r\n\r\n", get + "a: x\n\r\n\r\n", get + "a: x"}) {
    const int status = status_of(text);
    EXPECT_TRUE(status == 400 || status == 505) << text << " " << status;
  }
}

TEST(Head, OneHostIsWantedExceptOfVersionOneZero) {
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.0\r\n\r\n"), 200);
  for (const std::string host :
       {"a.example", "A.example:80", "127.0.0.1:8080", "[::1]", "[::1]:80"}) {
    EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n"), 200) << host;
  }
  for (const std::string host :
       {"", ":80", "a b", "a,b", "u@a", "a/b", "a:http", "[::1", "a:1:2"}) {
    EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n"), 400) << host;
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
};

TEST_F(TestedConnection, KnowsWhetherItsClientIsGone) {
  Connection connection(ends_[0], "-");
  EXPECT_FALSE(connection.client_is_gone());
  EXPECT_EQ(connection.receive(), Connection::Got::nothing);
  ASSERT_EQ(::send(ends_[1], "GET", 3, 0), 3);
  ::close(ends_[1]);
  // There is a request to answer before the end.
  EXPECT_FALSE(connection.client_is_gone());
  ASSERT_EQ(connection.receive(), Connection::Got::bytes);
  EXPECT_FALSE(connection.client_is_gone());
  connection.take(3);
  EXPECT_TRUE(connection.client_is_gone());
  EXPECT_EQ(connection.receive(), Connection::Got::end);
}

TEST_F(TestedConnection, SendsWhatTheSocketTakesAndDoesNotWait) {
  Connection connection(ends_[0], "-");
  const std::string first(1'000'000, 'a');
  const std::string second(2'000'000, 'b');
  const std::optional<std::size_t> sent = connection.write(first, second);
  ASSERT_TRUE(sent);
  EXPECT_GT(*sent, 0u);
  EXPECT_LT(*sent, first.size() + second.size());
  ::close(ends_[1]);
  EXPECT_FALSE(connection.write(first));
}

TEST_F(TestedConnection, TakesHeadsOneByOne) {
  Connection connection(ends_[0], "-");
  const std::string two = "GET / HTTP/1.1\r\n\r\nGET /b";
  for (const char c : two) {
    ASSERT_EQ(::send(ends_[1], &c, 1, 0), 1);
    ASSERT_EQ(connection.receive(), Connection::Got::bytes);
    if (const auto head = connection.take_head(100)) {
      EXPECT_EQ(*head, "GET / HTTP/1.1\r\n\r\n");
    }
  }
  EXPECT_EQ(connection.unread(), "GET /b");
  EXPECT_THROW((void)connection.take_head(5), Refusal);
  ::close(ends_[1]);
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
  EXPECT_EQ(status(0.05), kBusy);  // it was not started
  std::thread second([&] { EXPECT_EQ(status(5.0), 200); });
  while (workers.waiting() == 0) std::this_thread::yield();
  EXPECT_EQ(status(5.0), kBusy);  // the queue is full
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
  EXPECT_EQ(workers.run({after(60.0)}, [] { return 1; }), 1);  // earlier tasks have run
  EXPECT_FALSE(ran);
}

}  // namespace
}  // namespace diml::server
