#include "report_folder.h"

namespace diml::experiments {
namespace {

using Report = ReportTest;

TEST_F(Report, ShowsOursThePapersAndTheDifference) {
  put_main();
  report();
  const std::string page = read("docs/results.md");
  EXPECT_TRUE(holds(page,
                    "| network | protocol | P@1 | RP\\* | MAP@R\\* | RP | MAP@R |\n"
                    "|---|---|---:|---:|---:|---:|---:|\n"
                    "| Margin | baseline | 61.04 (62.47, \u22121.43) | 34.00 (34.12, \u22120.12) | "
                    "23.00 (23.14, \u22120.14) | 33.00 | 23.00 |\n"
                    "| | structural | 64.50 (65.16, \u22120.66) |"));
  EXPECT_TRUE(holds(page, "| MS | baseline | 62.60 (62.56, +0.04) |"));
}

TEST_F(Report, PrintsZeroWithoutASign) {
  table("main", kMain);
  put("main", "Margin", "baseline", 62.4699);
  put("main", "MS", "baseline", 62.5551);
  report();
  EXPECT_TRUE(holds(read("docs/results.md"), "| 62.47 (62.47, 0.00) |"));
  EXPECT_TRUE(holds(read("docs/results.md"), "| 62.56 (62.56, 0.00) |"));
  EXPECT_TRUE(holds(read("docs/results/cub200-main.csv"), ",62.47,62.47,0.00,1,\r\n"));
}

TEST_F(Report, ShowsMeanAndDeviationOfSeveralSeeds) {
  put_main();
  for (const auto& [seed, p_at_1] : {std::pair{"1", 62.04}, {"2", 63.04}}) {
    Result other = result("main", "Margin", "baseline", p_at_1);
    other.seed = seed;
    other.weights += seed;
    put(other);
  }
  report();
  const std::string page = read("docs/results.md");
  EXPECT_TRUE(holds(page,
                    "| Margin | baseline | 62.04 \u00B1 1.00 (62.47, \u22120.43) | "
                    "34.00 \u00B1 0.00 (34.12, \u22120.12) |"));
  EXPECT_TRUE(holds(page, "| | structural | 64.50 (65.16, \u22120.66) |"));
  EXPECT_TRUE(holds(page, "\n5 of 6 results; seeds 0, 1, 2; "));
  // By its mean: 2.46 and -0.01.
  EXPECT_TRUE(holds(page, "| P@1 | +1.23 | +2.51 | 1 of 2 |"));
  EXPECT_TRUE(holds(read("docs/results/cub200-main.csv"),
                    "Margin,baseline,p_at_1,62.04,62.47,-0.43,3,1.00\r\n"));
  EXPECT_TRUE(holds(read("docs/results/cub200-main.tex"), "62.04 $\\pm$ 1.00 (62.47, $-$0.43)"));
}

TEST_F(Report, LeavesOutResultsThatDifferInMoreThanTheSeed) {
  put_main();
  Result longer = result("main", "Margin", "baseline", 99.0);
  longer.seed = "1";
  longer.settings = {{"seed", "1"}, {"epochs", "150"}};
  put(longer);
  Result elsewhere = result("main", "MS", "baseline", 99.0);
  elsewhere.seed = "1";
  elsewhere.start_weights = "of others";
  put(elsewhere);
  report();
  const std::string page = read("docs/results.md");
  EXPECT_TRUE(holds(page, "| Margin | baseline | 61.04 (62.47, \u22121.43) |"));
  EXPECT_TRUE(holds(page, "| MS | baseline | 62.60 (62.56, +0.04) |"));
  EXPECT_TRUE(holds(
      page, "\n5 of 6 results; 2 files left out that differ in more than the seed; seed 0; "));
}

TEST_F(Report, NamesRowsWithMoreThanOneTraining) {
  put_main();
  Result again = result("main", "Margin", "structural", 64.5);
  again.weights = "another";
  put(again);
  report();
  EXPECT_TRUE(holds(read("docs/results.md"),
                    "\n5 of 6 results; results of more than one training: Margin; seed 0; "));
}

TEST_F(Report, CountsResultsWithOtherSettings) {
  put_main();
  Result longer = result("main", "Margin", "structural", 64.5);
  longer.settings["epochs"] = "150";
  put(longer);
  Result deeper = result("main", "MS", "structural", 62.6);
  deeper.protocol.rerank = 500;
  put(deeper);
  report();
  EXPECT_TRUE(holds(read("docs/results.md"),
                    "\n5 of 6 results; 2 with other settings than the table's; seed 0; "));
}

TEST_F(Report, CountsResultsOfAnOlderVersion) {
  put_main();
  Result older = result("main", "Margin", "structural", 64.5);
  older.versions["projection"] = "1";
  older.precision = "tf32";
  put(older);
  report();
  const std::string page = read("docs/results.md");
  EXPECT_TRUE(
      holds(page,
            "\n5 of 6 results; 1 result of an older version of the program: projection 1, now 2 "
            "(initialised like PyTorch's linear layers); "));
  EXPECT_TRUE(holds(page, "; feature maps in float32 and tf32; "));
}

TEST_F(Report, MarksMissingResultsAndCountsThem) {
  put_main();
  report();
  const std::string page = read("docs/results.md");
  EXPECT_TRUE(holds(page, "| | structural | \u2013 | \u2013 | \u2013 | \u2013 | \u2013 |\n"));
  EXPECT_TRUE(holds(page, "\n5 of 6 results; "));
  EXPECT_EQ(count_of(read("docs/results/cub200-main.csv"), "\n"), 1u + 5u * 5u);
}

TEST_F(Report, SummarisesTheGainsOfRowsWithBothColumns) {
  put_main();
  report();
  const std::string page = read("docs/results.md");
  // Ours: 3.46 and -0.01; the paper's: 2.69 and 2.33; the third row has one end only.
  EXPECT_TRUE(holds(page,
                    "| gain of structural over baseline | ours, mean | the paper's, mean | rows "
                    "that gain |\n|---|---:|---:|---:|\n| P@1 | +1.73 | +2.51 | 1 of 2 |\n"
                    "| RP\\* | 0.00 | +1.25 | 0 of 2 |\n"));
  EXPECT_TRUE(holds(page, "Farthest from the paper in P@1 of baseline: Margin, \u22121.43."));
}

TEST_F(Report, ComparesMeansOfTheSameRowsOnly) {
  put_main();
  put("main", "A_B <x> & \"c\", [d]", "structural", 56.0);
  report();
  // The third row counts for ours; of the paper there are still two.
  EXPECT_TRUE(holds(read("docs/results.md"), "| P@1 | +3.15 | +2.51 (2 rows) | 2 of 3 |\n"));
}

TEST_F(Report, PrintsTheProvenanceAndCountsATrainingOnce) {
  put_main();
  Result other = result("main", "MS", "structural", 62.59);
  other.seed = "7";
  other.commit = "1111111122222222";
  put(other);
  report();
  EXPECT_TRUE(holds(read("docs/results.md"),
                    "5 of 6 results; seeds 0, 7; 60 epochs; starting weights 01234567; one card; "
                    "feature maps in float32; "
                    "commits fedcba98, 11111111; 3 h 0 min of training in 3 runs. Files: "
                    "[CSV](results/cub200-main.csv), [LaTeX](results/cub200-main.tex), "
                    "[SVG](results/cub200-main.svg).\n"));
}

TEST_F(Report, NamesTheWeightsOfUntrainedNetworks) {
  table("main", kMain);
  Result start = result("main", "Margin", "baseline", 44.82);
  start.settings.clear();
  start.start_weights = "";
  start.weights = "89abcdef00000000";
  put(start);
  report();
  EXPECT_TRUE(
      holds(read("docs/results.md"),
            "1 of 6 results; no training; starting weights 89abcdef; one card; feature maps in "
            "float32; commit fedcba98. Files: "));
}

TEST_F(Report, OrdersDataSetsAndTablesAndLeavesOutEmptyOnes) {
  for (const char* name : {"aside", "grid", "main", "training"}) {
    table(name, "title: Table " + std::string(name) + "\nrows:\n  r: {}\ncolumns:\n  c: {}\n");
  }
  for (const auto& [dataset, experiment] :
       std::vector<std::pair<std::string, std::string>>{{"apples", "main"},
                                                        {"cub200", "aside"},
                                                        {"cub200", "grid"},
                                                        {"cub200", "main"},
                                                        {"cars196", "main"}}) {
    Result one = result(experiment, "r", "c", 10.0);
    one.dataset = dataset;
    put(one);
  }
  fs::create_directories(folder_ / "results/sop/main");
  report();
  std::istringstream page(read("docs/results.md"));
  std::vector<std::string> headings;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("##")) headings.push_back(line);
  }
  EXPECT_EQ(headings, (std::vector<std::string>{"## CUB200-2011", "### Table main",
                                                "### Table grid", "### Table aside", "## Cars196",
                                                "### Table main", "## apples", "### Table main"}));
}

