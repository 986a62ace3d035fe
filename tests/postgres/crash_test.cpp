// A server whose processes are killed, and one whose disk is full.

#include <chrono>
#include <filesystem>
#include <random>
#include <thread>

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "postgres/gallery_in_postgres.h"
#include "postgres/own_server.h"

namespace diml::test {
namespace {

// Grids, and a server that this test alone uses and that keeps what it says it keeps.
class CrashingPostgres : public GalleryInPostgres {
 protected:
  void SetUp() override {
    server_ = std::make_unique<Started>("server", folder_.path(), "fsync=on");
    if (!server_->is_there()) GTEST_SKIP() << kNoPostgres;
    address_ = server_->gallery("g") + "&application_name=writer";
  }
  std::unique_ptr<Started> server_;
};

// DIML_KILLS: how many moments; a few in everyday tests.
TEST_F(CrashingPostgres, ABackendKilledAtAnyMomentLosesNothingAcknowledged) {
  const char* wanted = std::getenv("DIML_KILLS");
  const int kills = wanted != nullptr ? std::atoi(wanted) : 4;
  constexpr std::size_t kOfBatch = 25;
  made();
  std::atomic<int> done = 0;
  std::thread killer([&] {
    for (std::mt19937 random(3); done < kills;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 400));
      try {  // the server may be coming back from the last one
        postgres::Connection connection(postgres::address_from(server_->gallery("g")));
        const postgres::Result one =
            connection.ask("SELECT pid FROM pg_stat_activity WHERE application_name = 'writer'");
        if (one.rows() > 0 && ::kill(static_cast<pid_t>(one.number(0, 0)), SIGKILL) == 0) ++done;
      } catch (const Error&) {
      }
    }
  });
  std::vector<Ids> acknowledged;
  std::size_t refused = 0;
  std::size_t unknown = 0;
  bool may_be_there = false;  // what the last call was to add
  while (done < kills) {
    const std::vector<NewItem> batch = items(kOfBatch * acknowledged.size(), kOfBatch);
    try {
      const auto gallery = open_gallery(address_, StoreAccess::write);
      if (may_be_there && gallery->snapshot()->find(batch.front().path)) {
        // Its server came back too late for an answer; all of the batch is there, or nothing.
        Ids ids;
        for (const NewItem& item : batch) ids.push_back(*gallery->snapshot()->find(item.path));
        acknowledged.push_back(ids);
      } else {
        acknowledged.push_back(add(*gallery, batch));
      }
      may_be_there = false;
    } catch (const Error& error) {
      // The server was away when the call began, and the caller tries again; or, on a busy machine,
      // for longer than a change waits for it, which is said.
      EXPECT_EQ(error.kind(), ErrorKind::out_of_resources) << error.what();
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      if (std::string(error.what()).find("may have been made") != std::string::npos) {
        may_be_there = true;
        ++unknown;
      }
      ++refused;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
  killer.join();
  std::unique_ptr<GridSnapshot> snapshot;
  // PostgreSQL reads its log again, and syncs its whole folder first.
  const auto back_by = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!snapshot) {
    try {
      snapshot = open_gallery(address_)->snapshot();
    } catch (const Error& error) {
      ASSERT_TRUE(std::chrono::steady_clock::now() < back_by) << error.what();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
  EXPECT_GT(acknowledged.size(), 0U);
  // The last call alone may have been made without an answer.
  const std::size_t last =
      may_be_there && snapshot->size() > kOfBatch * acknowledged.size() ? 1 : 0;
  EXPECT_EQ(snapshot->size(), kOfBatch * (acknowledged.size() + last));
  EXPECT_EQ(snapshot->revision(), acknowledged.size() + last);
  EXPECT_TRUE(snapshot->verify({}).faults.empty());
  for (std::size_t b = 0; b < acknowledged.size(); ++b) {
    for (std::size_t k = 0; k < kOfBatch; ++k) {
      EXPECT_EQ(snapshot->find(std::to_string(kOfBatch * b + k)), acknowledged[b][k]);
    }
  }
  std::printf(
      "%d backends killed, %zu batches of %zu acknowledged, %zu calls refused, %zu of them "
      "perhaps made\n",
      kills, acknowledged.size(), kOfBatch, refused, unknown);
}

// The database on a small disk of its own, where that is allowed.
class FullPostgres : public CrashingPostgres {
 protected:
  void SetUp() override {
    disk_ = folder_ / "disk";
    std::filesystem::create_directory(disk_);
    ::chmod(folder_.path().c_str(), 0755);
    mounted_ = ::unshare(CLONE_NEWNS) == 0 &&
               ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
               ::mount("none", disk_.c_str(), "tmpfs", 0, "size=16m") == 0;
    if (!mounted_) GTEST_SKIP() << "disks can be mounted by root alone";
    CrashingPostgres::SetUp();
    if (IsSkipped()) return;
    struct stat owner {};
    std::ifstream file(folder_ / "data_folder");
    std::string data;
    std::getline(file, data);
    ASSERT_EQ(::stat(data.c_str(), &owner), 0);
    ASSERT_EQ(::chown(disk_.c_str(), owner.st_uid, owner.st_gid), 0);
    postgres::Connection connection(postgres::address_from(address_));
    connection.ask("CREATE TABLESPACE small LOCATION '" + disk_ + "'");
    connection.ask("CREATE DATABASE full_one TABLESPACE small");
    address_.replace(address_.find("/tests/"), 7, "/full_one/");
  }
  void TearDown() override {
    server_.reset();
    if (mounted_) ::umount2(disk_.c_str(), MNT_DETACH);
  }

  std::string disk_;
  bool mounted_ = false;
};

TEST_F(FullPostgres, ItKeepsWhatWasThereAndSaysSoInOneLine) {
  const std::shared_ptr<GridStore> store = made();
  const std::vector<std::uint8_t> thumbnail(8000, 7);
  const auto batch = [&](std::size_t number) {
    std::vector<NewItem> all = items(50 * number, 50);
    for (NewItem& item : all) item.thumbnail = thumbnail;
    return all;
  };
  std::size_t batches = 0;
  std::string message;
  while (message.empty()) {
    ASSERT_LT(batches, 100U) << "the disk is never full";
    try {
      add(*store, batch(batches));
      ++batches;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::out_of_resources);
      message = error.what();
    }
  }
  EXPECT_NE(message.find("No space left on device: nothing was changed; make room and repeat"),
            std::string::npos)
      << message;
  EXPECT_EQ(message.find('\n'), std::string::npos);
  EXPECT_GT(batches, 0U);
  const auto expect_whole = [&](std::size_t number) {
    const auto snapshot = open_gallery(address_)->snapshot();
    EXPECT_EQ(snapshot->size(), 50 * number);
    EXPECT_EQ(snapshot->revision(), number);
    EXPECT_TRUE(snapshot->verify({}).faults.empty());
    EXPECT_EQ(snapshot->find(std::to_string(50 * number)), std::nullopt);
  };
  expect_whole(batches);
  ASSERT_EQ(::mount("none", disk_.c_str(), nullptr, MS_REMOUNT, "size=64m"), 0);
  add(*store, batch(batches));
  expect_whole(batches + 1);
}

}  // namespace
}  // namespace diml::test
