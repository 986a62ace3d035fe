// Help, messages about wrong calls and manual pages: all from the program's own options.

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include <nlohmann/json.hpp>

#include "cli/grid_folder.h"
#include "diml/version.h"

namespace diml::test {
namespace {

namespace fs = std::filesystem;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class Help : public GridFolder {
 protected:
  std::string help_of(Arguments command) const {
    command.emplace_back("--help");
    return run_well(command);
  }
  // The command and all commands below it, as the help of each lists them.
  std::vector<Arguments> all_commands(const Arguments& command) const {
    std::vector<Arguments> all = {command};
    std::istringstream lines(help_of(command));
    bool listed = false;
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("  ")) listed = line == "Subcommands:" || line == "Commands:";
      if (!listed || !line.starts_with("  ") || line[2] == ' ') continue;
      Arguments below = command;
      below.push_back(line.substr(2, line.find(' ', 2) - 2));
      for (const Arguments& one : all_commands(below)) all.push_back(one);
    }
    return all;
  }
};

TEST_F(Help, OfACommandIsTheSameByBothRoads) {
  EXPECT_EQ(run_well({"help"}), run_well({"--help"}));
  EXPECT_EQ(run_well({"help", "match"}), run_well({"match", "--help"}));
  EXPECT_EQ(run_well({"help", "match"}).find("Structural similarity"), 0u);
  expect_refused({"help", "frobnicate"}, {"diml: there is no command 'frobnicate': match"});
  expect_refused({"help", "evalute"}, {"there is no command 'evalute' (did you mean evaluate?)"});
  expect_refused({"help", "match", "more"}, {"diml match: there is no command 'more'"});
}

TEST_F(Help, SaysRangesAndChoicesInWords) {
  EXPECT_TRUE(has(run_well({"bench", "--help"}), "--grid NUMBER (1 to 14)=4"));
  EXPECT_TRUE(has(run_well({"bench", "--help"}), "--dim NUMBER (1 or more)=128"));
  EXPECT_TRUE(has(run_well({"match", "--help"}), "--marginals cross_correlation|uniform="));
  const std::regex riddle("[0-9]e[+-][0-9]|[0-9]{7}| in \\[|UINT|FLOAT|INT:|--quiet TEXT");
  std::size_t seen = 0;
  for (const Arguments& command : all_commands({})) {
    std::string name;
    for (const std::string& word : command) name += " " + word;
    std::smatch found;
    const std::string help = help_of(command);
    EXPECT_FALSE(std::regex_search(help, found, riddle)) << name << ": " << found.str();
    ++seen;
  }
  EXPECT_GT(seen, 15u);
  if (has(run_well({"--help"}), "  serve ")) {
    EXPECT_TRUE(has(run_well({"serve", "--help"}), "--most-work NUMBER (0.001 to 1,000,000,000)"));
  }
}

TEST_F(Help, ANumberOutOfRangeIsRefusedWithTheRange) {
  expect_refused({"bench", "--grid", "77"}, {"--grid must be 1 to 14, not 77"});
  expect_refused({"bench", "--dim", "0"}, {"--dim must be 1 or more, not 0"});
  expect_refused({"bench", "--dim", "many"}, {"--dim must be 1 or more, not many"});
  expect_refused({"bench", "--threads", "two"}, {"--threads must be a whole number, not two"});
  expect_refused({"generate", "--out", "g", "--seed=-1"},
                 {"--seed must be a whole number of 0 or more, not -1"});
  expect_refused(match({"--lambda", "much"}), {"--lambda must be a number, not much"});
  expect_refused(match({"--lambda"}), {"--lambda needs a value"});
}

TEST_F(Help, UnexpectedArgumentsAreNamedInTheOrderGiven) {
  expect_refused(match({"one", "--two", "three"}), {"unexpected arguments: one --two three"});
  expect_refused(match({"stray"}), {"unexpected argument: stray"});
  expect_refused({"index", "build", "g", "--grid", "99"}, {"(see diml index build --help)"});
  expect_refused(match({"--tolerence=1"}), {"--tolerence=1 (did you mean --tolerance?)"});
  expect_refused({"--verison"}, {"unexpected argument: --verison (did you mean --version?)"});
  expect_refused(match({"a", "b", "c", "d", "e", "f", "g", "h"}), {"a b c d e f and 2 more"});
}

TEST_F(Help, PhotosWithoutTheirOptionAreToldToWhichTheyBelong) {
  if (!has(run_well({"--help"}), "  index ")) return;  // built without
  expect_refused({"index", "build", "g", "C.npy"},
                 {"unexpected argument: C.npy: --images takes one folder"});
}