TEST_F(Report, ShowsTheChoiceOnHeldOutClassesAsTheLastLine) {
  table("weights", R"(
title: Weights
rows:
  Margin: {}
columns:
  one: {split: val}
  half: {split: val, structural_weight: 0.5}
choice:
  The best: {evaluate.select: test}
)");
  for (const char* column : {"one", "half"}) {
    Result held_out = result("weights", "Margin", column, 70.0);
    held_out.protocol.split = EvaluationSplit::val;
    put(held_out);
  }
  Result best = result("weights", "The best", "test", 65.0);
  best.chosen = "Margin, half";
  put(best);
  report();
  const std::string page = read("docs/results.md");
  EXPECT_TRUE(holds(page, "| | half | 70.00 | 34.00 |"));
  EXPECT_TRUE(holds(page, "| The best | test: Margin, half | 65.00 |"));
  EXPECT_TRUE(holds(page,
                    "The values are measured on held-out training classes, not on the test "
                    "classes; the last line is chosen by them and measured on the test classes."));
  EXPECT_TRUE(holds(page, "3 of 3 results"));
  EXPECT_FALSE(fs::exists(folder_ / "docs/results/cub200-weights.svg"));
}

TEST_F(Report, HasNoNoteWithoutHeldOutClasses) {
  put_main();
  report();
  EXPECT_EQ(count_of(read("docs/results.md"), "held-out"), 0u);
}

