#include <cctype>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "diml/figure.h"
#include "random_grid.h"

namespace diml {
namespace {

Image plain(std::size_t side, std::uint8_t shade) {
  return {side, side, std::vector<std::uint8_t>(side * side * 3, shade)};
}

struct Page {
  Explanation why = explain(test::random_grid(15, 8, 1), test::random_grid(8, 8, 2), {});
  FigureParams params;

  std::string text() const { return explain_page(why, plain(64, 200), plain(64, 90), params); }
};

// The content of the element that starts with `opening`.
std::string inside(const std::string& page, const std::string& opening,
                   const std::string& closing) {
  const std::size_t begin = page.find(opening);
  EXPECT_NE(begin, std::string::npos);
  const std::size_t end = page.find(closing, begin);
  return page.substr(begin + opening.size(), end - begin - opening.size());
}

const std::string kGiven = "<script type=\"application/json\" id=\"given\">";

TEST(ExplainPage, CarriesTheWholeExplanation) {
  const Page page;
  const auto given = nlohmann::json::parse(inside(page.text(), kGiven, "</script>"));
  const Explanation again = explanation_from_json(given.at("explanation").dump());
  EXPECT_EQ(to_json(again), to_json(page.why));
  EXPECT_EQ(given.at("arrows"), 5);
}

TEST(ExplainPage, FetchesNothing) {
  const std::string text = Page().text();
  for (const char* fetching : {"src=", "<link", "@import", "url(", "fetch(", "import ", "//cdn"}) {
    EXPECT_EQ(text.find(fetching), std::string::npos) << fetching;
  }
  // The only address that is not a picture is an XML namespace, which is never fetched.
  std::string rest = text;
  const std::string vocabulary = "http://www.w3.org/2000/svg";
  const std::size_t named = rest.find(vocabulary);
  ASSERT_NE(named, std::string::npos);
  rest.erase(named, vocabulary.size());
  EXPECT_EQ(rest.find("http://"), std::string::npos);
  EXPECT_EQ(rest.find("https://"), std::string::npos);
  EXPECT_NE(text.find("default-src 'none'"), std::string::npos);
  EXPECT_NE(text.find("data:image/jpeg;base64,"), std::string::npos);
}

TEST(ExplainPage, NamesOfFilesCannotBecomeMarkup) {
  Page page;
  page.params.source_name = "</script><script>alert(1)</script>&<!--";
  page.params.target_name = "\xff\xfe not text";
  const std::string text = page.text();
  EXPECT_EQ(text.find("<script>alert"), std::string::npos);
  EXPECT_EQ(text.find("<!--"), std::string::npos);
  const auto given = nlohmann::json::parse(inside(text, kGiven, "</script>"));
  EXPECT_EQ(given.at("sourceName"), page.params.source_name);
  std::size_t scripts = 0;
  for (std::size_t at = text.find("</script"); at != std::string::npos;
       at = text.find("</script", at + 1)) {
    ++scripts;
  }
  EXPECT_EQ(scripts, 2u);
}

}  // namespace
}  // namespace diml
