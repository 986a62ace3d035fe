// The pictures of the README: they are there and small.

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include <gtest/gtest.h>

namespace diml::test {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

TEST(ReadmePictures, EveryLinkOfTheReadmeToAFileResolves) {
  const fs::path repository = DIML_SOURCE;
  const std::string readme = text_of(repository / "README.md");
  const std::regex link(R"(\]\(([^)#]+)[^)]*\))");
  std::size_t pictures = 0;
  for (std::sregex_iterator at(readme.begin(), readme.end(), link), end; at != end; ++at) {
    const std::string target = (*at)[1];
    if (target.find("://") != std::string::npos) continue;
    EXPECT_TRUE(fs::exists(repository / target)) << target;
    pictures += target.starts_with("docs/pictures/") ? 1 : 0;
  }
  EXPECT_EQ(pictures, 2u);
}

TEST(ReadmePictures, AreSmallAndNameNoFileOfTheMachineThatMadeThem) {
  const fs::path folder = fs::path(DIML_SOURCE) / "docs/pictures";
  EXPECT_LT(fs::file_size(folder / "explanation.svg"), 200'000u);
  EXPECT_LT(fs::file_size(folder / "page.png"), 300'000u);
  const std::string figure = text_of(folder / "explanation.svg");
  EXPECT_NE(figure.find("<svg"), std::string::npos);
  EXPECT_EQ(figure.find("critters/images"), std::string::npos);
  EXPECT_EQ(text_of(folder / "page.png").substr(1, 3), "PNG");
}

}  // namespace
}  // namespace diml::test