TEST_F(Report, ShowsPartsByTheirOwnMetrics) {
  table("parts",
        "quantity: parts\nrows:\n  Margin: {}\ncolumns:\n  transport: {grid: 7, method: centre}\n");
  Result parts = result("parts", "Margin", "transport", 0.0);
  parts.metrics = {{"exact", 32.125}, {"within_one", 86.0}};
  put(parts);
  report();
  EXPECT_TRUE(holds(read("docs/results.md"),
                    "### parts\n\n| network | protocol | exact | within one cell |\n"
                    "|---|---|---:|---:|\n| Margin | transport | 32.13 | 86.00 |\n"));
  EXPECT_TRUE(holds(read("docs/results/cub200-parts.csv"),
                    "cub200,parts,Margin,transport,exact,32.13,,,1,\r\n"));
}

TEST_F(Report, EscapesNamesInEveryFormat) {
  put_main();
  report();
  EXPECT_TRUE(holds(read("docs/results.md"), "| A\\_B \\<x\\> \\& \"c\", \\[d\\] | baseline |"));
  EXPECT_TRUE(holds(read("docs/results/cub200-main.csv"),
                    "cub200,main,\"A_B <x> & \"\"c\"\", [d]\",baseline,p_at_1,50.00,,,1,\r\n"));
  EXPECT_TRUE(holds(read("docs/results/cub200-main.tex"),
                    "A\\_B \\textless{}x\\textgreater{} \\& ''c'', {[}d{]} & baseline & 50.00 &"));
  EXPECT_TRUE(holds(read("docs/results/cub200-main.svg"),
                    ">A_B &lt;x&gt; &amp; &quot;c&quot;, [d]</text>"));
}

TEST_F(Report, WritesPlainNumbersToCsv) {
  put_main();
  report();
  const std::string csv = read("docs/results/cub200-main.csv");
  EXPECT_TRUE(csv.starts_with(
      "dataset,experiment,row,column,number,ours,paper,difference,seeds,deviation\r\n"
      "cub200,main,Margin,baseline,p_at_1,61.04,62.47,-1.43,1,\r\n"));
  EXPECT_TRUE(holds(csv, "cub200,main,MS,baseline,p_at_1,62.60,62.56,0.04,1,\r\n"));
  EXPECT_TRUE(holds(csv, "cub200,main,Margin,baseline,map_at_r,23.00,,,1,\r\n"));
}

