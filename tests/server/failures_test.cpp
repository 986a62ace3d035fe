// Errors of the server: an answer of 500 and above, and a line in the log.

#include <cerrno>
#include <csignal>
#include <fstream>
#include <iterator>
#include <mutex>
#include <new>
#include <stdexcept>

#include <sys/resource.h>

#include "base/system_error.h"
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

TEST_F(Failures, ADamagedRecordIsNamedInTheLogAlone) {
  damage(folder_ / "g/data.mdb", "critters/13.jpg{");
  const HttpResult answer = client().get("/v1/items/13");
  expect_refused(answer, 500, "stored data of the gallery is damaged");
  EXPECT_EQ(answer->body.find(folder_.path()), std::string::npos) << answer->body;
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

// A store whose changes fail as those of a disk do.
class FailingStore final : public GridStore {
 public:
  explicit FailingStore(std::shared_ptr<GridStore> store) : store_(std::move(store)) {}

  std::exception_ptr failure;  // of the next changes; null for none

  const std::string& name() const override { return store_->name(); }
  const GridFormat& format() const override { return store_->format(); }
  std::unique_ptr<GridSnapshot> snapshot() const override { return store_->snapshot(); }
  std::vector<std::int64_t> add(std::span<const NewItem> items, const GridSetView& grids,
                                Duplicates duplicates) override {
    fail();
    return store_->add(items, grids, duplicates);
  }
  void update(std::span<const ItemUpdate> updates) override {
    fail();
    store_->update(updates);
  }
  void remove(std::span<const std::int64_t> ids) override {
    fail();
    store_->remove(ids);
  }
  Space space() const override { return store_->space(); }

 private:
  void fail() const {
    if (failure) std::rethrow_exception(failure);
  }

  std::shared_ptr<GridStore> store_;
};

TEST_F(Failures, WhatADiskRefusesIsNeverTheClientsFault) {
  const auto store = std::make_shared<FailingStore>(gallery_);
  server_.reset();
  ServerParams params;
  params.port = 0;
  params.log = [this](const std::string& line) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(line);
  };
  server_ = std::make_unique<Server>(store, nullptr, "no photos here", params);
  const auto fails_with = [&](auto error, int status) {
    lines_.clear();
    store->failure = std::make_exception_ptr(error);
    const HttpResult answer = client().remove("/v1/items/1");
    expect_refused(answer, status, "");
    EXPECT_EQ(answer->body.find("/secret"), std::string::npos) << answer->body;
    ASSERT_EQ(lines_.size(), 1u);
    EXPECT_NE(lines_[0].find("/secret"), std::string::npos) << lines_[0];
    EXPECT_EQ(got("/readyz").at("writing").get<std::string>().substr(0, 6), "fails:");
    EXPECT_EQ(metric("diml_writing_fails"), 1.0);
  };
  const auto system = [](int code) { return system_error("/secret/g: cannot be written", code); };
  fails_with(system(EROFS), 503);
  fails_with(system(EIO), 503);
  fails_with(Error(ErrorKind::out_of_resources, "/secret/g: has 1022 readers already"), 503);
  fails_with(Error(ErrorKind::out_of_resources, "/secret/g: is full", "room"), 507);
  fails_with(Error(ErrorKind::damaged, "/secret/g: is damaged"), 500);
  fails_with(Error(ErrorKind::internal, "/secret/g: a bug"), 500);
  fails_with(std::runtime_error("/secret/g: nobody expected it"), 500);
  store->failure = nullptr;
  EXPECT_EQ(client().remove("/v1/items/1")->status, 200);
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

TEST(FailureOf, TheFolderOfTheGalleryIsToldToTheLogAlone) {
  for (const ErrorKind kind : {ErrorKind::conflict, ErrorKind::not_found, ErrorKind::damaged,
                               ErrorKind::out_of_resources, ErrorKind::bad_input}) {
    for (const char* line : {"/srv/g: has no item 7", "/srv/g/data.mdb: has no item 7"}) {
      const server::Failure failure =
          server::failure_of(std::make_exception_ptr(Error(kind, line)), "/srv/g");
      EXPECT_EQ(failure.reply.body.find("srv"), std::string::npos) << failure.reply.body;
      EXPECT_EQ(failure.cause, line);
    }
  }
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
