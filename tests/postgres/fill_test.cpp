// Several processes that fill one gallery, each with its share of the photos.

#include <chrono>
#include <cstring>
#include <thread>

#include <signal.h>

#include "cli/photo_folder.h"
#include "cli/two_processes.h"
#include "diml/gallery.h"
#include "postgres/server.h"

namespace diml::test {
namespace {

class Filling : public PhotoFolder {
 protected:
  static constexpr std::size_t kImages = 600;

  void SetUp() override {
    const std::string& path = folder_.path();
    const auto found = gallery_in_postgres(path.substr(path.find_last_of('/') + 1));
    if (!found) GTEST_SKIP() << kNoPostgres;
    address_ = *found;
    run_well({"critters", "--out", "many", "--classes", "30", "--images-per-class", "20"});
  }
  static Arguments build(const std::string& gallery) {
    return {"index",     "build",    gallery,  "--resume", "--model",   "small.safetensors",
            "--dataset", "critters", "--root", "many",     "--threads", "1"};
  }
  std::vector<ProgramResult> run_both(
      const std::function<void(std::size_t rank, int process)>& meanwhile = {}) const {
    const RunWith one = [&](const ProgramSettings& settings) {
      return run(build(address_), settings);
    };
    return run_two(one, one, meanwhile);
  }
  std::size_t size() const { return open_gallery(address_)->snapshot()->size(); }

  // Every image once, with the grid that one process makes of it.
  void expect_whole() const {
    run_well(build("alone"));
    const auto alone = open_gallery(at("alone"))->snapshot();
    const auto together = open_gallery(address_)->snapshot();
    ASSERT_EQ(alone->size(), kImages);
    ASSERT_EQ(together->size(), kImages);
    for (const Item& item : alone->items(alone->ids())) {
      const auto id = together->find(item.path);
      ASSERT_TRUE(id) << item.path;
      const GridView mine = alone->grid(item.id);
      const GridView theirs = together->grid(*id);
      EXPECT_EQ(std::memcmp(mine.cells, theirs.cells, mine.count * mine.dim * size_of(mine.type)),
                0)
          << item.path;
      EXPECT_EQ(together->item(*id).label, item.label);
    }
    EXPECT_TRUE(together->verify({}).faults.empty());
  }

  std::string address_;
};

TEST_F(Filling, TwoProcessesTakeHalfEach) {
  for (const ProgramResult& result : run_both()) {
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const std::size_t added = std::stoul(result.out);
    EXPECT_GT(added, kImages / 4) << result.out;
    EXPECT_LT(added, 3 * kImages / 4) << result.out;
  }
  expect_whole();
  // Again: nothing is left to do.
  for (const ProgramResult& result : run_both()) {
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(std::stoul(result.out), 0U) << result.out;
  }
  EXPECT_EQ(size(), kImages);
}

TEST_F(Filling, OneThatIsKilledGoesOnWhereItWas) {
  const std::vector<ProgramResult> both = run_both([&](std::size_t rank, int process) {
    if (rank != 1) return;
    for (int wait = 0; wait < 60'000; ++wait) {
      if (gallery_exists(address_) && size() > 0) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ::kill(process, SIGKILL);
  });
  EXPECT_EQ(both[0].exit_code, 0) << both[0].err;  // the other one does its share
  EXPECT_EQ(both[1].exit_code, 128 + SIGKILL);
  EXPECT_LT(size(), kImages);
  for (const ProgramResult& result : run_both()) EXPECT_EQ(result.exit_code, 0) << result.err;
  expect_whole();
}

TEST_F(Filling, AGalleryOnDiskAndABuildWithoutResumeAreRefused) {
  const ProgramSettings first{.environment = {"RANK=0", "WORLD_SIZE=2"}};
  expect_refused(build("g"), {"2 processes were started", "name a gallery in PostgreSQL"}, first);
  Arguments without = build(address_);
  without.erase(without.begin() + 3);
  expect_refused(without, {"2 processes were started", "--resume"}, first);
}

}  // namespace
}  // namespace diml::test
