#include <algorithm>
#include <cmath>

#include "cli/photo_folder.h"

namespace diml::test {
namespace {

using Shape = std::vector<std::size_t>;

class EmbedOptions : public PhotoFolder {};

double largest_difference(const std::vector<float>& x, const std::vector<float>& y) {
  EXPECT_EQ(x.size(), y.size());
  double largest = 0.0;
  for (std::size_t k = 0; k < std::min(x.size(), y.size()); ++k) {
    largest = std::max(largest, std::abs(double{x[k]} - y[k]));
  }
  return largest;
}

TEST_F(EmbedOptions, ShapesFollowTheOptions) {
  run_well(embed_critters("e", {"--grid", "2", "--no-projection"}));
  EXPECT_EQ(shape_of("e.cells.npy"), (Shape{kTest, 4, 128}));
  EXPECT_EQ(shape_of("e.globals.npy"), (Shape{kTest, 128}));
  run_well(embed_critters("e", {"--split", "train", "--grid", "3"}));
  EXPECT_EQ(shape_of("e.cells.npy"), (Shape{kTest, 9, kDim}));
  EXPECT_EQ(integers_in("e.labels.npy").front(), 0);
  EXPECT_EQ(integers_in("e.labels.npy").back(), 2);
  // evaluate makes the same grid of the same photos.
  EXPECT_EQ(evaluated_photos(
                {"--dataset", "critters", "--root", "critters", "--split", "train", "--grid", "3"}),
            evaluated_files("e"));
}

TEST_F(EmbedOptions, NumbersFollowTheOptions) {
  run_well(embed_critters("e", {"--grid", "3"}));
  const std::vector<float> plain = floats_in("e.cells.npy");
  const auto difference = [&](const Arguments& more) {
    Arguments options = {"--grid", "3"};
    options.insert(options.end(), more.begin(), more.end());
    run_well(embed_critters("f", options));
    return largest_difference(floats_in("f.cells.npy"), plain);
  };
  EXPECT_EQ(difference({"--threads", "1"}), 0.0);
  EXPECT_LT(difference({"--batch", "3"}), 1e-4);
  EXPECT_GT(difference({"--pooling", "roi_align"}), 1e-3);
  EXPECT_GT(difference({"--channels", "bgr"}), 1e-3);
  EXPECT_GT(difference({"--mean", "0,0,0", "--std", "255 255 255"}), 1e-3);
}

TEST_F(EmbedOptions, HalfFloatsAreTheSameNumbersRounded) {
  run_well(embed_critters("e"));
  run_well(embed_critters("f", {"--type", "float16"}));
  EXPECT_EQ(NpyFile(at("f.cells.npy")).type(), ArrayType::float16);
  EXPECT_EQ(NpyFile(at("f.globals.npy")).type(), ArrayType::float16);
  EXPECT_LT(largest_difference(floats_in("e.cells.npy"), floats_in("f.cells.npy")), 5e-4);
  EXPECT_LT(largest_difference(floats_in("e.globals.npy"), floats_in("f.globals.npy")), 5e-4);
  EXPECT_EQ(evaluated_files("f").at("queries"), kTest);
}

TEST_F(EmbedOptions, Int8FilesAreEvaluatedAndFillAGalleryOfInt8) {
  run_well(embed_critters("f", {"--type", "int8"}));
  EXPECT_EQ(NpyFile(at("f.cells.npy")).type(), ArrayType::int8);
  EXPECT_EQ(evaluated_files("f").at("queries"), kTest);
  run_well({"index", "build", at("g"), "--embeddings", at("f"), "--type", "int8"});
  run_well({"index", "export", at("g"), "--out", at("h")});
  EXPECT_EQ(floats_in("h.cells.npy"), floats_in("f.cells.npy"));
}

TEST_F(EmbedOptions, Bfloat16IsNear) {
  const ProgramResult result = run(embed_critters("f", {"--precision", "bfloat16"}));
  if (result.err.find("oneDNN cannot run this network") != std::string::npos) {
    EXPECT_TRUE(files_of("f").empty());
    GTEST_SKIP() << "no bfloat16 on this machine";
  }
  ASSERT_EQ(result.exit_code, 0) << result.err;
  run_well(embed_critters("e"));
  const double difference = largest_difference(floats_in("e.cells.npy"), floats_in("f.cells.npy"));
  EXPECT_LT(difference, 0.1);
  EXPECT_GT(difference, 0.0);
}

}  // namespace
}  // namespace diml::test
