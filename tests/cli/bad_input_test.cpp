#include <limits>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include "base/raw_npy.h"
#include "cli/grid_folder.h"

namespace diml::test {
namespace {

// Each test spoils one file of a good folder; the commands that read it must say which it is.
class BadInput : public GridFolder {
 protected:
  void expect_match_refuses(const std::string& name, const std::string& why) const {
    expect_refused(match({"--plans", "T.npy", "--report", "R.csv"}), {name, why});
  }
  void expect_evaluate_refuses(const std::string& name, const std::string& why) const {
    expect_refused(evaluate({"--json", "J.json"}), {name, why});
  }
  void expect_both_refuse(const std::string& name, const std::string& why) const {
    expect_match_refuses(name, why);
    expect_evaluate_refuses(name, why);
  }

  void write(const std::string& name, const std::string& bytes) const {
    write_bytes(at(name), bytes);
  }
};

TEST_F(BadInput, CellsOfTwoDimensionsAreRefused) {
  write_floats(at("C.npy"), {kImages * kCells, kDim}, cells_);
  expect_both_refuse("C.npy", "[72, 16]");
}

TEST_F(BadInput, CellsOfFiveDimensionsAreRefused) {
  write_floats(at("C.npy"), {kImages, 1, 2, 3, kDim}, cells_);
  expect_both_refuse("C.npy", "[12, 1, 2, 3, 16]");
}

TEST_F(BadInput, BooleanCellsAreRefused) {
  write("C.npy", npy("|b1", {kImages, kCells, kDim}, std::string(cells_.size(), '\0')));
  expect_both_refuse("C.npy", "|b1");
}

TEST_F(BadInput, IntegerCellsAreRefused) {
  write_integers(at("C.npy"), {kImages, kCells, kDim}, std::vector<std::int64_t>(cells_.size(), 1));
  expect_both_refuse("C.npy", "int64");
}

TEST_F(BadInput, TruncatedCellsAreRefused) {
  const std::string whole = bytes_of(at("C.npy"));
  write("C.npy", whole.substr(0, whole.size() - 1));
  expect_both_refuse("C.npy", "truncated");
}

TEST_F(BadInput, TrailingBytesAreRefused) {
  write("C.npy", bytes_of(at("C.npy")) + "x");
  expect_both_refuse("C.npy", "bytes");
}

TEST_F(BadInput, AFileThatIsNoArrayIsRefused) {
  write("C.npy", "image,x,y\n1,2,3\n4,5,6\n");
  expect_both_refuse("C.npy", "not a .npy file");
}

TEST_F(BadInput, AnEmptyFileIsRefused) {
  write("C.npy", "");
  expect_both_refuse("C.npy", "not a .npy file");
}

TEST_F(BadInput, AMissingFileIsRefused) {
  ::unlink(at("C.npy").c_str());
  expect_both_refuse("C.npy", "No such file");
}

TEST_F(BadInput, AFolderIsRefused) {
  ::unlink(at("C.npy").c_str());
  ASSERT_EQ(::mkdir(at("C.npy").c_str(), 0777), 0);
  expect_both_refuse("C.npy", "not a regular file");
}

TEST_F(BadInput, FortranOrderIsRefused) {
  write("C.npy", npy("<f4", {kImages, kCells, kDim}, raw(cells_), "True"));
  expect_both_refuse("C.npy", "Fortran");
}

TEST_F(BadInput, NoImagesAreRefused) {
  write_floats(at("C.npy"), {0, kCells, kDim}, {});
  expect_both_refuse("C.npy", "at least one");
}

TEST_F(BadInput, NoCellsAreRefused) {
  write_floats(at("C.npy"), {kImages, 0, kDim}, {});
  expect_both_refuse("C.npy", "0 cells");
}

TEST_F(BadInput, MoreCellsThanSupportedAreRefused) {
  write_floats(at("C.npy"), {kImages, 197, kDim}, std::vector<float>(kImages * 197 * kDim));
  expect_both_refuse("C.npy", "197");
}

TEST_F(BadInput, NanInCellsIsRefusedAndFound) {
  cells_[(7 * kCells + 2) * kDim + 3] = std::numeric_limits<float>::quiet_NaN();
  write_floats(at("C.npy"), {kImages, kCells, kDim}, cells_);
  expect_both_refuse("C.npy", "image 7");
}

TEST_F(BadInput, InfinityInCellsIsRefusedAndFound) {
  cells_[(4 * kCells + 1) * kDim] = -std::numeric_limits<float>::infinity();
  write_floats(at("C.npy"), {kImages, kCells, kDim}, cells_);
  expect_both_refuse("C.npy", "image 4");
}

TEST_F(BadInput, NanInGlobalsIsRefusedAndFound) {
  globals_[9 * kDim] = std::numeric_limits<float>::quiet_NaN();
  write_floats(at("V.npy"), {kImages, kDim}, globals_);
  expect_both_refuse("V.npy", "image 9");
}

TEST_F(BadInput, GlobalsOfOtherImagesAreRefused) {
  write_floats(at("V.npy"), {kImages - 1, kDim}, std::vector<float>((kImages - 1) * kDim, 1.0f));
  expect_both_refuse("V.npy", "[12, 16]");
}

TEST_F(BadInput, GlobalsOfOtherDimensionsAreRefused) {
  write_floats(at("V.npy"), {kImages, 2 * kDim}, std::vector<float>(kImages * 2 * kDim, 1.0f));
  expect_both_refuse("V.npy", "[12, 16]");
}

TEST_F(BadInput, TruncatedGlobalsAreRefused) {
  write("V.npy", bytes_of(at("V.npy")).substr(0, 200));
  expect_both_refuse("V.npy", "truncated");
}

TEST_F(BadInput, APairBeyondTheLastImageIsRefused) {
  write_integers(at("P.npy"), {3, 2}, {0, 1, 2, 12, 0, 0});
  expect_match_refuses("P.npy", "pair 1");
}

TEST_F(BadInput, ANegativePairIsRefused) {
  write_integers(at("P.npy"), {3, 2}, {0, 1, 2, 3, -1, 0});
  expect_match_refuses("P.npy", "pair 2");
}

TEST_F(BadInput, PairsOfThreeAreRefused) {
  write_integers(at("P.npy"), {2, 3}, {0, 1, 2, 3, 4, 5});
  expect_match_refuses("P.npy", "[2, 3]");
}

TEST_F(BadInput, PairsInOneRowAreRefused) {
  write_integers(at("P.npy"), {4}, {0, 1, 2, 3});
  expect_match_refuses("P.npy", "[4]");
}

TEST_F(BadInput, PairsOfWordsAreRefused) {
  write("P.npy", npy("|S1", {1, 2}, "ab"));
  expect_match_refuses("P.npy", "text");
}

TEST_F(BadInput, FloatPairsAreRefused) {
  write_floats(at("P.npy"), {1, 2}, {0.0f, 1.0f});
  expect_match_refuses("P.npy", "float32");
}

TEST_F(BadInput, MissingPairsAreRefused) {
  ::unlink(at("P.npy").c_str());
  expect_match_refuses("P.npy", "No such file");
}

TEST_F(BadInput, BigEndianLabelsAreRefused) {
  write("L.npy", npy(">i4", {kImages}, raw(std::vector<std::int32_t>(kImages, 1))));
  expect_evaluate_refuses("L.npy", ">i4");
}

TEST_F(BadInput, FloatLabelsAreRefused) {
  write_floats(at("L.npy"), {kImages}, std::vector<float>(kImages, 1.0f));
  expect_evaluate_refuses("L.npy", "float32");
}

TEST_F(BadInput, LabelsOfOtherImagesAreRefused) {
  write_integers(at("L.npy"), {kImages + 1}, std::vector<std::int64_t>(kImages + 1, 1));
  expect_evaluate_refuses("L.npy", "12 labels");
}

TEST_F(BadInput, LabelsInColumnsAreRefused) {
  write_integers(at("L.npy"), {kImages, 1}, labels_);
  expect_evaluate_refuses("L.npy", "[12, 1]");
}

TEST_F(BadInput, TruncatedLabelsAreRefused) {
  const std::string whole = bytes_of(at("L.npy"));
  write("L.npy", whole.substr(0, whole.size() - 8));
  expect_evaluate_refuses("L.npy", "truncated");
}

TEST_F(BadInput, RolesThatAreNoneAreRefusedAndFound) {
  for (const std::int64_t bad : {-1, 0, 4, 257}) {  // 257: 1 in eight bits
    std::vector<std::int64_t> roles(kImages, 3);
    roles[5] = bad;
    write_integers(at("R.npy"), {kImages}, roles);
    expect_refused(evaluate({"--roles", "R.npy"}),
                   {"R.npy", "image 5 has role " + std::to_string(bad)});
  }
}

TEST_F(BadInput, RolesOfOtherImagesAreRefused) {
  write_integers(at("R.npy"), {kImages - 1}, std::vector<std::int64_t>(kImages - 1, 3));
  expect_refused(evaluate({"--roles", "R.npy"}), {"R.npy", "12 roles"});
  write_integers(at("R.npy"), {kImages, 1}, std::vector<std::int64_t>(kImages, 3));
  expect_refused(evaluate({"--roles", "R.npy"}), {"R.npy", "one role an image"});
  write_floats(at("R.npy"), {kImages}, std::vector<float>(kImages, 3.0f));
  expect_refused(evaluate({"--roles", "R.npy"}), {"R.npy", "float32"});
  expect_refused(evaluate({"--roles", "missing.npy"}), {"missing.npy", "No such file"});
}

TEST_F(BadInput, RolesThatLeaveNothingToDoAreRefused) {
  write_integers(at("R.npy"), {kImages}, std::vector<std::int64_t>(kImages, 1));
  expect_refused(evaluate({"--roles", "R.npy"}), {"no image is in the gallery"});
  write_integers(at("R.npy"), {kImages}, std::vector<std::int64_t>(kImages, 2));
  expect_refused(evaluate({"--roles", "R.npy"}), {"no image is a query"});
}

TEST_F(BadInput, AGridThatTheFilesDoNotHaveIsRefused) {
  expect_refused(evaluate({"--grid", "4"}), {"C.npy", "--grid 4"});
}

}  // namespace
}  // namespace diml::test