TEST_F(Report, WritesALatexTable) {
  put_main();
  report();
  const std::string latex = read("docs/results/cub200-main.tex");
  EXPECT_TRUE(holds(latex,
                    "\\begin{tabular}{llrrrrr}\n\\toprule\nNetwork & Protocol & P@1 & RP{*} & "
                    "MAP@R{*} & RP & MAP@R \\\\\n\\midrule\nMargin & baseline & 61.04 (62.47, "
                    "$-$1.43) & 34.00 (34.12, $-$0.12) & 23.00 (23.14, $-$0.14) & 33.00 & 23.00 "
                    "\\\\\n & structural & 64.50 (65.16, $-$0.66) &"));
  EXPECT_TRUE(holds(latex, " & structural & -- & -- & -- & -- & -- \\\\\n\\bottomrule\n"));
  EXPECT_TRUE(latex.ends_with("\\end{tabular}\n"));
  // Every line has as many fields as the table has columns.
  std::istringstream lines(latex);
  std::size_t rows = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("%") || !line.ends_with("\\\\")) continue;
    ++rows;
    EXPECT_EQ(count_of(line, "&") - count_of(line, "\\&"), 6u) << line;
  }
  EXPECT_EQ(rows, 1u + 6u);
}

TEST_F(Report, WritesTheSameBytesTwice) {
  put_main();
  table("grid", kGrid);
  put("grid", "MS", "G = 1", 60.0);
  const std::vector<std::string> first = report("first");
  const std::vector<std::string> second = report("second");
  ASSERT_EQ(first.size(), 7u);  // three of each table and the page
  ASSERT_EQ(second.size(), first.size());
  for (const std::string& path : first) {
    const std::string name = fs::relative(path, folder_ / "first").string();
    EXPECT_EQ(read("first/" + name), read("second/" + name)) << name;
  }
  EXPECT_TRUE(first.back().ends_with("first/results.md"));
}

TEST_F(Report, PrintsAboutBeforeTheTables) {
  put_main();
  write("experiments/about.md", "\n## What differs\n\nThe weights.\n\n");
  report();
  const std::string page = read("docs/results.md");
  EXPECT_TRUE(page.find("# Results") < page.find("## What differs"));
  EXPECT_TRUE(holds(page, "\n\n## What differs\n\nThe weights.\n\n## CUB200-2011\n"));
  EXPECT_TRUE(holds(page, "`diml experiments report`"));
}

TEST_F(Report, NamesAFileThatIsNotJson) {
  put_main();
  write("results/cub200/main/ms.baseline.json", "{\"row\": ");
  const std::string message = message_of_report();
  EXPECT_TRUE(holds(message, "/results/cub200/main/ms.baseline.json: "));
  EXPECT_EQ(count_of(message, "\n"), 0u);
  EXPECT_FALSE(fs::exists(folder_ / "docs"));
}

TEST_F(Report, RefusesResultsThatNoTableHas) {
  put_main();
  put("main", "Margni", "baseline", 1.0);
  EXPECT_TRUE(holds(message_of_report(), "has no row \"Margni\""));
  fs::remove(folder_ / "results/cub200/main/margni.baseline.json");
  put("mian", "Margin", "baseline", 1.0);
  EXPECT_TRUE(holds(message_of_report(), "has no mian.yaml"));
  fs::rename(folder_ / "results/cub200/mian", folder_ / "results/cub200/grid");
  table("grid", kGrid);
  EXPECT_TRUE(holds(message_of_report(), "is a result of cub200/mian"));
}

TEST_F(Report, NamesTheCommandThatWritesResultsWhereThereAreNone) {
  table("main", kMain);
  EXPECT_TRUE(holds(message_of_report(), "results: no such folder: run the experiments"));
  fs::create_directories(folder_ / "results/cub200");
  EXPECT_TRUE(holds(message_of_report(), "results: has no results: run the experiments"));
}

}  // namespace
}  // namespace diml::experiments
