#include "datasets/tree.h"

namespace diml {
namespace {

class Cub200 : public test::DatasetTree {
 protected:
  // Four classes of one image each, two of them with parts.
  void SetUp() override {
    write("images.txt", "1 001.A/a.jpg\n2 002.B/b.jpg\n3 003.C/c.jpg\n4 004.D/d.jpg\n");
    write("image_class_labels.txt", "1 1\n2 2\n3 3\n4 4\n");
    write("bounding_boxes.txt", "1 1.0 2.0 30.5 40.0\n2 0 0 1 1\n3 5 6 7 8\n4 0 0 1 1\n");
    write("parts/parts.txt", "1 back\n2 left eye\n");
    write("parts/part_locs.txt", "3 1 10.5 20.0 1\n3 2 0 0 0\n4 2 7 8 1\n");
    for (const char* image : {"001.A/a", "002.B/b", "003.C/c", "004.D/d"})
      write("images/" + std::string(image) + ".jpg", "x");
  }
};

TEST_F(Cub200, TheSecondHalfOfTheClassesIsTheTest) {
  const Dataset train = load_dataset("cub200", root(), Split::train);
  const Dataset test = load_dataset("cub200", root(), Split::test);
  ASSERT_EQ(train.samples.size(), 2u);
  ASSERT_EQ(test.samples.size(), 2u);
  EXPECT_EQ(train.samples[0].label, 0);
  EXPECT_EQ(test.samples[0].label, 2);
  EXPECT_EQ(test.samples[0].path, root() + "/images/003.C/c.jpg");
  EXPECT_EQ(test.class_names, (std::vector<std::string>{"001.A", "002.B", "003.C", "004.D"}));
  EXPECT_EQ(load_dataset("cub200", root(), Split::all).samples.size(), 4u);
}

TEST_F(Cub200, ReadsBoxesAndVisibleParts) {
  const Dataset test = load_dataset("cub200", root(), Split::test);
  EXPECT_EQ(test.part_names, (std::vector<std::string>{"back", "left eye"}));
  ASSERT_TRUE(test.samples[0].box.has_value());
  EXPECT_EQ(test.samples[0].box->width, 7.0);
  ASSERT_EQ(test.samples[0].parts.size(), 1u);  // the invisible one is left out
  EXPECT_EQ(test.samples[0].parts[0].part, 0u);
  EXPECT_EQ(test.samples[0].parts[0].x, 10.5);
  EXPECT_EQ(test.samples[1].parts[0].part, 1u);
}

TEST_F(Cub200, TheFolderAboveWillDo) {
  write("data/CUB_200_2011/images.txt", "1 001.A/a.jpg\n2 002.B/b.jpg\n");
  write("data/CUB_200_2011/image_class_labels.txt", "1 1\n2 2\n");
  write("data/CUB_200_2011/images/001.A/a.jpg", "x");
  write("data/CUB_200_2011/images/002.B/b.jpg", "x");
  EXPECT_EQ(load_dataset("cub200", root() + "/data", Split::test).samples.size(), 1u);
}

TEST_F(Cub200, SaysWhatIsMissing) {
  std::filesystem::remove(root() + "/images/004.D/d.jpg");
  expect_refused("cub200", "d.jpg: is missing, like 1 of the 2");
  std::filesystem::remove(root() + "/image_class_labels.txt");
  expect_refused("cub200", "image_class_labels.txt");
  std::filesystem::remove(root() + "/images.txt");
  expect_refused("cub200", "images.txt");
}

TEST_F(Cub200, SaysWhereAFileIsOdd) {
  write("image_class_labels.txt", "1 1\n2 two\n3 3\n4 4\n");
  expect_refused("cub200", "image_class_labels.txt:2: 'two' is not a whole number");
  write("image_class_labels.txt", "1 1\n2 2\n9 3\n4 4\n");
  expect_refused("cub200", "image 9 is not in images.txt");
  write("image_class_labels.txt", "1 1\n2 2\n4 4\n");
  expect_refused("cub200", "class 3 has no images");
  write("image_class_labels.txt", "1 1\n2 2\n3 3\n4 0\n");
  expect_refused("cub200", "classes count from 1");
  write("image_class_labels.txt", "1 1\n2 2\n3 3\n4 4\n");
  write("bounding_boxes.txt", "1 1 2 3\n");
  expect_refused("cub200", "bounding_boxes.txt:1: 5 fields are expected");
}

}  // namespace
}  // namespace diml
