// A gallery survives kills, full disks and read-only disks, and can be read meanwhile.

#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <random>
#include <thread>

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include "cli/gallery_files.h"
#include "diml/error.h"

namespace diml::test {
namespace {

using Clock = std::chrono::steady_clock;

class DurableGallery : public GalleryFiles {
 protected:
  static constexpr std::size_t kMany = 6000;
  DurableGallery() : GalleryFiles(kMany) {}

  static Arguments add() { return {"index", "add", "g", "--embeddings", "c"}; }

  // The number of durable items, as another process sees it; 0 if there is no gallery yet.
  std::size_t committed() const {
    try {
      return open_gallery(at("g"))->snapshot()->size();
    } catch (const Error&) {
      return 0;
    }
  }

  // All items are intact, and they are a prefix of the list.
  void expect_whole_beginning(std::size_t at_least) const {
    const std::shared_ptr<GridStore> gallery = open_gallery(at("g"));
    const std::unique_ptr<GridSnapshot> snapshot = gallery->snapshot();
    const StoreFaults found = snapshot->verify();
    EXPECT_TRUE(found.faults.empty()) << found.faults[0];
    EXPECT_GE(snapshot->size(), at_least);
    EXPECT_EQ(found.items, snapshot->size());
    const std::vector<std::int64_t> ids = snapshot->ids();
    for (std::size_t i = 0; i < ids.size(); i += 97) {
      EXPECT_EQ(snapshot->item(ids[i]).path, "c:" + std::to_string(i));
    }
  }
};

// DIML_KILLS: how many moments; a few in everyday tests.
TEST_F(DurableGallery, KilledAtAnyMomentItKeepsWhatWasCommitted) {
  const char* wanted = std::getenv("DIML_KILLS");
  const int kills = wanted != nullptr ? std::atoi(wanted) : 12;
  const auto start = Clock::now();
  run_well({"index", "build", "whole", "--embeddings", "c"});
  const auto whole = std::chrono::duration<double>(Clock::now() - start);
  std::mt19937 random(11);
  std::uniform_real_distribution<double> moment(0.0, 1.0);
  run_well({"index", "build", "g", "--embeddings", "c"});
  int interrupted = 0;
  for (int k = 0; k < kills; ++k) {
    if (committed() == kMany) {  // start again, with reused pages
      std::vector<std::int64_t> ids;
      {
        const std::shared_ptr<GridStore> gallery = open_gallery(at("g"), StoreAccess::write);
        ids = gallery->snapshot()->ids();
        gallery->remove(ids);
      }
    }
    std::size_t before = 0;
    const ProgramResult result = run(add(), {.meanwhile = [&](int process) {
                                       std::this_thread::sleep_for(whole * moment(random));
                                       before = committed();
                                       ::kill(process, SIGKILL);
                                     }});
    if (result.exit_code != 0) ++interrupted;
    expect_whole_beginning(before);
  }
  EXPECT_GT(interrupted, kills / 3);
  run_well(add());
  expect_whole_beginning(kMany);
  EXPECT_EQ(exported("g"), exported("whole"));
}

TEST_F(DurableGallery, CtrlCKeepsWholeStretchesAndTheNextCallGoesOn) {
  ProgramResult result;
  for (int attempt = 0; attempt < 20 && result.exit_code != 1; ++attempt) {
    std::filesystem::remove_all(at("g"));
    result = run(build(), {.meanwhile = [&](int process) {
                   while (committed() == 0) ::usleep(200);
                   ::kill(process, SIGINT);
                 }});
  }
  ASSERT_EQ(result.exit_code, 1) << "it was never fast enough to be stopped";
  const std::size_t kept = committed();
  EXPECT_EQ(result.err, "diml index: stopped after " + std::to_string(kept) +
                            " of 6000 images, which are kept: the same command with --resume "
                            "continues\n");
  Arguments going_on = build();
  going_on.emplace_back("--resume");
  EXPECT_EQ(json_of(going_on).at("added"), kMany - kept);
}

TEST_F(DurableGallery, AFullDiskKeepsWhatWasThere) {
  run_well(build());
  const std::size_t size = std::filesystem::file_size(at("g/data.mdb"));
  run_well({"generate", "--images", "3000", "--classes", "8", "--grid", "2", "--dim", "16",
            "--seed", "5", "--out", "more"});
  const Arguments add_more = {"index", "add", "g", "--embeddings", "more"};
  const ProgramResult full = run(add_more, {.largest_file = size + 100'000});
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_EQ(full.err.find("diml index: g/data.mdb: cannot be written: "), 0u) << full.err;
  EXPECT_NE(full.err.find("free some disk space and repeat the call"), std::string::npos);
  EXPECT_EQ(full.err.find('\n'), full.err.size() - 1);
  expect_whole_beginning(kMany);
  run_well(add_more);
  EXPECT_EQ(committed(), kMany + 3000);
  run_well({"index", "verify", "g"});
}

TEST_F(DurableGallery, TwoProcessesReadWhileOneWrites) {
  run_well({"generate", "--images", "100", "--classes", "8", "--grid", "2", "--dim", "16", "--seed",
            "5", "--out", "few"});
  run_well({"index", "build", "g", "--embeddings", "few"});
  std::atomic<bool> done = false;
  std::atomic<int> reads = 0;
  std::atomic<int> failures = 0;
  const auto read = [&](const Arguments& arguments) {
    while (!done) {
      if (run(arguments).exit_code != 0) ++failures;
      ++reads;
    }
  };
  std::thread searching([&] { read({"search", "g", "--id", "3", "--threads", "1"}); });
  std::thread verifying([&] { read({"index", "verify", "g"}); });
  for (int round = 0; round < 50 && (round < 3 || reads < 8); ++round) {
    run_well({"index", "add", "g", "--embeddings", "c", "--replace"});
  }
  done = true;
  searching.join();
  verifying.join();
  EXPECT_EQ(failures, 0);
  EXPECT_GE(reads, 8);
  EXPECT_EQ(committed(), kMany + 100);
  run_well({"index", "verify", "g"});
}

// A separate file system for the test, where that is allowed.
class SmallDisk : public GalleryFiles {
 protected:
  SmallDisk() {
    std::filesystem::create_directory(at("disk"));
    mounted_ = ::unshare(CLONE_NEWNS) == 0 &&
               ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
               ::mount("none", at("disk").c_str(), "tmpfs", 0, "size=1m") == 0;
  }
  ~SmallDisk() override {
    if (mounted_) ::umount2(at("disk").c_str(), MNT_DETACH);
  }
  bool mounted_ = false;
};

TEST_F(SmallDisk, FullItKeepsWhatWasThere) {
  if (!mounted_) GTEST_SKIP() << "disks can be mounted by root alone";
  run_well({"index", "build", "disk/g", "--embeddings", "c"});
  run_well({"generate", "--images", "4000", "--classes", "8", "--grid", "2", "--dim", "16", "--out",
            "many"});
  const ProgramResult full = run({"index", "add", "disk/g", "--embeddings", "many"});
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_EQ(full.err.find("diml index: disk/g/data.mdb: cannot be written: "), 0u) << full.err;
  const std::size_t items = json_of({"index", "info", "disk/g"}).at("items");
  EXPECT_GE(items, kImages);
  EXPECT_LT(items, 4040u);
  run_well({"index", "verify", "disk/g"});
  run_well({"search", "disk/g", "--id", "3"});
  expect_refused({"index", "build", "disk/h", "--embeddings", "c"}, {"disk/h"});
}

TEST_F(SmallDisk, ThatCannotBeWrittenIsSearchedAllTheSame) {
  if (!mounted_) GTEST_SKIP() << "disks can be mounted by root alone";
  run_well({"index", "build", "disk/g", "--embeddings", "c"});
  const std::string found = run_well({"search", "disk/g", "--id", "3"});
  ASSERT_EQ(::mount("none", at("disk").c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0);
  EXPECT_EQ(run_well({"search", "disk/g", "--id", "3"}), found);
  run_well({"index", "verify", "disk/g"});
  run_well({"index", "info", "disk/g"});
  expect_refused({"index", "remove", "disk/g", "--ids", "3"},
                 {"disk/g: cannot be written: Read-only"});
  expect_refused({"index", "add", "disk/g", "--embeddings", "c"}, {"cannot be written: Read-only"});
  expect_refused({"index", "build", "disk/h", "--embeddings", "c"}, {"disk/h"});
}

}  // namespace
}  // namespace diml::test
