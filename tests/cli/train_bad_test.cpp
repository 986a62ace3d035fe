// A run that skips unreadable photos names them, and reports the replacements.

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include <signal.h>

#include "cli/train_folder.h"
#include "cli/two_processes.h"

namespace diml::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// Bad photos: three of the training set, two of them of one class, and two of the evaluation set.
class TrainOnBadPhotos : public TrainFolder {
 protected:
  TrainOnBadPhotos() {
    const std::vector<std::string> one = photos_of("001.");
    const std::vector<std::string> judged = photos_of("008.");
    spoil(one[1], "no image");
    spoil(one[2], "");
    spoil(photos_of("003.")[0], bytes_of(at(photos_of("003.")[1])).substr(0, 300));
    spoil(judged[0], "no image");
    spoil(judged[4], "no image");
  }

  std::vector<std::string> photos_of(const std::string& of_class) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(at("critters/images"))) {
      const std::string name = fs::relative(entry.path(), at(".")).string();
      if (entry.is_regular_file() && name.find("/" + of_class) != std::string::npos) {
        names.push_back(name);
      }
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  void spoil(const std::string& name, const std::string& bytes) {
    write_bytes(at(name), bytes);
    bad_.insert(name);
  }
  // The text before the reason.
  static std::set<std::string> names_in(const std::vector<std::string>& lines) {
    std::set<std::string> names;
    for (const std::string& line : lines) names.insert(line.substr(0, line.find(": ")));
    return names;
  }
  static std::vector<std::string> lines_of(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
  }

  std::set<std::string> bad_;
};

TEST_F(TrainOnBadPhotos, EndsAtTheFirstUnlessTheyAreSkipped) {
  expect_one_line(run(train("run", {"epochs=1"})), {"critters/images/00", "--skip-bad"});
}

TEST_F(TrainOnBadPhotos, EachIsNamedOnceAndWhatWasDoneWithoutThemIsCounted) {
  const ProgramResult result =
      run(train("run", {"epochs=4"}, {"--skip-bad", "--json", "told.json"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::vector<std::string> listed = lines_of(bytes_of(at("run/bad.txt")));
  EXPECT_EQ(names_in(listed), bad_);
  EXPECT_EQ(listed.size(), bad_.size());

  // While it runs, a line for each; at its end, one for all.
  std::vector<std::string> said = lines_of(result.err);
  ASSERT_EQ(said.size(), bad_.size() + 1) << result.err;
  const std::string at_the_end = said.back();
  said.pop_back();
  for (std::size_t k = 0; k < said.size(); ++k) EXPECT_EQ(said[k], "skipped " + listed[k]);

  // A bad photo that is drawn is replaced, and every epoch draws 24 of 24 photos or some of them
  // twice.
  const std::vector<Json> epochs = epochs_of("run");
  ASSERT_EQ(epochs.size(), 5u);
  std::size_t draws = 0;
  for (const Json& epoch : epochs) {
    const Json& bad = epoch.at("bad");
    EXPECT_EQ(bad.at("judged"), 22);
    EXPECT_EQ(bad.at("not_judged"), 2);
    draws += bad.at("replaced_draws").get<std::size_t>();
  }
  EXPECT_GT(draws, 0u);
  EXPECT_EQ(at_the_end,
            "5 photos could not be read (run/bad.txt): " + std::to_string(draws) +
                " draws were replaced by another photo of the class, and 2 of 24 photos "
                "were not evaluated");
  const std::size_t in_epoch_4 = epochs[4].at("bad").at("replaced_draws");
  EXPECT_GT(in_epoch_4, 0u);
  EXPECT_NE(result.out.find("   " + std::to_string(in_epoch_4) +
                            " draws replaced   2 of 24 not evaluated\n"),
            std::string::npos)
      << result.out;

  const Json told = Json::parse(bytes_of(at("told.json"))).at("bad");
  EXPECT_EQ(told.at("photos").get<std::vector<std::string>>(), listed);
  EXPECT_EQ(told.at("replaced_draws"), draws);
  EXPECT_EQ(told.at("judged"), 22);
  EXPECT_EQ(told.at("not_judged"), 2);

  run_well({"train", "--recipe", "run/config.yaml", "--out", "again"});
  EXPECT_EQ(metrics_of("again"), metrics_of("run"));
}

// Every photo of the training classes is drawn once: only bad ones are replaced.
TEST_F(TrainOnBadPhotos, AnEpochReplacesTheDrawsThatItShould) {
  run_well(train("run", {"epochs=2", "sampler.name=random"}, {"--skip-bad"}));
  const std::vector<Json> epochs = epochs_of("run");
  ASSERT_EQ(epochs.size(), 3u);
  EXPECT_EQ(epochs[1].at("bad").at("replaced_draws"), 3);
  EXPECT_EQ(epochs[2].at("bad").at("replaced_draws"), 3);
}

TEST_F(TrainOnBadPhotos, ARunThatWasStoppedCountsAsOneThatWasNot) {
  const Arguments settings = {"epochs=3", "checkpoint_steps=1", "sampler.name=random"};
  run_well(train("whole", settings, {"--skip-bad"}));
  run_until(train("cut", settings, {"--skip-bad"}), SIGKILL,
            [&] { return epochs_of("cut").size() >= 2; });
  const ProgramResult rest = run(resume("cut"));
  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_EQ(metrics_of("cut"), metrics_of("whole"));
  EXPECT_EQ(names_in(lines_of(bytes_of(at("cut/bad.txt")))), bad_);
  EXPECT_EQ(lines_of(bytes_of(at("cut/bad.txt"))).size(), bad_.size());
  const auto at_the_end = [](const ProgramResult& result) {
    const std::string line = lines_of(result.err).back();
    return line.substr(line.find("):"));
  };
  EXPECT_EQ(at_the_end(rest), at_the_end(run(resume("whole"))));
}

TEST_F(TrainOnBadPhotos, TwoProcessesCountAsOneDoes) {
  const Arguments settings = {"epochs=2", "sampler.name=random"};
  run_well(train("one", settings, {"--skip-bad"}));
  const RunWith both = [&](const ProgramSettings& with) {
    return run(train("two", settings, {"--skip-bad"}), with);
  };
  const std::vector<ProgramResult> results = run_two(both, both);
  for (const ProgramResult& result : results) ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(results[1].err, "");  // one of them speaks
  EXPECT_EQ(lines_of(results[0].err).size(), bad_.size() + 1) << results[0].err;
  EXPECT_EQ(names_in(lines_of(bytes_of(at("two/bad.txt")))), bad_);
  const std::vector<Json> alone = epochs_of("one");
  const std::vector<Json> together = epochs_of("two");
  ASSERT_EQ(together.size(), alone.size());
  for (std::size_t e = 0; e < alone.size(); ++e) {
    EXPECT_EQ(together[e].at("bad"), alone[e].at("bad")) << e;
  }
}

class TrainOnGoodPhotos : public TrainFolder {};

TEST_F(TrainOnGoodPhotos, HasNothingToSay) {
  const ProgramResult result = run(train("run", {"epochs=1"}, {"--skip-bad"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_FALSE(fs::exists(at("run/bad.txt")));
  EXPECT_EQ(epochs_of("run").at(1).at("bad"),
            Json::parse(R"({"replaced_draws": 0, "judged": 24, "not_judged": 0})"));
  run_well(train("plain", {"epochs=1"}));
  EXPECT_FALSE(epochs_of("plain").at(1).contains("bad"));
}

}  // namespace
}  // namespace diml::test
