#include "datasets/tree.h"

namespace diml {
namespace {

class Csv : public test::DatasetTree {
 protected:
  void SetUp() override {
    for (const char* name : {"a.jpg", "b.jpg", "with, comma.jpg", "d.jpg"})
      write(std::string("i/") + name, "x");
    write("images.csv",
          "label,path,split,is_query,is_gallery,x_1,y_1,x_2,y_2\r\n"
          "wren,i/a.jpg,train,,,,,,\r\n"
          "robin,i/b.jpg,test,1,0,10,20,30.5,60\r\n"
          "robin,\"i/with, comma.jpg\",test,0,1,,,,\r\n"
          "\r\n"
          "\"a \"\"rare\"\" one\",i/d.jpg,test,true,False,,,,\n");
  }
};

TEST_F(Csv, ReadsLabelsSplitsRolesAndBoxes) {
  const Dataset test = load_dataset("csv", root(), Split::test);
  EXPECT_EQ(test.class_names, (std::vector<std::string>{"a \"rare\" one", "robin", "wren"}));
  ASSERT_EQ(test.samples.size(), 3u);
  EXPECT_EQ(test.samples[0].label, 1);
  EXPECT_TRUE(test.samples[0].is_query);
  EXPECT_FALSE(test.samples[0].is_gallery);
  ASSERT_TRUE(test.samples[0].box.has_value());
  EXPECT_EQ(test.samples[0].box->width, 20.5);
  EXPECT_EQ(test.samples[0].box->height, 40.0);
  EXPECT_FALSE(test.samples[1].box.has_value());
  EXPECT_FALSE(test.samples[1].is_query);
  EXPECT_EQ(test.samples[2].label, 0);
  EXPECT_EQ(load_dataset("csv", root(), Split::train).samples.size(), 1u);
  EXPECT_EQ(load_dataset("csv", root() + "/images.csv", Split::all).samples.size(), 4u);
}

TEST_F(Csv, WithoutASplitEverythingIsInEverySplit) {
  write("images.csv", "path,label\ni/a.jpg,x\ni/b.jpg,y\n");
  EXPECT_EQ(load_dataset("csv", root(), Split::train).samples.size(), 2u);
  EXPECT_EQ(load_dataset("csv", root(), Split::test).samples.size(), 2u);
}

TEST_F(Csv, SaysWhereATableIsOdd) {
  write("images.csv", "path,split\ni/a.jpg,test\n");
  expect_refused("csv", "no column 'label'");
  write("images.csv", "label,path,split\nx,i/a.jpg\n");
  expect_refused("csv", "images.csv:2: has 2 fields");
  write("images.csv", "label,path,split\nx,i/a.jpg,validation\n");
  expect_refused("csv", "validation");
  write("images.csv", "label,path,is_query\nx,i/a.jpg,maybe\n");
  expect_refused("csv", "images.csv:2: is_query is 'maybe'");
  write("images.csv", "label,path\nx,\"i/a.jpg\n");
  expect_refused("csv", "a quote is not closed");
  write("images.csv", "label,path,x_1,y_1,x_2,y_2\nx,i/a.jpg,1,2,3,four\n");
  expect_refused("csv", "'four' is not a number");
  write("images.csv", "label,path\nx,i/none.jpg\n");
  expect_refused("csv", "none.jpg: is missing");
  write("images.csv", "label,path\n");
  expect_refused("csv", "no images");
}

}  // namespace
}  // namespace diml
