// Errors of the server: an answer of 500 and above, and a line in the log.

#include <csignal>
#include <fstream>
#include <iterator>
#include <mutex>
#include <new>
#include <stdexcept>

#include <sys/resource.h>

#include "diml/error.h"
#include "failure.h"
#include "refusal.h"
#include "server/served_gallery.h"

namespace diml::test {
namespace {

class Failures : public ServedGallery {
 protected:
  Failures() {
    ServerParams params;
    params.log = [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      lines_.push_back(line);
    };
    serve(params);
  }
  ~Failures() override { server_.reset(); }  // before the members that it logs into

  std::vector<std::string> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

// Changes the last byte of every copy of `what` in a mapped file.
void damage(const std::string& path, const std::string& what) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  ASSERT_NE(bytes.find(what), std::string::npos);
  for (std::size_t at = 0; (at = bytes.find(what, at)) != std::string::npos; ++at) {
    file.seekp(static_cast<std::streamoff>(at + what.size() - 1));
    file.put(static_cast<char>(bytes[at + what.size() - 1] ^ 4));
  }
}

TEST_F(Failures, ADamagedRecordIsNamedToTheClientAndInTheLog) {
  damage(folder_ / "g/data.mdb", "critters/13.jpg{");
  expect_refused(client().get("/v1/items/13"), 500, "item 13 is damaged");
  ASSERT_EQ(lines().size(), 1u);
  EXPECT_EQ(lines()[0].find("GET /v1/items/13 500 ["), 0u) << lines()[0];
  EXPECT_NE(lines()[0].find("item 13 is damaged"), std::string::npos) << lines()[0];
  // Other items are not affected.
  EXPECT_EQ(got("/v1/items/12").at("id"), 12);
}

TEST_F(Failures, ADiskThatIsFullIsNotTheClientsFault) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  rlimit little = before;
  little.rlim_cur = 4096;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &little), 0);
  const HttpResult answer =
      client().post("/v1/items", {{"image", photo(2), "new.jpg", "image/jpeg"}});
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, ignored);
  expect_refused(answer, 507, "there is no room for changes of the gallery");
  EXPECT_EQ(answer->body.find(folder_.path()), std::string::npos) << answer->body;
  ASSERT_EQ(lines().size(), 1u);
  EXPECT_EQ(lines()[0].find("POST /v1/items 507 ["), 0u) << lines()[0];
  EXPECT_NE(lines()[0].find("free some disk space"), std::string::npos) << lines()[0];
  EXPECT_EQ(got("/readyz").at("writing"), "fails: there is no room on the disk");
  EXPECT_EQ(metric("diml_writing_fails"), 1.0);
  EXPECT_EQ(client().post("/v1/items", {{"image", photo(2), "new.jpg", "image/jpeg"}})->status,
            201);
  EXPECT_EQ(got("/readyz").at("writing"), "works");
}

TEST_F(Failures, WhatTheClientDidWrongIsNotLogged) {
  EXPECT_EQ(client().get("/v1/items/999")->status, 404);
  EXPECT_EQ(client().post("/v1/search", "hello", "image/jpeg")->status, 415);
  EXPECT_EQ(client().post("/v1/search", photo(0).substr(0, 300), "image/jpeg")->status, 422);
  EXPECT_EQ(client().post("/v1/search", "{", "application/json")->status, 400);
  EXPECT_EQ(
      client().post("/v1/items", {{"image", photo(1), "critters/0.jpg", "image/jpeg"}})->status,
      409);
  EXPECT_TRUE(lines().empty()) << lines()[0];
}

TEST(FailureOf, EachKindHasItsStatus) {
  const auto status = [](const auto& thrown) {
    return server::failure_of(std::make_exception_ptr(thrown)).reply.status;
  };
  EXPECT_EQ(status(Error(ErrorKind::bad_input, "x")), 422);
  EXPECT_EQ(status(Error(ErrorKind::not_found, "x")), 404);
  EXPECT_EQ(status(Error(ErrorKind::conflict, "x")), 409);
  EXPECT_EQ(status(Error(ErrorKind::unsupported, "x")), 422);
  EXPECT_EQ(status(Error(ErrorKind::damaged, "x")), 500);
  EXPECT_EQ(status(Error(ErrorKind::out_of_resources, "x")), 503);
  EXPECT_EQ(status(Error(ErrorKind::internal, "x")), 500);
  EXPECT_EQ(status(server::Refusal(418, "x")), 418);
  EXPECT_EQ(status(std::bad_alloc()), 503);
}

TEST(FailureOf, WhatNobodyExpectedIsToldToTheLogAlone) {
  for (const std::exception_ptr& thrown :
       {std::make_exception_ptr(std::runtime_error("/secret/path")),
        std::make_exception_ptr(Error(ErrorKind::internal, "/secret/path"))}) {
    const server::Failure failure = server::failure_of(thrown);
    EXPECT_EQ(failure.reply.status, 500);
    EXPECT_EQ(failure.reply.body.find("secret"), std::string::npos) << failure.reply.body;
    EXPECT_EQ(failure.cause, "/secret/path");
  }
}

}  // namespace
}  // namespace diml::test
