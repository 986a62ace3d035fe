#include "diml/dataset.h"

#include <array>
#include <filesystem>
#include <iterator>

#include "base/enum_names.h"
#include "base/image_names.h"
#include "base/sha256.h"
#include "diml/error.h"
#include "readers.h"

namespace diml {

namespace {

constexpr EnumNames<3> kSplits = {"train", "test", "all"};

}  // namespace

Split split_from(std::string_view name) { return value_in<Split>(kSplits, name, "split"); }

const char* name_of(Split split) { return name_in(kSplits, split); }

const std::vector<DatasetKind>& dataset_kinds() {
  static const std::vector<DatasetKind> kinds = {
      {"cub200", "CUB_200_2011/ with images.txt, image_class_labels.txt, images/",
       datasets::load_cub200},
      {"cars196", "cars_annos.mat and car_ims/, or one folder per class", datasets::load_cars196},
      {"sop", "Stanford_Online_Products/ with Ebay_train.txt, Ebay_test.txt", datasets::load_sop},
      {"critters", "the built-in data set: the layout of cub200", datasets::load_cub200},
      {"folder", "one folder per class; the first half is for training", datasets::load_folder,
       true, Split::all},
      {"csv", "a .csv file, or a folder with images.csv: label, path, split, ...",
       datasets::load_csv, true},
  };
  return kinds;
}

const DatasetKind& dataset_kind(std::string_view name) {
  std::string known;
  for (const DatasetKind& kind : dataset_kinds()) {
    if (name == kind.name) return kind;
    known += std::string(known.empty() ? "" : ", ") + kind.name;
  }
  throw Error("there is no data set '" + std::string(name) + "': " + known);
}

Dataset load_dataset(std::string_view name, const std::string& root, Split split) {
  const DatasetKind& kind = dataset_kind(name);
  Dataset dataset = kind.load(root, split);
  dataset.own_photos = kind.own_photos;
  if (dataset.samples.empty()) throw Error(root + ": has no images in this split");
  datasets::expect_files(dataset);
  return dataset;
}

std::vector<std::string> left_out_of(const Dataset& data, const std::string& root) {
  std::vector<std::string> lines;
  if (!data.unreadable.empty()) lines.push_back(root + ": " + text_of(data.unreadable));
  if (data.without_class > 0) {
    const bool one = data.without_class == 1;
    lines.push_back(root + ": " + std::to_string(data.without_class) +
                    (one ? " photo is left out: it lies" : " photos are left out: they lie") +
                    " in no folder of a class");
  }
  if (!data.shortfall.empty()) lines.push_back(data.shortfall);
  return lines;
}

std::string fingerprint_of(std::string_view name, const std::string& root) {
  namespace fs = std::filesystem;
  Sha256 sha;
  for (const Split split : {Split::train, Split::test}) {
    for (const Sample& sample : load_dataset(name, root, split).samples) {
      std::error_code missing;  // reading the images reports it
      const std::uintmax_t size = fs::file_size(sample.path, missing);
      const std::string line = std::to_string(sample.label) + " " +
                               std::to_string(missing ? 0 : size) + " " +
                               fs::path(sample.path).lexically_relative(root).string() + "\n";
      sha.update({reinterpret_cast<const std::uint8_t*>(line.data()), line.size()});
    }
    sha.update(std::array<std::uint8_t, 1>{'\n'});
  }
  return sha.hex();
}

std::set<std::int64_t> held_out_classes(const Dataset& data) {
  constexpr std::size_t kOneOf = 5;
  std::set<std::int64_t> classes;
  for (const Sample& sample : data.samples) classes.insert(sample.label);
  classes.erase(-1);
  const auto count = static_cast<std::ptrdiff_t>(classes.size() / kOneOf);
  return {std::prev(classes.end(), count), classes.end()};
}

}  // namespace diml
