#include <limits>
#include <string>
#include <vector>

#include "cli/grid_folder.h"

namespace diml::test {
namespace {

const std::string kErase = "\r\033[K";  // back to the start of the line, which is then empty

class ProgressBar : public GridFolder {
 protected:
  // What the command shows on a terminal.
  std::string on_terminal(const Arguments& arguments) const {
    const ProgramResult result = run(arguments, {.error_stream = ErrorStream::terminal});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.err;
  }
};

TEST_F(ProgressBar, AppearsOnATerminal) {
  const std::string matching = on_terminal(match());
  EXPECT_NE(matching.find("\rload ["), std::string::npos) << matching;
  EXPECT_NE(matching.find("\rmatch ["), std::string::npos) << matching;
  EXPECT_NE(matching.find("100% 7/7"), std::string::npos) << matching;
  const std::string evaluating = on_terminal(evaluate());
  EXPECT_NE(evaluating.find("\revaluate ["), std::string::npos) << evaluating;
  EXPECT_NE(evaluating.find("100% 12/12"), std::string::npos) << evaluating;
  // The intervals, in blocks.
  for (const char* place : {"\rbootstrap [", " 64/1000", "100% 1000/1000"}) {
    EXPECT_NE(evaluating.find(place), std::string::npos) << place;
  }
}

TEST_F(ProgressBar, MovesWhileGridsAreGeneratedAndWritten) {
  const std::string shown = on_terminal({"generate", "--images", "3000", "--classes", "10",
                                         "--grid", "1", "--dim", "4", "--out", "g"});
  for (const char* place : {"\rgenerate [", " 1024/3000", " 2048/3000", "\rwrite ["}) {
    EXPECT_NE(shown.find(place), std::string::npos) << place;
  }
}

TEST_F(ProgressBar, MovesWhileTheWholeGalleryIsReranked) {
  run_well({"generate", "--images", "1100", "--classes", "100", "--grid", "1", "--dim", "4",
            "--out", "g"});
  const std::string shown =
      on_terminal({"evaluate", "--cells", "g.cells.npy", "--globals", "g.globals.npy", "--labels",
                   "g.labels.npy", "--rerank", "all"});
  // Query by query, not once at the end of a block.
  for (const char* place : {" 1/1100", " 500/1100", "100% 1100/1100"}) {
    EXPECT_NE(shown.find(place), std::string::npos) << place;
  }
}

TEST_F(ProgressBar, GoesWhenTheWorkIsDone) {
  for (const Arguments& arguments : {match(), evaluate(), evaluate({"--nmi"})}) {
    const std::string shown = on_terminal(arguments);
    ASSERT_GE(shown.size(), kErase.size());
    EXPECT_EQ(shown.substr(shown.size() - kErase.size()), kErase) << shown;
  }
}

TEST_F(ProgressBar, IsNotThereWithoutATerminal) {
  for (const Arguments& arguments :
       {match(), evaluate({"--nmi"}), Arguments{"generate", "--images", "60", "--out", "g"}}) {
    const ProgramResult result = run(arguments);
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.err, "") << arguments[0];
    EXPECT_EQ(result.out.find('\r'), std::string::npos) << arguments[0];
  }
}

TEST_F(ProgressBar, MakesWayForAnError) {
  // Long enough that the bar is on the terminal when the last image turns out to be bad.
  std::vector<float> values(3000, 1.0f);
  values.back() = std::numeric_limits<float>::quiet_NaN();
  write_floats(at("C.npy"), {values.size(), 1, 1}, values);
  const ProgramResult result =
      run({"match", "--cells", "C.npy", "--pairs", "P.npy", "--out", "S.npy"},
          {.error_stream = ErrorStream::terminal});
  EXPECT_EQ(result.exit_code, 1);
  const std::size_t error = result.err.find("diml match: C.npy");
  ASSERT_NE(error, std::string::npos) << result.err;
  ASSERT_NE(result.err.find("load ["), std::string::npos) << result.err;
  EXPECT_EQ(result.err.substr(error - kErase.size(), kErase.size()), kErase) << result.err;
}

}  // namespace
}  // namespace diml::test
