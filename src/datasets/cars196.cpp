// Cars196: the annotations of both devkit lists in one .mat file, or the images in one folder per
// class.
#include <algorithm>
#include <filesystem>

#include "diml/error.h"
#include "readers.h"

#if DIML_HAS_MAT
#include <memory>

#include <matio.h>
#endif

namespace diml::datasets {
namespace {

// The published data set.
constexpr std::size_t kClasses = 196;
constexpr std::size_t kPhotos = 16185;

#if DIML_HAS_MAT
struct CloseMat {
  void operator()(mat_t* file) const { Mat_Close(file); }
};
struct FreeVariable {
  void operator()(matvar_t* variable) const { Mat_VarFree(variable); }
};

const matvar_t& field(matvar_t* annotations, const char* name, std::size_t index,
                      const std::string& path) {
  const matvar_t* value = Mat_VarGetStructFieldByName(annotations, name, index);
  if (!value || !value->data)
    throw Error(path + ": annotation " + std::to_string(index + 1) + " has no " + name);
  return *value;
}

std::string text_of(const matvar_t& value, const std::string& path) {
  if (value.class_type != MAT_C_CHAR) throw Error(path + ": a name is not text");
  const auto* data = static_cast<const char*>(value.data);
  const std::size_t count =
      value.nbytes / std::max<std::size_t>(1, static_cast<std::size_t>(value.data_size));
  std::string text;  // wide or narrow characters: the names are plain either way
  for (std::size_t k = 0; k < count; ++k)
    text += data[k * static_cast<std::size_t>(value.data_size)];
  return text;
}

double number_in(const matvar_t& value, const std::string& path) {
  switch (value.data_type) {
    case MAT_T_DOUBLE:
      return *static_cast<const double*>(value.data);
    case MAT_T_UINT8:
      return *static_cast<const std::uint8_t*>(value.data);
    case MAT_T_UINT16:
      return *static_cast<const std::uint16_t*>(value.data);
    case MAT_T_INT32:
      return *static_cast<const std::int32_t*>(value.data);
    default:
      throw Error(path + ": a number has an unknown type");
  }
}

Dataset from_annotations(const std::string& folder) {
  const std::string path = folder + "/cars_annos.mat";
  const std::unique_ptr<mat_t, CloseMat> file(Mat_Open(path.c_str(), MAT_ACC_RDONLY));
  if (!file) throw Error(path + ": is not a .mat file");
  const std::unique_ptr<matvar_t, FreeVariable> annotations(Mat_VarRead(file.get(), "annotations"));
  if (!annotations || annotations->class_type != MAT_C_STRUCT || annotations->rank != 2) {
    throw Error(path + ": has no 'annotations': get cars_annos.mat again");
  }
  Dataset dataset;
  dataset.name = "cars196";
  const std::size_t count = annotations->dims[0] * annotations->dims[1];
  std::int64_t classes = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const auto number = [&](const char* name) {
      return number_in(field(annotations.get(), name, k, path), path);
    };
    const double left = number("bbox_x1");
    const double top = number("bbox_y1");
    const Box box{left, top, number("bbox_x2") - left, number("bbox_y2") - top};
    const auto label = static_cast<std::int64_t>(number("class")) - 1;
    if (label < 0) throw Error(path + ": classes count from 1");
    classes = std::max(classes, label + 1);
    dataset.samples.push_back(
        {.path =
             folder + "/" + text_of(field(annotations.get(), "relative_im_path", k, path), path),
         .label = label,
         .box = box});
  }
  for (std::int64_t c = 1; c <= classes; ++c) dataset.class_names.push_back(std::to_string(c));
  return dataset;
}
#else
Dataset from_annotations(const std::string& folder) {
  throw Error(ErrorKind::unsupported, folder +
                                          ": cars_annos.mat needs a build with matio (install "
                                          "libmatio-dev), or one folder per class");
}
#endif

}  // namespace

Dataset load_cars196(const std::string& root, Split split) {
  Dataset dataset = std::filesystem::exists(root + "/cars_annos.mat")
                        ? from_annotations(root)
                        : classes_from_folders(root, "cars196");
  const auto found = static_cast<std::size_t>(
      std::count_if(dataset.samples.begin(), dataset.samples.end(),
                    [](const Sample& sample) { return sample.label >= 0; }));
  const bool real = dataset.class_names.size() == kClasses && found == kPhotos;
  if (dataset.class_names.size() == kClasses && found < kPhotos) {
    dataset.shortfall = root + ": this copy of cars196 lacks " + std::to_string(kPhotos - found) +
                        " of its " + std::to_string(kPhotos) +
                        " photos; numbers differ from those of the whole data set";
  }
  keep_half_of_classes(dataset, split);
  if (real && split == Split::train) expect_count(dataset, 8054, "the training half");
  if (real && split == Split::test) expect_count(dataset, 8131, "the test half");
  return dataset;
}

}  // namespace diml::datasets
