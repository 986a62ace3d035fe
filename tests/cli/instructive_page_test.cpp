// The page of diml evaluate --html, and one set of photos by every road to its numbers.

#include <cmath>
#include <cstring>
#include <filesystem>
#include <regex>
#include <sstream>

#include "base/raw_npy.h"
#include "cli/photo_folder.h"
#include "explain/well_formed.h"

namespace diml::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::size_t count_of(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (std::size_t k = text.find(word); k != std::string::npos; k = text.find(word, k + 1)) {
    ++count;
  }
  return count;
}

// The page as XML: its void elements are closed, its style and script left out.
std::string as_xml(std::string page) {
  const auto cut = [&page](const std::string& begin, const std::string& end) {
    for (std::size_t k = page.find(begin); k != std::string::npos; k = page.find(begin, k)) {
      page.erase(k, page.find(end, k) + end.size() - k);
    }
  };
  cut("<!doctype html>", "\n");
  cut("<style>", "</style>");
  cut("<script>", "</script>");
  cut("<meta ", ">");
  cut("<br", ">");
  cut("<img ", ">");
  return page;
}

std::string unescaped(std::string text) {
  for (const auto& [from, to] :
       {std::pair<std::string, std::string>{"&quot;", "\""}, {"&lt;", "<"}, {"&amp;", "&"}}) {
    for (std::size_t k = text.find(from); k != std::string::npos; k = text.find(from, k + 1)) {
      text.replace(k, from.size(), to);
    }
  }
  return text;
}

std::vector<std::string> explanations_in(const std::string& page) {
  std::vector<std::string> pages;
  const std::string begin = "data-page=\"";
  for (std::size_t k = page.find(begin); k != std::string::npos; k = page.find(begin, k + 1)) {
    const std::size_t first = k + begin.size();
    pages.push_back(unescaped(page.substr(first, page.find('"', first) - first)));
  }
  return pages;
}

