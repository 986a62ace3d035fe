// The server's parts on their own: the head of a request, forms, workers.

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

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

TEST(Head, IsTakenApartAndMadeHarmless) {
  const Head head = parse_head(
      "POST /v1/search?top=3 HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; "
      "boundary=b\r\n"
      "Content-Length: 12\r\nRange: bytes=0-1\r\nAccept-Encoding: br\r\nX-Mine:  y \r\n\r\n",
      {});
  EXPECT_EQ(head.method, "POST");
  EXPECT_EQ(head.path(), "/v1/search");
  EXPECT_EQ(head.content_length, 12u);
  EXPECT_EQ(head.header("x-mine"), "y");
  EXPECT_EQ(head.text,
            "POST /v1/search?top=3 HTTP/1.1\r\nHost: a\r\n"
            "Diml-Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 12\r\n"
            "X-Mine: y\r\n\r\n");
}

TEST(Head, ATypeThatPretendsToBeOursIsDropped) {
  const Head head = parse_head("GET / HTTP/1.1\r\nDiml-Content-Type: image/png\r\n\r\n", {});
  EXPECT_EQ(head.text, "GET / HTTP/1.1\r\n\r\n");
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

TEST(Workers, GiveBackWhatTheWorkReturnsOrThrows) {
  Workers workers(2, 4);
  EXPECT_EQ(workers.run(after(5.0), [] { return 42; }), 42);
  EXPECT_THROW(workers.run(after(5.0), []() -> int { throw Error("no"); }), Error);
}

TEST(Workers, RefuseWhatWaitsTooLongOrIsTooMuch) {
  Workers workers(1, 1);
  std::atomic<bool> go_on = false;
  std::thread first([&] {
    workers.run(after(5.0), [&] {
      while (!go_on) std::this_thread::yield();
      return 0;
    });
  });
  while (workers.running() == 0) std::this_thread::yield();
  const auto status = [&](double seconds) {
    try {
      workers.run(after(seconds), [] { return 0; });
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

}  // namespace
}  // namespace diml::server
