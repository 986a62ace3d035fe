#include "datasets/tree.h"

namespace diml {
namespace {

class FolderDataset : public test::DatasetTree {};

TEST_F(FolderDataset, AClassIsAFolderInAlphabeticalOrder) {
  for (const char* name :
       {"cat/2.png", "cat/1.JPG", "ant/x.jpeg", "bee/y.gif", "dog/z.jpg", "dog/notes.txt"}) {
    write(name, "x");
  }
  std::filesystem::create_directory(root() + "/empty");
  const Dataset all = load_dataset("folder", root(), Split::all);
  EXPECT_EQ(all.class_names, (std::vector<std::string>{"ant", "bee", "cat", "dog"}));
  ASSERT_EQ(all.samples.size(), 5u);
  EXPECT_EQ(all.samples[2].path, root() + "/cat/1.JPG");
  const Dataset train = load_dataset("folder", root(), Split::train);
  EXPECT_EQ(train.samples.size(), 2u);
  EXPECT_EQ(load_dataset("folder", root(), Split::test).samples.front().label, 2);
}

TEST_F(FolderDataset, FoldersInAClassBelongToItAndLoosePhotosHaveNoClass) {
  for (const char* name : {"ant/x.jpg", "ant/day 1/a.jpg", "ant/day 1/raw/b.cr2",
                           "bee/deep/er/y.jpg", "loose.jpg", "loose.cr2", "zebra crossing.png"})
    write(name, "x");
  const Dataset all = load_dataset("folder", root(), Split::all);
  EXPECT_EQ(all.class_names, (std::vector<std::string>{"ant", "bee"}));
  std::vector<std::pair<std::string, std::int64_t>> taken;
  for (const Sample& sample : all.samples)
    taken.emplace_back(sample.path.substr(root().size() + 1), sample.label);
  EXPECT_EQ(taken, (std::vector<std::pair<std::string, std::int64_t>>{{"ant/day 1/a.jpg", 0},
                                                                      {"ant/x.jpg", 0},
                                                                      {"bee/deep/er/y.jpg", 1},
                                                                      {"loose.jpg", -1},
                                                                      {"zebra crossing.png", -1}}));
  EXPECT_EQ(all.unreadable.at(".cr2"), 2u);
  EXPECT_EQ(left_out_of(all, "R").size(), 1u);
  // Classes are split: photos of none are in neither half.
  for (const Split split : {Split::train, Split::test}) {
    const Dataset half = load_dataset("folder", root() + "/", split);
    for (const Sample& sample : half.samples) EXPECT_GE(sample.label, 0) << sample.path;
    EXPECT_EQ(half.in_other_splits + half.samples.size(), 3u);
    EXPECT_EQ(half.without_class, 2u);
    ASSERT_EQ(left_out_of(half, "R").size(), 2u);
    EXPECT_EQ(left_out_of(half, "R").back(),
              "R: 2 photos are left out: they lie in no folder of a class");
  }
}

TEST_F(FolderDataset, OfLoosePhotosAloneIsRefused) {
  write("loose.jpg", "x");
  expect_refused("folder", "one folder per class");
}

TEST_F(FolderDataset, SaysWhatItWants) {
  expect_refused("folder", "one folder per class");
  EXPECT_THROW(load_dataset("folder", root() + "/missing", Split::all), Error);
}

class Sop : public test::DatasetTree {
 protected:
  void SetUp() override {
    write("Ebay_train.txt",
          "image_id class_id super_class_id path\n1 1 1 bike/1.JPG\n2 1 1 bike/2.JPG\n");
    write("Ebay_test.txt",
          "image_id class_id super_class_id path\n3 11319 1 sofa/3.JPG\n4 11320 2 sofa/4.JPG\n");
    for (const char* name : {"bike/1.JPG", "bike/2.JPG", "sofa/3.JPG", "sofa/4.JPG"})
      write(name, "x");
  }
};

TEST_F(Sop, TheListsAreTheSplits) {
  EXPECT_EQ(load_dataset("sop", root(), Split::train).samples.size(), 2u);
  const Dataset test = load_dataset("sop", root(), Split::test);
  ASSERT_EQ(test.samples.size(), 2u);
  EXPECT_EQ(test.samples[0].label, 1);
  EXPECT_EQ(test.samples[1].label, 2);
  EXPECT_EQ(test.samples[1].path, root() + "/sofa/4.JPG");
}

TEST_F(Sop, SaysWhatIsMissingOrOdd) {
  std::filesystem::remove(root() + "/sofa/4.JPG");
  expect_refused("sop", "4.JPG: is missing");
  write("Ebay_test.txt", "image_id class_id super_class_id path\n3 11319 sofa/3.JPG\n");
  expect_refused("sop", "Ebay_test.txt:2");
  std::filesystem::remove(root() + "/Ebay_test.txt");
  expect_refused("sop", "Ebay_test.txt");
}

class Cars196Folders : public test::DatasetTree {};

TEST_F(Cars196Folders, OneFolderPerClassWillDo) {
  for (const char* name : {"Acura/1.jpg", "BMW/1.jpg", "Fiat/1.jpg", "Fiat/2.jpg"})
    write(name, "x");
  // The middle one of an odd number of classes trains.
  EXPECT_EQ(load_dataset("cars196", root(), Split::train).samples.size(), 2u);
  EXPECT_EQ(load_dataset("cars196", root(), Split::test).samples.size(), 2u);
}

TEST(Datasets, AnUnknownNameIsAnsweredWithTheKnownOnes) {
  try {
    load_dataset("cub", "/tmp", Split::all);
    FAIL();
  } catch (const Error& error) {
    for (const DatasetKind& kind : dataset_kinds()) {
      EXPECT_NE(std::string(error.what()).find(kind.name), std::string::npos);
    }
  }
  EXPECT_EQ(split_from("train"), Split::train);
  EXPECT_THROW(split_from("dev"), Error);
}

class Fingerprint : public test::DatasetTree {};

TEST_F(Fingerprint, IsOfLabelsNamesAndSizesWhereverTheyLie) {
  const auto photos = [&](const std::string& folder, const std::string& name, const char* pixels) {
    for (const char* label : {"/cat/", "/dog/", "/owl/", "/yak/"}) {
      write(folder + label + name, pixels);
    }
    return fingerprint_of("folder", root() + "/" + folder);
  };
  const std::string first = photos("first", "a.jpg", "pixels");
  EXPECT_EQ(first.size(), 64u);
  EXPECT_EQ(photos("elsewhere", "a.jpg", "pixels"), first);
  EXPECT_NE(photos("renamed", "b.jpg", "pixels"), first);
  EXPECT_NE(photos("larger", "a.jpg", "more pixels"), first);
  EXPECT_NE(photos("first", "b.jpg", "pixels"), first);
}

TEST(HeldOutClasses, AreTheLastFifthOfThoseThatAreThere) {
  Dataset data;
  for (const std::int64_t label : {30, 10, 20, 70, 50, 10, 40, 60, 90, 80, 100}) {
    data.samples.push_back({.path = "x", .label = label});
  }
  EXPECT_EQ(held_out_classes(data), (std::set<std::int64_t>{90, 100}));
  data.samples.resize(4);
  EXPECT_TRUE(held_out_classes(data).empty());
}

}  // namespace
}  // namespace diml