class InstructivePages : public PhotoFolder {
 protected:
  static Arguments of_features(const Arguments& more) {
    Arguments all = {"evaluate",      "--cells",  "e.cells.npy",  "--globals",
                     "e.globals.npy", "--labels", "e.labels.npy", "--rerank",
                     "0,11",          "--html",   "q.html"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  // Each section shows what it says, and each shown query has its explanation.
  void expect_whole(const std::string& page, const Json& gain) const {
    EXPECT_EQ(fault_of_xml(as_xml(page)), "");
    EXPECT_NE(page.find("<h2>Fixed: " + gain.at("fixed").dump() + "<"), std::string::npos);
    EXPECT_NE(page.find("<h2>Broken: " + gain.at("broken").dump() + "<"), std::string::npos);
    std::smatch found;
    ASSERT_TRUE(std::regex_search(page, found,
                                  std::regex("Of all queries, ([0-9]+) find an image of "
                                             "their class first by cosine, and ([0-9]+) "
                                             "after re-ranking")));
    EXPECT_EQ(std::stoi(found[2]) - std::stoi(found[1]),
              gain.at("fixed").get<int>() - gain.at("broken").get<int>());
    EXPECT_EQ(count_of(page, "http://") + count_of(page, "https://"),
              count_of(page, "http://www.w3.org/"))
        << "it loads something";
    const std::vector<std::string> why = explanations_in(page);
    EXPECT_GE(why.size(), count_of(page, "<article>"));
    EXPECT_LE(why.size(), 2 * count_of(page, "<article>"));
    EXPECT_EQ(why.size(), count_of(page, "<summary>"));
    for (const std::string& one : why) {
      EXPECT_EQ(one.find("<!doctype html>"), 0u) << one.substr(0, 80);
      EXPECT_NE(one.find("drawMatch("), std::string::npos);
    }
    EXPECT_GT(count_of(page, "<article>"), 0u) << "a test of nothing";
  }
  Json gain_of(const Arguments& arguments) const {
    Arguments all = arguments;
    all.insert(all.end(), {"--json", "-"});
    return Json::parse(run_well(all)).at("gains")[0];
  }
};

TEST_F(InstructivePages, ShowPhotosAndTheirExplanations) {
  const Json gain =
      gain_of({"evaluate", "--model", "small.safetensors", "--dataset", "critters", "--root",
               "critters", "--rerank", "0,11", "--html", "q.html", "--html-queries", "2"});
  const std::string page = bytes_of(at("q.html"));
  expect_whole(page, gain);
  EXPECT_EQ(count_of(page, "<figure><img "), 3 * count_of(page, "<article>"));
  EXPECT_LE(count_of(page, "<article>"), 6u) << "two of each kind";
  EXPECT_NE(page.find("critter_0000"), std::string::npos) << "the names of the files";
}

TEST_F(InstructivePages, AreWholeWithoutPicturesToo) {
  run_well(embed_critters("e"));
  const Json gain = gain_of(of_features({}));
  const std::string page = bytes_of(at("q.html"));
  expect_whole(page, gain);
  EXPECT_EQ(count_of(page, "<figure><img "), 0u);
}

// Own features find their pictures where the paths are given, and drawing shows its progress.
TEST_F(InstructivePages, OfFeaturesWithPathsShowThePhotos) {
  run_well(embed_critters("e"));
  const Arguments command = of_features({"--paths", "e.paths.txt", "--html-queries", "2"});
  const Json gain = gain_of(command);
  const std::string page = bytes_of(at("q.html"));
  expect_whole(page, gain);
  EXPECT_EQ(count_of(page, "<figure><img "), 3 * count_of(page, "<article>"));
  EXPECT_EQ(count_of(page, "weight of each part\" viewBox"), 0u) << "a grid in place of a photo";
  EXPECT_NE(page.find("critter_0000"), std::string::npos) << "the names of the files";
  const ProgramResult shown = run(command, {.error_stream = ErrorStream::terminal});
  const std::string last = "/" + std::to_string(count_of(page, "<article>"));
  EXPECT_NE(shown.err.find("\rpage ["), std::string::npos) << shown.err;
  EXPECT_NE(shown.err.find("100% " + last.substr(1) + last), std::string::npos) << shown.err;
  // Photos that are gone are drawn as grids, and that is said.
  fs::remove_all(at("critters/images"));
  const ProgramResult without = run(command);
  EXPECT_EQ(without.exit_code, 0);
  EXPECT_NE(without.err.find("pictures could not be read, the grid alone is drawn: "),
            std::string::npos)
      << without.err;
  EXPECT_EQ(count_of(bytes_of(at("q.html")), "<figure><img "), 0u);
}

// Shape and values of an array that the program wrote.
std::pair<std::vector<std::size_t>, std::vector<float>> floats_of(const std::string& bytes) {
  const std::size_t open = bytes.find("'shape': (") + 10;
  std::vector<std::size_t> shape;
  std::stringstream extents(bytes.substr(open, bytes.find(')', open) - open));
  std::size_t count = 1;
  for (std::size_t extent = 0; extents >> extent; extents.ignore(1)) {
    shape.push_back(extent);
    count *= extent;
  }
  std::vector<float> values(count);
  std::memcpy(values.data(), bytes.data() + bytes.size() - 4 * count, 4 * count);
  return {shape, values};
}

TEST_F(InstructivePages, PhotosAndTheirFeaturesInEachLayoutGiveTheSameNumbers) {
  const Arguments rerank = {"--rerank", "0,11", "--json", "-"};
  const auto results_of = [&](Arguments arguments) {
    arguments.insert(arguments.end(), rerank.begin(), rerank.end());
    return Json::parse(run_well(arguments)).at("results");
  };
  const Json expected = results_of(
      {"evaluate", "--model", "small.safetensors", "--dataset", "critters", "--root", "critters"});
  run_well(embed_critters("e"));
  const auto [shape, cells] = floats_of(bytes_of(at("e.cells.npy")));
  ASSERT_EQ(shape.size(), 3u);
  const std::size_t images = shape[0];
  const std::size_t dimensions = shape[2];
  const auto side = static_cast<std::size_t>(std::lround(std::sqrt(shape[1])));
  ASSERT_EQ(side * side, shape[1]);
  ASSERT_NE(side, dimensions) << "the layouts cannot be told apart";
  std::vector<float> planes(cells.size());
  for (std::size_t i = 0; i < images; ++i) {
    for (std::size_t r = 0; r < shape[1]; ++r) {
      for (std::size_t d = 0; d < dimensions; ++d) {
        planes[(i * dimensions + d) * shape[1] + r] = cells[(i * shape[1] + r) * dimensions + d];
      }
    }
  }
  write_bytes(at("nchw.npy"), npy("<f4", {images, dimensions, side, side}, raw(planes)));
  write_bytes(at("nhwc.npy"), npy("<f4", {images, side, side, dimensions}, raw(cells)));
  for (const char* name : {"e.cells.npy", "nchw.npy", "nhwc.npy"}) {
    EXPECT_EQ(results_of({"evaluate", "--cells", name, "--globals", "e.globals.npy", "--labels",
                          "e.labels.npy"}),
              expected)
        << name;
  }
}

}  // namespace
}  // namespace diml::test
