// Wrong calls of commands on photos: one line, before the work, and no file is created or removed.

#include <filesystem>

#include "base/limited_memory.h"
#include "cli/photo_folder.h"
#include "images/png_file.h"

namespace diml::test {
namespace {

class WrongCall : public PhotoFolder {
 protected:
  void expect_embed_refused(const Arguments& more, const std::vector<std::string>& named) const {
    expect_refused(embed_critters("e", more), named);
  }
};

TEST_F(WrongCall, WhatIsMissingIsNamed) {
  expect_refused({"embed", "--images", "critters", "--out", "e"}, {"--model"});
  expect_refused(embed({"--images", "critters"}), {"--out"});
  expect_refused(embed({"--out", "e"}), {"--dataset NAME --root DIR", "--images DIR"});
  expect_refused(embed({"--out", "e", "--dataset", "critters"}), {"--root"});
  expect_refused(embed({"--out", "e", "--root", "critters"}), {"--dataset"});
  expect_refused({"evaluate", "--model", "small.safetensors"}, {"--dataset NAME --root DIR"});
  expect_refused({"evaluate", "--dataset", "critters", "--root", "critters"}, {"--model"});
}

TEST_F(WrongCall, WhatExcludesEachOtherIsNamed) {
  expect_embed_refused({"--images", "critters"}, {"--images", "--dataset"});
  expect_refused({"evaluate", "--model", "small.safetensors", "--cells", "e.cells.npy"},
                 {"--model", "--cells"});
}

TEST_F(WrongCall, UnknownNamesAreToldWithTheKnownOnes) {
  expect_embed_refused({"--backend", "abacus"}, {"abacus", "auto"});
  expect_embed_refused({"--precision", "int8"}, {"int8", "bfloat16"});
  expect_embed_refused({"--device", "gpu"}, {"gpu", "cuda"});
  expect_embed_refused({"--device", "cuda:99"}, {"cuda:99"});
  expect_embed_refused({"--pooling", "max"}, {"max", "roi_align"});
  expect_embed_refused({"--split", "tset"}, {"tset", "train"});
  expect_embed_refused({"--type", "float64"}, {"float64", "float16"});
  expect_refused(embed({"--dataset", "cub20", "--root", "critters", "--out", "e"}),
                 {"cub20", "cub200"});
}

TEST_F(WrongCall, NumbersOutOfRangeAreRefused) {
  expect_embed_refused({"--crop", "100"}, {"crop of 100", "short side of 72"});
  expect_embed_refused({"--mean", "1,2"}, {"mean", "three numbers"});
  expect_embed_refused({"--grid", "15"}, {"--grid"});
  expect_embed_refused({"--threads", "-1"}, {"--threads"});
}

TEST_F(WrongCall, AModelThatCannotBeReadIsNamedWithTheRemedy) {
  const auto expect_model_refused = [&](const std::string& model,
                                        const std::vector<std::string>& named) {
    expect_refused({"embed", "--model", model, "--images", "critters", "--out", "e"}, named);
  };
  const std::string whole = bytes_of(at("small.safetensors"));
  put_text("cut.safetensors", whole.substr(0, whole.size() - 10));
  put_text("text.pth", "no weights, and long enough to be a header of some kind");
  expect_model_refused("none.safetensors", {"none.safetensors", "diml weights get"});
  expect_model_refused("cut.safetensors", {"cut.safetensors", "truncated or damaged"});
  expect_model_refused("text.pth", {"text.pth", "diml weights import"});
  expect_model_refused("critters", {"critters: is not a regular file"});
}

TEST_F(WrongCall, ImagesThatAreNotThereAreNamed) {
  put_text("list.txt", photos()[0] + "\nnone.jpg\n");
  put_text("empty.txt", "\n\n");
  std::filesystem::create_directory(at("empty"));
  expect_refused(embed({"--images", "none", "--out", "e"}), {"none: cannot be opened"});
  expect_refused(embed({"--images", "list.txt", "--out", "e"}), {"list.txt", "none.jpg"});
  expect_refused(embed({"--images", "empty.txt", "--out", "e"}), {"empty.txt: lists no images"});
  expect_refused(embed({"--images", "empty", "--out", "e"}), {"empty: has no JPEG, PNG"});
  put_text("array.npy", std::string("\x93NUMPY\x01\n", 8));
  expect_refused(embed({"--images", "array.npy", "--out", "e"}),
                 {"array.npy: is no text with one path per line"});
}

TEST_F(WrongCall, CrittersAreNotDrawnBetweenOthers) {
  expect_refused({"critters", "--out", "critters", "--classes", "2"},
                 {"critters: holds a data set already: remove it, or name another folder"});
}

TEST_F(WrongCall, APlaceThatCannotBeWrittenIsToldFirst) {
  std::filesystem::resize_file(at(photos()[0]), 0);  // the first photo of the work
  expect_refused(embed_critters("none/e"),
                 {"none/e.partial: cannot be made: there is no folder none: make it first"});
  expect_refused(embed_critters("critters/"), {"'critters/' cannot begin file names"});
  expect_refused(embed_critters(""), {"cannot begin file names"});
  expect_embed_refused({"--json", "none/e.json"}, {"none/e.json"});
}

TEST_F(WrongCall, OfWeightsIsRefused) {
  write_bytes(at("text"), "no weights, and long enough to look like the header of something");
  expect_refused({"weights"}, {"import, get, create, project or info"});
  expect_refused({"weights", "frobnicate"}, {"frobnicate"});
  expect_refused({"weights", "create", "small"}, {"--out"});
  expect_refused({"weights", "create", "vgg16", "--out", "b"}, {"vgg16", "resnet50"});
  expect_refused({"weights", "create", "small", "--out", "b", "--dim", "5000"}, {"--dim"});
  expect_refused({"weights", "create", "small", "--out", "b", "--stride", "5x5"}, {"5x5", "3x3"});
  expect_refused({"weights", "create", "small", "--out", "none/b"}, {"none/b"});
  expect_refused({"weights", "info", "none"}, {"none: cannot be opened"});
  expect_refused({"weights", "info", "text"}, {"text: "});
  expect_refused({"weights", "import", "none", "--out", "b"}, {"none: cannot be opened"});
  expect_refused({"weights", "import", "small.safetensors", "--out", "small.safetensors"},
                 {"named twice"});
  expect_refused({"weights", "import", "small.safetensors", "--out", "b", "--crop", "wide"},
                 {"wide"});
  expect_refused({"weights", "get", "vgg16"}, {"vgg16", "resnet50"});
}

// Resized, these lines of pixels have billions of them: only what is cropped is made.
TEST_F(WrongCall, ALineOfPixelsTakesLittleMemory) {
  if (!kMemoryCanBeLimited) GTEST_SKIP() << "memory cannot be limited under this sanitizer";
  put_text("lines/wide.png", PngFile(900'000, 1, 1).add_zero_rows(1 + 112'500).text());
  put_text("lines/tall.png", PngFile(1, 100'000, 1).add_zero_rows(200'000).text());
  run_well(embed({"--images", "lines", "--out", "e"}), {.most_memory = std::size_t{3} << 30});
  EXPECT_EQ(shape_of("e.cells.npy")[0], 2u);
}

}  // namespace
}  // namespace diml::test
