#include <array>
#include <memory>

#include <matio.h>

#include "datasets/tree.h"

namespace diml {
namespace {

class Cars196 : public test::DatasetTree {
 protected:
  struct Annotation {
    const char* path;
    double x1, y1, x2, y2, label;
  };

  void write_annotations(const char* variable, const std::vector<Annotation>& annotations) const {
    mat_t* file = Mat_CreateVer((root() + "/cars_annos.mat").c_str(), nullptr, MAT_FT_MAT5);
    ASSERT_NE(file, nullptr);
    const char* fields[] = {"relative_im_path", "bbox_x1", "bbox_y1",
                            "bbox_x2",          "bbox_y2", "class"};
    std::array<std::size_t, 2> dims = {1, annotations.size()};
    matvar_t* all = Mat_VarCreateStruct(variable, 2, dims.data(), fields, 6);
    for (std::size_t k = 0; k < annotations.size(); ++k) {
      const Annotation& a = annotations[k];
      std::string path = a.path;  // matio takes no const pointers
      std::array<std::size_t, 2> text = {1, path.size()};
      Mat_VarSetStructFieldByName(
          all, fields[0], k,
          Mat_VarCreate(nullptr, MAT_C_CHAR, MAT_T_UINT8, 2, text.data(), path.data(), 0));
      std::array<double, 5> numbers = {a.x1, a.y1, a.x2, a.y2, a.label};
      for (std::size_t n = 0; n < numbers.size(); ++n) {
        std::array<std::size_t, 2> one = {1, 1};
        Mat_VarSetStructFieldByName(
            all, fields[n + 1], k,
            Mat_VarCreate(nullptr, MAT_C_DOUBLE, MAT_T_DOUBLE, 2, one.data(), &numbers[n], 0));
      }
    }
    Mat_VarWrite(file, all, MAT_COMPRESSION_NONE);
    Mat_VarFree(all);
    Mat_Close(file);
  }
};

TEST_F(Cars196, ReadsTheAnnotations) {
  write_annotations("annotations", {{"car_ims/000001.jpg", 10, 20, 110, 70, 1},
                                    {"car_ims/000002.jpg", 1, 2, 3, 5, 2}});
  write("car_ims/000001.jpg", "x");
  write("car_ims/000002.jpg", "x");
  const Dataset train = load_dataset("cars196", root(), Split::train);
  ASSERT_EQ(train.samples.size(), 1u);
  EXPECT_EQ(train.samples[0].path, root() + "/car_ims/000001.jpg");
  EXPECT_EQ(train.samples[0].label, 0);
  EXPECT_EQ(train.samples[0].box->width, 100.0);
  EXPECT_EQ(train.samples[0].box->height, 50.0);
  EXPECT_EQ(load_dataset("cars196", root(), Split::test).samples[0].label, 1);
}

TEST_F(Cars196, ACopyThatLacksPhotosIsReadAndSaysHowManyAreMissing) {
  for (int c = 0; c < 196; ++c) {
    write("class " + std::to_string(1000 + c) + "/a.jpg", "x");
    write("class " + std::to_string(1000 + c) + "/b.jpg", "x");
  }
  const Dataset data = load_dataset("cars196", root(), Split::test);
  EXPECT_EQ(data.samples.size(), 196u);
  EXPECT_NE(data.shortfall.find("lacks 15793 of its 16185 photos"), std::string::npos)
      << data.shortfall;
}

TEST_F(Cars196, AnotherDataSetOfCarsLacksNothing) {
  write("a/1.jpg", "x");
  write("b/1.jpg", "x");
  EXPECT_EQ(load_dataset("cars196", root(), Split::all).shortfall, "");
}

TEST_F(Cars196, SaysWhatIsOdd) {
  write("cars_annos.mat", "no such thing");
  expect_refused("cars196", "cars_annos.mat");
  write_annotations("something_else", {{"a.jpg", 0, 0, 1, 1, 1}});
  expect_refused("cars196", "'annotations'");
  write_annotations("annotations", {{"a.jpg", 0, 0, 1, 1, 0}});
  expect_refused("cars196", "classes count from 1");
  write_annotations("annotations", {{"a.jpg", 0, 0, 1, 1, 1}, {"b.jpg", 0, 0, 1, 1, 2}});
  expect_refused("cars196", "b.jpg: is missing");
}

}  // namespace
}  // namespace diml
