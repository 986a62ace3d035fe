#include <string>
#include <vector>

#include "cli/grid_folder.h"

namespace diml::test {
namespace {

class BadOption : public GridFolder {
 protected:
  // Options that both commands share.
  void expect_both_refuse(const Arguments& options, const std::vector<std::string>& named) const {
    expect_refused(match(options), named);
    expect_refused(evaluate(options), named);
  }
};

TEST_F(BadOption, NoCommandIsRefused) { expect_refused({}, {"--help"}); }

TEST_F(BadOption, AnUnknownCommandIsRefusedAndNamed) {
  expect_refused({"frobnicate"}, {"frobnicate"});
}

TEST_F(BadOption, AnUnknownOptionIsRefusedAndNamed) {
  expect_both_refuse({"--frobnicate"}, {"--frobnicate"});
  expect_refused({"doctor", "--frobnicate"}, {"--frobnicate"});
}

TEST_F(BadOption, AStrayWordIsRefusedAndNamed) { expect_both_refuse({"stray"}, {"stray"}); }

TEST_F(BadOption, AMissingRequiredOptionIsNamed) {
  expect_refused({"match", "--cells", "C.npy", "--out", "S.npy"}, {"--pairs"});
  expect_refused({"match", "--cells", "C.npy", "--pairs", "P.npy"}, {"--out"});
  expect_refused({"evaluate", "--cells", "C.npy"}, {"--labels"});
  expect_refused({"generate"}, {"--out"});
}

TEST_F(BadOption, AnOptionWithoutItsValueIsRefused) {
  expect_both_refuse({"--lambda"}, {"--lambda"});
}

TEST_F(BadOption, AnUnknownMatcherIsRefusedWithTheList) {
  expect_both_refuse({"--matcher", "quantum"}, {"quantum", "reference"});
}

TEST_F(BadOption, UnknownMarginalsAreRefusedWithTheList) {
  expect_both_refuse({"--marginals", "gaussian"}, {"gaussian", "cross_correlation"});
}

TEST_F(BadOption, UnknownStorageIsRefusedWithTheList) {
  expect_both_refuse({"--storage", "int4"}, {"int4", "bfloat16"});
}

TEST_F(BadOption, AnUnknownQuantityIsRefused) {
  expect_refused(match({"--quantity", "volume"}), {"volume"});
}

TEST_F(BadOption, PlansOfDistancesAreRefused) {
  expect_refused(match({"--quantity", "distance", "--plans", "T.npy"}), {"--plans"});
}

TEST_F(BadOption, LambdasThatAreTooSmallOrNoNumberAreRefused) {
  for (const char* lambda : {"0", "0.0001", "-1", "nan", "inf", "much"}) {
    expect_both_refuse({std::string("--lambda=") + lambda}, {"lambda"});
  }
}

TEST_F(BadOption, TolerancesThatAreNotPositiveAreRefused) {
  for (const char* tolerance : {"0", "-1e-4", "nan"}) {
    expect_both_refuse({std::string("--tolerance=") + tolerance}, {"tolerance"});
  }
}

TEST_F(BadOption, FewerThanOneIterationAreRefused) {
  for (const char* iterations : {"0", "-3", "1.5"}) {
    expect_both_refuse({std::string("--max-iterations=") + iterations}, {"iterations"});
  }
}

TEST_F(BadOption, NegativeThreadsAreRefused) {
  expect_both_refuse({"--threads=-1"}, {"--threads"});
  expect_refused({"bench", "--images", "60", "--threads=-1"}, {"--threads"});
}

TEST_F(BadOption, DepthsThatAreNegativeOrNoNumberAreRefused) {
  for (const char* depths : {"-1", "0,-100", "0,ten", "1.5"}) {
    expect_refused(evaluate({std::string("--rerank=") + depths}), {"--rerank"});
  }
}

TEST_F(BadOption, CountsThatAreNegativeAreRefusedAndNamed) {
  for (const char* option : {"--images", "--classes", "--grid", "--dim"}) {
    const std::string negative = std::string(option) + "=-5";
    expect_refused({"generate", "--out", "g", negative}, {option});
    if (option != std::string("--classes")) expect_refused({"bench", negative}, {option});
  }
}

TEST_F(BadOption, GeneratingNothingIsRefused) {
  expect_refused({"generate", "--out", "g", "--images", "0"}, {"generate"});
  expect_refused({"generate", "--out", "g", "--grid", "0"}, {"grid"});
  expect_refused({"generate", "--out", "g", "--dim", "0"}, {"dim"});
  expect_refused({"generate", "--out", "g", "--images", "3", "--classes", "4"}, {"classes"});
}

TEST_F(BadOption, BenchmarkingNothingIsRefused) {
  expect_refused({"bench", "--images", "1"}, {"--images"});
  expect_refused({"bench", "--rerank", "0"}, {"--rerank"});
  expect_refused({"bench", "--images", "60", "--dim", "0"}, {"dim"});
}

TEST_F(BadOption, OneFileForTwoOutputsIsRefused) {
  expect_refused(match({"--plans", "S.npy"}), {"S.npy"});
  expect_refused(match({"--report", "./S.npy"}), {"S.npy"});
}

TEST_F(BadOption, AnEmptyNameIsNotTheMeanOfTheCells) {
  expect_refused(
      {"match", "--cells", "C.npy", "--globals", "", "--pairs", "P.npy", "--out", "S.npy"},
      {"--globals"});
}

TEST_F(BadOption, NumbersOfTheClassesNeedAPlaceToGo) {
  expect_refused(evaluate({"--per-class"}), {"--json"});
}

TEST_F(BadOption, AGridWhoseSquareWrapsIsRefused) {
  expect_refused({"generate", "--images", "2", "--classes", "1", "--grid", "9223372036854775809",
                  "--out", "g"},
                 {"grid"});
}

}  // namespace
}  // namespace diml::test
