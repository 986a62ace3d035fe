#include "run_folder.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "base/temporary_folder.h"
#include "diml/error.h"

namespace diml::training {
namespace {

namespace fs = std::filesystem;

const training::TrainConfig kConfig;

EpochReport report_of(std::size_t epoch, double p_at_1, bool is_best) {
  EpochReport report{.epoch = epoch, .epochs = 9, .loss = 0.5};
  RerankResult result;
  result.rerank = 100;
  result.metrics.p_at_1 = p_at_1;
  report.results.push_back(result);
  report.is_best = is_best;
  return report;
}

TEST(RunFolder, NothingIsMadeBeforeTheRunBegins) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "run";
  EXPECT_THROW(RunFolder(path, false), Error);
  RunFolder run(path, true);
  EXPECT_FALSE(fs::exists(path));
  run.begin(kConfig);
  EXPECT_TRUE(fs::exists(run.config()));
  EXPECT_THROW(RunFolder(path, true), Error);
  EXPECT_NO_THROW(RunFolder(path, false));
}

TEST(RunFolder, MetricsAreCutToWhatWasDone) {
  const test::TemporaryFolder folder;
  RunFolder run(folder / "run", true);
  run.begin(kConfig);
  for (std::size_t epoch = 0; epoch < 4; ++epoch) {
    run.add_metrics(report_of(epoch, 0.25, epoch == 1), 0.125);
  }
  const std::string whole = test::bytes_of(run.metrics());
  test::write_bytes(run.metrics(), whole + "{\"epoch\": 4, \"lo");  // the disk was full
  EXPECT_EQ(run.cut_metrics(9).size(), 4u);
  EXPECT_EQ(test::bytes_of(run.metrics()), whole);

  const std::vector<EpochReport> reports = run.cut_metrics(2);
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[1].epoch, 1u);
  EXPECT_EQ(reports[1].loss, 0.5);
  EXPECT_TRUE(reports[1].is_best);
  EXPECT_EQ(reports[1].results.at(0).rerank, 100u);
  EXPECT_EQ(reports[1].results.at(0).metrics.p_at_1, 0.25);
  for (std::size_t epoch = 2; epoch < 4; ++epoch) {
    run.add_metrics(report_of(epoch, 0.25, false), 0.125);
  }
  EXPECT_EQ(test::bytes_of(run.metrics()), whole);
  EXPECT_TRUE(run.cut_metrics(0).empty());
  EXPECT_EQ(test::bytes_of(run.metrics()), "");
}

TEST(RunFolder, StepsAreSeenBeforeTheirEpochEnds) {
  const test::TemporaryFolder folder;
  RunFolder run(folder / "run", true);
  run.begin(kConfig);
  const auto event_bytes = [&] {
    std::uintmax_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(folder / "run")) {
      if (entry.path().filename().string().starts_with("events.")) bytes += entry.file_size();
    }
    return bytes;
  };
  const std::uintmax_t before = event_bytes();
  run.add_step(1, 0.5, 100.0);
  EXPECT_GT(event_bytes(), before);
}

TEST(RunFolder, ARunThatGoesOnHasOneEventFile) {
  const test::TemporaryFolder folder;
  for (const bool fresh : {true, false, false}) {
    RunFolder run(folder / "run", fresh);
    run.begin(kConfig);
    run.add_step(1, 0.5, 100.0);
  }
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder / "run")) {
    files += entry.path().filename().string().starts_with("events.") ? 1 : 0;
  }
  EXPECT_EQ(files, 1u);
}

TEST(RunFolder, ABadPhotoIsListedOnce) {
  const test::TemporaryFolder folder;
  const std::vector<std::string> both = {"a.jpg: is empty", "b.jpg: is cut off"};
  {
    RunFolder run(folder / "run", true);
    run.begin(kConfig);
    EXPECT_FALSE(fs::exists(run.bad()));
    run.add_bad(both[0]);
    run.add_bad(both[0]);
    EXPECT_EQ(test::bytes_of(run.bad()), both[0] + "\n");
  }
  RunFolder run(folder / "run", false);
  run.begin(kConfig);
  run.add_bad(both[1]);
  run.add_bad(both[0]);
  EXPECT_EQ(test::bytes_of(run.bad()), both[0] + "\n" + both[1] + "\n");
  EXPECT_EQ(run.all_bad(), both);
}

TEST(RunFolder, WhatWasSkippedComesBack) {
  const test::TemporaryFolder folder;
  RunFolder run(folder / "run", true);
  run.begin(kConfig);
  EpochReport report = report_of(0, 0.25, true);
  report.skipped = SkippedPhotos{.replaced_draws = 3, .judged = 20, .not_judged = 4};
  run.add_metrics(report, 0.125);
  run.add_metrics(report_of(1, 0.5, true), 0.125);
  const std::vector<EpochReport> reports = run.cut_metrics(2);
  ASSERT_TRUE(reports.at(0).skipped);
  EXPECT_EQ(reports[0].skipped->replaced_draws, 3u);
  EXPECT_EQ(reports[0].skipped->judged, 20u);
  EXPECT_EQ(reports[0].skipped->not_judged, 4u);
  EXPECT_FALSE(reports.at(1).skipped);
}

}  // namespace
}  // namespace diml::training
