#include "readers.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/system_error.h"
#include "datasets/images_below.h"
#include "diml/error.h"

namespace diml::datasets {
namespace fs = std::filesystem;

void for_each_line(
    const std::string& path,
    const std::function<void(const std::vector<std::string>&, const std::string&)>& line) {
  std::ifstream file(path);
  if (!file) {
    const Error failed = system_error(path + ": cannot be opened", errno);
    throw Error(failed.kind(), failed.what() + std::string(": point root at the data set's folder"),
                "root");
  }
  std::string text;
  for (std::size_t number = 1; std::getline(file, text); ++number) {
    std::istringstream words(text);
    std::vector<std::string> fields;
    for (std::string word; words >> word;) fields.push_back(word);
    if (!fields.empty()) line(fields, path + ":" + std::to_string(number));
  }
}

std::int64_t integer_of(const std::string& text, const std::string& where) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw Error(where + ": '" + text + "' is not a whole number");
  }
  return value;
}

double number_of(const std::string& text, const std::string& where) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw Error(where + ": '" + text + "' is not a number");
  }
  return value;
}

std::string folder_with(const std::string& root, const std::string& name, const std::string& file) {
  for (const fs::path& folder : {fs::path(root), fs::path(root) / name}) {
    std::error_code unknown;
    if (fs::exists(folder / file, unknown)) return folder.string();
  }
  throw Error(ErrorKind::not_found,
              root + ": contains neither " + file + " nor a folder " + name +
                  " with it: point root at the data set's folder",
              "root");
}

Dataset classes_from_folders(const std::string& root, const std::string& name) {
  std::error_code unknown;
  if (!fs::is_directory(root, unknown))
    throw Error(ErrorKind::not_found,
                root + ": is not a folder: root names one with a folder per class", "root");
  Dataset dataset;
  dataset.name = name;
  ImagesBelow found = images_below(root);
  dataset.unreadable = std::move(found.unreadable);
  std::vector<fs::path> photos(found.paths.begin(), found.paths.end());
  std::sort(photos.begin(), photos.end());  // folder by folder
  std::vector<Sample> loose;
  for (const fs::path& photo : photos) {
    const fs::path below = photo.lexically_relative(root);
    if (!below.has_parent_path()) {
      loose.push_back({.path = photo.string(), .label = -1});
      continue;
    }
    const std::string label = below.begin()->string();
    if (dataset.class_names.empty() || dataset.class_names.back() != label)
      dataset.class_names.push_back(label);
    dataset.samples.push_back({.path = photo.string(),
                               .label = static_cast<std::int64_t>(dataset.class_names.size()) - 1});
  }
  if (dataset.samples.empty())
    throw Error(ErrorKind::not_found,
                root + ": has no folder with images: one folder per class is expected");
  dataset.samples.insert(dataset.samples.end(), loose.begin(), loose.end());
  return dataset;
}

void keep_half_of_classes(Dataset& dataset, Split split) {
  if (split == Split::all) return;
  const std::size_t count = dataset.class_names.size();
  // Of three classes two are for training: a loss needs two classes to compare.
  const auto half = static_cast<std::int64_t>(count == 3 ? 2 : count / 2);
  dataset.without_class +=
      std::erase_if(dataset.samples, [](const Sample& sample) { return sample.label < 0; });
  dataset.in_other_splits += std::erase_if(dataset.samples, [&](const Sample& sample) {
    return (sample.label < half) != (split == Split::train);
  });
}

void expect_count(const Dataset& dataset, std::size_t count, const std::string& what) {
  if (dataset.samples.size() == count) return;
  throw Error(dataset.name + ": " + what + " has " + std::to_string(dataset.samples.size()) +
              " images, not " + std::to_string(count) +
              ": the copy is incomplete or of another version, get it again");
}

void expect_files(const Dataset& dataset) {
  std::size_t missing = 0;
  std::string first;
  for (const Sample& sample : dataset.samples) {
    std::error_code unknown;
    if (fs::exists(sample.path, unknown)) continue;
    if (missing++ == 0) first = sample.path;
  }
  if (missing == 0) return;
  throw Error(ErrorKind::not_found, first + ": is missing, like " + std::to_string(missing) +
                                        " of the " + std::to_string(dataset.samples.size()) +
                                        " images of " + dataset.name + ": unpack it again");
}

}  // namespace diml::datasets
