#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include <gtest/gtest.h>

#include "base/temporary_folder.h"
#include "diml/error.h"
#include "sources.h"

namespace diml::experiments {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::vector<fs::path> pages() {
  const fs::path repository = DIML_SOURCE;
  std::vector<fs::path> found = {repository / "README.md", repository / "experiments/about.md"};
  for (const auto& entry : fs::recursive_directory_iterator(repository / "docs")) {
    if (entry.path().extension() == ".md") found.push_back(entry.path());
  }
  return found;
}

// As the text prints it, with this number of decimals.
std::string printed(double value, std::size_t digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", static_cast<int>(digits), value);
  return text;
}

// The text uses typographic signs, and a difference often has none.
struct Printed {
  std::string magnitude;
  std::size_t digits = 0;
  bool negative = false;
};

Printed read(const std::string& sign, const std::string& number) {
  const std::size_t point = number.find('.');
  return {number, point == std::string::npos ? 0 : number.size() - point - 1,
          sign == "-" || sign == "\u2212"};
}

struct Claim {
  std::string page;
  Printed number;
  std::string source;
};

std::vector<Claim> claims() {
  static const std::regex pattern("(-|\u2212|\\+)?([0-9]+(?:\\.[0-9]+)?)<!--= ([^>]*?) -->");
  std::vector<Claim> found;
  for (const fs::path& page : pages()) {
    const std::string text = text_of(page);
    for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) {
      found.push_back({page.filename().string(), read((*at)[1], (*at)[2]), (*at)[3]});
    }
  }
  return found;
}

TEST(Docs, EveryNumberThatNamesItsSourceIsWhatTheSourceSays) {
  const Sources sources(DIML_SOURCE);
  const std::vector<Claim> all = claims();
  EXPECT_GE(all.size(), 30u) << "the pages lost their sources";
  for (const Claim& claim : all) {
    SCOPED_TRACE(claim.page + ": " + claim.number.magnitude + " from " + claim.source);
    try {
      const double value = sources.value(claim.source);
      EXPECT_EQ(claim.number.magnitude, printed(std::abs(value), claim.number.digits));
      // Prose says "loses 0.9": a sign is checked only if it is printed.
      if (claim.number.negative) {
        EXPECT_LT(value, 0.0);
      }
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

TEST(Docs, NoCommentIsMeantAsASourceAndReadAsNone) {
  std::size_t comments = 0;
  for (const fs::path& page : pages()) {
    const std::string text = text_of(page);
    for (std::size_t at = text.find("<!--="); at != std::string::npos;
         at = text.find("<!--=", at + 1)) {
      ++comments;
    }
  }
  EXPECT_EQ(comments, claims().size());
}

TEST(Docs, ThePageOfResultsIsWhatTheResultsGive) {
  const TemporaryFolder folder;
  const fs::path repository = DIML_SOURCE;
  write_report({(repository / "experiments/results").string(),
                (repository / "experiments").string(), folder.path()});
  EXPECT_EQ(text_of(folder.path() + "/results.md"), text_of(repository / "docs/results.md"));
  for (const auto& entry : fs::directory_iterator(folder.path() + "/results")) {
    EXPECT_EQ(text_of(entry.path()), text_of(repository / "docs/results" / entry.path().filename()))
        << entry.path().filename();
  }
}

}  // namespace
}  // namespace diml::experiments
