// The page in a browser: what its script draws, and the effect of pointing at a part.

#include <algorithm>
#include <array>
#include <cstdio>

#include <gtest/gtest.h>

#include "base/temporary_folder.h"
#include "diml/figure.h"
#include "random_grid.h"

namespace diml {
namespace {

Image plain(std::size_t side, std::uint8_t shade) {
  return {side, side, std::vector<std::uint8_t>(side * side * 3, shade)};
}

// The document after the page's own script and then `script` have run.
std::string document_after(std::string page, const std::string& script) {
  const test::TemporaryFolder folder;
  page.insert(page.rfind("</body>"), "<script type=\"module\">" + script + "</script>");
  test::write_bytes(folder / "page.html", page);
  const std::string command =
      std::string(DIML_CHROMIUM) +
      " --headless --no-sandbox --disable-gpu --user-data-dir=" + (folder / "profile") +
      " --dump-dom file://" + (folder / "page.html") + " 2>/dev/null";
  FILE* pipe = popen(command.c_str(), "r");
  std::string document;
  std::array<char, 4096> some{};
  for (std::size_t count = 0; (count = fread(some.data(), 1, some.size(), pipe)) > 0;) {
    document.append(some.data(), count);
  }
  pclose(pipe);
  return document;
}

std::size_t times(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    ++count;
  }
  return count;
}

TEST(ExplainPageInABrowser, DrawsArrowsAndShowsWhereAPartGoes) {
  const Explanation why =
      explain(test::random_grid(15, 8, 1), test::random_grid(8, 8, 2), {});  // 3 x 5 and 2 x 4
  FigureParams params;
  params.strongest = 6;
  params.source_name = "<b>a</b>";
  const std::string page = explain_page(why, plain(64, 200), plain(64, 90), params);

  const std::string drawn = document_after(page, "");
  EXPECT_EQ(times(drawn, "class=\"match-label\""), 6u);
  EXPECT_EQ(times(drawn, "class=\"match-cell\""), 15u + 8u);
  EXPECT_EQ(times(drawn, "class=\"match-cell match-chosen\""), 0u);
  EXPECT_EQ(drawn.find("<b>"), std::string::npos);
  EXPECT_NE(drawn.find("&lt;b&gt;a"), std::string::npos);
  char score[32];
  std::snprintf(score, sizeof score, ">%.4f</dd>", why.score);
  EXPECT_NE(drawn.find(score), std::string::npos);

  // The source cell of the strongest pair is pointed at: its target has the thinnest veil.
  const PartPair& strongest = why.pairs[0];
  const std::string pointed = document_after(
      page,
      "const cells = document.querySelectorAll('.match-cell');"
      "cells[" +
          std::to_string(strongest.source) +
          "]"
          ".dispatchEvent(new PointerEvent('pointerenter'));"
          "const veils = [...document.querySelectorAll('.match-grid .match-veil')].slice(15);"
          "const tints = veils.map((veil) => Number(veil.getAttribute('fill-opacity')));"
          "document.title = tints.indexOf(Math.min(...tints));");
  EXPECT_EQ(times(pointed, "class=\"match-cell match-chosen\""), 1u);
  const double* row = &why.plan[strongest.source * 8];
  const auto most = static_cast<std::size_t>(std::max_element(row, row + 8) - row);
  EXPECT_NE(pointed.find("<title>" + std::to_string(most) + "</title>"), std::string::npos);
}

}  // namespace
}  // namespace diml
