#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/grid_folder.h"

namespace diml::test {
namespace {

// Results are written completely or not at all, whichever of several files cannot be written.
class Output : public GridFolder {};

TEST_F(Output, IntoAMissingFolderIsRefused) {
  const Arguments inputs = {"match", "--cells", "C.npy", "--globals", "V.npy", "--pairs", "P.npy"};
  Arguments into_missing = inputs;
  into_missing.insert(into_missing.end(), {"--out", "missing/S.npy"});
  expect_refused(into_missing, {"missing/S.npy: cannot be written: there is no folder missing"});
  expect_refused(evaluate({"--json", "missing/J.json"}), {"missing/J.json"});
  expect_refused({"generate", "--images", "60", "--out", "missing/g"}, {"missing/g"});
  expect_refused({"doctor", "--json", "missing/D.json"}, {"missing/D.json"});
}

TEST_F(Output, LeavesNoScoresWhenPlansCannotBeWritten) {
  expect_refused(match({"--plans", "missing/T.npy"}), {"missing/T.npy"});
}

TEST_F(Output, LeavesNoScoresWhenTheReportCannotBeWritten) {
  expect_refused(match({"--plans", "T.npy", "--report", "missing/R.csv"}), {"missing/R.csv"});
}

TEST_F(Output, LeavesNoScoresWhenTheSummaryCannotBeWritten) {
  expect_refused(match({"--plans", "T.npy", "--json", "missing/J.json"}), {"missing/J.json"});
}

TEST_F(Output, IntoAFolderIsRefused) {
  const std::string folder = folder_.path();
  expect_refused({"match", "--cells", "C.npy", "--pairs", "P.npy", "--out", folder}, {folder});
  expect_refused(evaluate({"--json", folder}), {folder});
}

TEST_F(Output, NeverReplacesAnInput) {
  const std::string cells = bytes_of(at("C.npy"));
  const std::string labels = bytes_of(at("L.npy"));
  expect_refused({"match", "--cells", "C.npy", "--pairs", "P.npy", "--out", "./C.npy"}, {"C.npy"});
  std::filesystem::create_symlink("C.npy", at("link"));
  expect_refused({"match", "--cells", "C.npy", "--pairs", "P.npy", "--out", "link"}, {"link"});
  expect_refused(evaluate({"--json", "L.npy"}), {"L.npy"});
  expect_refused(evaluate({"--roles", "P.npy", "--json", "P.npy"}), {"P.npy", "named twice"});
  EXPECT_EQ(bytes_of(at("C.npy")), cells);
  EXPECT_EQ(bytes_of(at("L.npy")), labels);
}

TEST_F(Output, WithoutANameIsRefused) {
  expect_refused({"match", "--cells", "C.npy", "--pairs", "P.npy", "--out", ""}, {"name"});
}

TEST_F(Output, StaysAsItWasWhenTheInputIsBad) {
  for (const char* name : {"S.npy", "T.npy", "R.csv", "J.json"}) write_bytes(at(name), "old");
  write_integers(at("P.npy"), {1, 2}, {0, 99});
  expect_refused(match({"--plans", "T.npy", "--report", "R.csv", "--json", "J.json"}), {"P.npy"});
  write_bytes(at("C.npy"), "no cells");
  expect_refused(evaluate({"--json", "J.json"}), {"C.npy"});
  for (const char* name : {"S.npy", "T.npy", "R.csv", "J.json"}) {
    EXPECT_EQ(bytes_of(at(name)), "old") << name;
  }
}

TEST_F(Output, StaysAsItWasWhenAnotherFileCannotBeWritten) {
  for (const char* option : {"--plans", "--report", "--json"}) {
    write_bytes(at("S.npy"), "old");
    expect_refused(match({option, "missing/file"}), {"missing/file"});
    EXPECT_EQ(bytes_of(at("S.npy")), "old") << option;
  }
}

TEST_F(Output, StaysAsItWasWhenTheDiskIsFull) {
  // Enough space for the scores but not for the plans.
  constexpr std::size_t kPairs = 1000;
  const ProgramSettings small_disk{.largest_file = 20000};
  write_integers(at("P.npy"), {kPairs, 2}, std::vector<std::int64_t>(2 * kPairs, 3));
  write_bytes(at("S.npy"), "old scores");
  write_bytes(at("T.npy"), "old plans");
  expect_refused(match({"--plans", "T.npy"}), {"T.npy"}, small_disk);
  EXPECT_EQ(bytes_of(at("S.npy")), "old scores");
  EXPECT_EQ(bytes_of(at("T.npy")), "old plans");
  expect_refused({"generate", "--images", "60", "--out", "g"}, {"g.cells.npy"}, small_disk);
}

}  // namespace
}  // namespace diml::test