TEST_F(Help, AChoiceThatIsNoneIsAnsweredWithAll) {
  expect_refused({"completion", "tcsh"}, {"shell must be bash, zsh or fish, not tcsh"});
  expect_refused({"completion"}, {"shell is required: bash, zsh or fish"});
}

TEST_F(Help, AMistypedCommandIsAnsweredWithTheNearest) {
  expect_refused({"evalute"}, {"there is no command 'evalute' (did you mean evaluate?): match"});
  expect_refused({"index", "bild", "g"},
                 {"diml index: there is no command 'bild' (did you mean build?): build, add"});
  expect_refused({"frobnicate"}, {"there is no command 'frobnicate': match"});
  expect_refused({"mathc"}, {"(did you mean match?)"});
  expect_refused({"predict"}, {"there is no command 'predict'"});
  if (!has(run_well({"--help"}), "  index ")) return;  // built without
  expect_refused({"index", "delete", "g"}, {"'delete' (did you mean remove?)"});
  expect_refused({"index", "ls", "g"}, {"'ls' (did you mean list?)"});
}

TEST_F(Help, VersionTellsHowItWasBuilt) {
  const std::string text = run_well({"--version"});
  EXPECT_EQ(text.find(std::string("diml ") + kVersion + "\n"), 0u);
  for (const char* fact : {"\ncommit    ", "\ncompiler  ", "\nfeatures  ", " CLI", "\nwithout  "}) {
    EXPECT_TRUE(has(text, fact)) << text;
  }
}

TEST_F(Help, QuietShowsNoBarAndVerboseTellsWhatRuns) {
  const ProgramSettings terminal{.error_stream = ErrorStream::terminal};
  EXPECT_TRUE(has(run(match(), terminal).err, "match ["));
  EXPECT_EQ(run(match({"--quiet"}), terminal).err, "");
  EXPECT_EQ(run(match({"--log-level", "error"}), terminal).err, "");
  const std::string told = run(match({"--verbose"})).err;
  EXPECT_TRUE(has(told, std::string("diml match: version ") + kVersion + ", commit ")) << told;
  EXPECT_TRUE(has(told, " MB of memory at most")) << told;
  EXPECT_EQ(run(match({"--log-level", "debug"})).err.substr(0, 20), told.substr(0, 20));
  expect_refused(match({"--quiet", "--verbose"}), {"--quiet", "--verbose"});
  expect_refused(match({"--log-level", "loud"}), {"loud", "error, warning, info or debug"});
  // Before the command as well.
  Arguments arguments = {"--quiet"};
  for (const std::string& word : match()) arguments.push_back(word);
  EXPECT_EQ(run(arguments, terminal).err, "");
  // An error is told at every level.
  expect_refused(match({"--lambda", "0", "--log-level", "error"}), {"lambda"});
}

TEST_F(Help, ABenchOfAServerPrintsTheLatencyOfOnePhotoBesideABatch) {
  if (!has(run_well({"bench", "--help"}), "  server ")) return;  // built without
  const nlohmann::json figures =
      nlohmann::json::parse(run_well({"bench", "server", "--backbone", "small", "--images", "8",
                                      "--queries", "3", "--grid", "2", "--json", "-"}));
  EXPECT_EQ(figures.at("queries"), 3);
  for (const char* way : {"one_photo_ms", "batch_of_8_ms"}) {
    EXPECT_GT(figures.at(way).at("median").get<double>(), 0.0);
    EXPECT_GE(figures.at(way).at("p95"), figures.at(way).at("median"));
  }
  EXPECT_NEAR(figures.at("ratio").get<double>(),
              figures.at("batch_of_8_ms").at("median").get<double>() /
                  figures.at("one_photo_ms").at("median").get<double>(),
              1e-6);
  expect_refused({"bench", "server", "--queries", "0"}, {"--queries must be 1 to 10000, not 0"});
  expect_refused({"bench", "server", "--backbone", "vgg"}, {"vgg", "resnet50"});
}

TEST_F(Help, ManualPagesHaveEveryCommandAndOption) {
  run_well({"man", "pages/man1"});
  const std::string page = bytes_of(at("pages/man1/diml-match.1"));
  EXPECT_EQ(page.find(".TH DIML\\-MATCH 1"), 0u);
  EXPECT_TRUE(has(page, "\\fB\\-\\-marginals\\fR \\fIcross_correlation|\\:uniform\\fR"));
  EXPECT_TRUE(has(page, ".SH EXAMPLE\n.nf\n  diml match \\-\\-cells"));
  EXPECT_TRUE(has(bytes_of(at("pages/man1/diml.1")), "\\fBdiml\\-evaluate\\fR(1)"));
  EXPECT_TRUE(fs::exists(at("pages/man1/diml-help.1")));
}

}  // namespace
}  // namespace diml::test
