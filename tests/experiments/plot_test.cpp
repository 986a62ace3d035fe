#include <algorithm>
#include <cstdlib>

#include "explain/well_formed.h"
#include "report_folder.h"

namespace diml::experiments {
namespace {

using Plot = ReportTest;

// The values of an attribute in all elements of a kind.
std::vector<double> attributes(const std::string& svg, const std::string& element,
                               const std::string& name) {
  std::vector<double> values;
  for (std::size_t at = svg.find("<" + element + " "); at != std::string::npos;
       at = svg.find("<" + element + " ", at + 1)) {
    const std::string tag = svg.substr(at, svg.find('>', at) - at);
    const std::size_t value = tag.find(" " + name + "=\"");
    if (value == std::string::npos) continue;
    values.push_back(std::strtod(tag.c_str() + value + name.size() + 3, nullptr));
  }
  return values;
}

TEST_F(Plot, DrawsPairsAtTheirValues) {
  put_main();
  report();
  const std::string svg = read("docs/results/cub200-main.svg");
  EXPECT_EQ(test::fault_of_xml(svg), "");
  EXPECT_EQ(count_of(svg, "<script"), 0u);
  EXPECT_TRUE(holds(svg, ">CUB200-2011: Seventeen methods</text>"));
  EXPECT_TRUE(holds(svg, ">+3.46</text>"));
  EXPECT_TRUE(holds(svg, ">\u22120.01</text>"));
  // Two of the legend, then the paper's and ours of each row. All lie on one scale.
  const std::vector<double> x = attributes(svg, "circle", "cx");
  ASSERT_EQ(x.size(), 2u + 4u + 4u + 1u);
  const std::vector<double> shown{62.47, 65.16, 61.04, 64.5, 62.56, 64.89, 62.6, 62.59, 50.0};
  const double pixels = (x[3] - x[2]) / (shown[1] - shown[0]);
  EXPECT_GT(pixels, 5.0);
  for (std::size_t k = 0; k < shown.size(); ++k) {
    EXPECT_NEAR(x[2 + k], x[2] + pixels * (shown[k] - shown[0]), 0.2) << shown[k];
  }
}

TEST_F(Plot, DrawsALineForEachRowInterruptedByMissingResults) {
  table("grid", kGrid);
  put("grid", "Margin", "G = 1", 61.0);
  put("grid", "Margin", "G = 2", 63.0);
  put("grid", "Margin", "G = 4", 64.0);
  put("grid", "MS", "G = 1", 60.0);
  put("grid", "MS", "G = 4", 63.5);
  report();
  const std::string svg = read("docs/results/cub200-grid.svg");
  EXPECT_EQ(test::fault_of_xml(svg), "");
  EXPECT_EQ(count_of(svg, "<polyline"), 2u);  // the paper's Margin and ours; MS has no two in a row
  EXPECT_EQ(count_of(svg, "<circle"), 6u);
  EXPECT_EQ(count_of(svg, "<polygon"), 2u);
  EXPECT_TRUE(holds(svg, ">G</text>"));
  EXPECT_TRUE(holds(svg, ">Margin, paper</text>"));
  const std::vector<double> y = attributes(svg, "circle", "cy");
  const double pixels = (y[0] - y[2]) / (65.16 - 62.47);
  EXPECT_GT(pixels, 5.0);
  EXPECT_NEAR(y[3], y[0] + pixels * (62.47 - 61.0), 0.2);
  // No label covers another.
  std::vector<double> labels;
  for (const char* label : {">Margin<", ">MS<", ">Margin, paper<"}) {
    const std::size_t end = svg.find(label);
    ASSERT_NE(end, std::string::npos) << label;
    labels.push_back(attributes(svg.substr(svg.rfind("<text", end)), "text", "y").front());
  }
  std::sort(labels.begin(), labels.end());
  EXPECT_GE(labels[1] - labels[0], 14.9);
  EXPECT_GE(labels[2] - labels[1], 14.9);
}

TEST_F(Plot, DrawsVariantsOfAColumnAtItsTick) {
  table("truncation", R"(
plot: lines
rows:
  MS: {}
columns:
  K = 10: {rerank: 10}
  K = 50: {rerank: 50}
  K = 10, cut: {rerank: 10, cut_from: 500}
  K = 50, cut: {rerank: 50, cut_from: 500}
paper:
  cub200:
    MS:
      K = 10, cut: [64.89, ~, ~]
)");
  for (const char* column : {"K = 10", "K = 50", "K = 10, cut", "K = 50, cut"}) {
    put("truncation", "MS", column, 60.0);
  }
  report();
  const std::string svg = read("docs/results/cub200-truncation.svg");
  EXPECT_TRUE(holds(svg, ">MS, cut</text>"));
  EXPECT_EQ(count_of(svg, "<polyline"), 2u);
  // The paper's, the variant's two, ours.
  const std::vector<double> x = attributes(svg, "circle", "cx");
  ASSERT_EQ(x.size(), 5u);
  EXPECT_EQ(x, (std::vector<double>{x[1], x[1], x[2], x[1], x[2]}));
  EXPECT_LT(x[1], x[2]);
}

TEST_F(Plot, DrawsEqualValues) {
  table("main", kMain);
  put("main", "A_B <x> & \"c\", [d]", "baseline", 50.0);
  put("main", "A_B <x> & \"c\", [d]", "structural", 50.0);
  std::string without_paper = kMain;
  table("main", without_paper.substr(0, without_paper.find("paper:")));
  report();
  const std::string svg = read("docs/results/cub200-main.svg");
  EXPECT_EQ(count_of(svg, "nan"), 0u);
  EXPECT_EQ(count_of(svg, "inf"), 0u);
  EXPECT_EQ(count_of(svg, "<circle"), 4u);
}

}  // namespace
}  // namespace diml::experiments
