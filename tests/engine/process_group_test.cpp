#include "engine/process_group.h"

#include <map>

#include <gtest/gtest.h>
#include <stdlib.h>

#include "base/refusal.h"

namespace diml {
namespace {

// The environment as a launcher would set it, for one test.
class ProcessPlaces : public testing::Test {
 protected:
  void set(const std::map<std::string, std::string>& variables) {
    clear();
    for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  }
  static void clear() {
    for (const char* name :
         {"RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK",
          "PMI_SIZE", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_NUM_TASKS"}) {
      ::unsetenv(name);
    }
  }
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
};

TEST_F(ProcessPlaces, AreWhatTheLauncherSays) {
  const std::vector<std::pair<std::string, std::string>> launchers = {
      {"RANK", "WORLD_SIZE"},
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
      {"PMI_RANK", "PMI_SIZE"},
      {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};
  for (const auto& [rank, size] : launchers) {
    set({{rank, "2"}, {size, "5"}});
    EXPECT_EQ(process_place().rank, 2u) << rank;
    EXPECT_EQ(process_place().size, 5u) << rank;
  }
}

TEST_F(ProcessPlaces, NobodyIsWaitedForThatNobodyStarted) {
  EXPECT_EQ(process_place().size, 1u);
  EXPECT_EQ(join_processes()->size(), 1u);
  // A batch script of Slurm, without srun.
  set({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}});
  EXPECT_EQ(process_place().size, 1u);
}

TEST_F(ProcessPlaces, WrongOnesAreRefused) {
  set({{"RANK", "2"}, {"WORLD_SIZE", "2"}});
  test::expect_refused([] { process_place(); }, "RANK must be below WORLD_SIZE");
  set({{"RANK", "one"}, {"WORLD_SIZE", "2"}});
  test::expect_refused([] { process_place(); }, "RANK is 'one', not a number");
}

TEST(ProcessGroup, AloneItHearsItself) {
  ProcessGroup alone;
  EXPECT_TRUE(alone.is_root());
  EXPECT_EQ(alone.all_gather("a"), std::vector<std::string>{"a"});
  EXPECT_EQ(alone.gather("b"), std::vector<std::string>{"b"});
  alone.barrier();
  alone.expect_same("c", "words");
}

}  // namespace
}  // namespace diml
