// The files of deploy/ call the program as it is.

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "cli/program_folder.h"

namespace diml::test {
namespace {

class Deploy : public ProgramFolder {
 protected:
  static std::vector<std::string> lines_of(const std::string& name) {
    std::ifstream file(std::filesystem::path(DIML_SOURCE) / "deploy" / name);
    EXPECT_TRUE(file) << name;
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  // Every option on the line is one of `diml serve`.
  void expect_serve_knows(const std::string& line) const {
    const std::string help = run_well({"serve", "--help"});
    std::string text = line;
    for (char& c : text) c = c == '"' || c == ',' || c == '[' || c == ']' ? ' ' : c;
    std::istringstream words(text);
    std::size_t options = 0;
    for (std::string word; words >> word;) {
      if (!word.starts_with("--")) continue;
      ++options;
      EXPECT_NE(help.find("\n  " + word + " "), std::string::npos) << word;
    }
    EXPECT_GE(options, 3u) << line;
  }
};

TEST_F(Deploy, TheUnitStartsAServerWithOptionsThatExist) {
  std::size_t starts = 0;
  for (const std::string& line : lines_of("diml.service")) {
    if (line.find("ExecStart=") != 0) continue;
    EXPECT_NE(line.find(" serve "), std::string::npos);
    expect_serve_knows(line);
    ++starts;
  }
  EXPECT_EQ(starts, 1u);
}

TEST_F(Deploy, TheContainerStartsAServerWithOptionsThatExist) {
  std::size_t starts = 0;
  for (const std::string& line : lines_of("Containerfile")) {
    if (line.find("CMD [\"serve\"") != 0) continue;
    expect_serve_knows(line);
    ++starts;
  }
  EXPECT_EQ(starts, 1u);
}

}  // namespace
}  // namespace diml::test
