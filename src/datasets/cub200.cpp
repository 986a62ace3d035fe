// The official layout of Caltech-UCSD Birds-200-2011, also used by other data sets.
#include <filesystem>
#include <map>

#include "diml/error.h"
#include "readers.h"

namespace diml::datasets {
namespace {

// By image id. The ids of the files count from 1 and need not be contiguous.
using ById = std::map<std::int64_t, Sample>;

Sample& sample_of(ById& samples, const std::string& id, const std::string& where) {
  const auto found = samples.find(integer_of(id, where));
  if (found == samples.end()) throw Error(where + ": image " + id + " is not in images.txt");
  return found->second;
}

void expect_fields(const std::vector<std::string>& fields, std::size_t count,
                   const std::string& where) {
  if (fields.size() < count)
    throw Error(where + ": " + std::to_string(count) + " fields are expected");
}

void read_boxes(const std::string& path, ById& samples) {
  for_each_line(path, [&](const auto& fields, const std::string& where) {
    expect_fields(fields, 5, where);
    sample_of(samples, fields[0], where).box = {
        number_of(fields[1], where), number_of(fields[2], where), number_of(fields[3], where),
        number_of(fields[4], where)};
  });
}

// parts.txt: id and name, which may have several words. part_locs.txt: image, part, x, y, visible.
void read_parts(const std::string& folder, Dataset& dataset, ById& samples) {
  std::map<std::int64_t, std::size_t> index_of;
  for_each_line(folder + "/parts.txt", [&](const auto& fields, const std::string& where) {
    expect_fields(fields, 2, where);
    index_of[integer_of(fields[0], where)] = dataset.part_names.size();
    std::string name = fields[1];
    for (std::size_t k = 2; k < fields.size(); ++k) name += " " + fields[k];
    dataset.part_names.push_back(name);
  });
  for_each_line(folder + "/part_locs.txt", [&](const auto& fields, const std::string& where) {
    expect_fields(fields, 5, where);
    const auto part = index_of.find(integer_of(fields[1], where));
    if (part == index_of.end()) throw Error(where + ": part " + fields[1] + " is not in parts.txt");
    if (integer_of(fields[4], where) == 0) return;
    sample_of(samples, fields[0], where)
        .parts.push_back({part->second, number_of(fields[2], where), number_of(fields[3], where)});
  });
}

}  // namespace

Dataset load_cub200(const std::string& root, Split split) {
  namespace fs = std::filesystem;
  const std::string folder = folder_with(root, "CUB_200_2011", "images.txt");
  Dataset dataset;
  dataset.name = "cub200";
  ById samples;
  for_each_line(folder + "/images.txt", [&](const auto& fields, const std::string& where) {
    expect_fields(fields, 2, where);
    samples[integer_of(fields[0], where)] = {.path = folder + "/images/" + fields[1], .label = -1};
  });
  std::map<std::int64_t, std::string> names;  // by class id, which counts from 1
  for_each_line(
      folder + "/image_class_labels.txt", [&](const auto& fields, const std::string& where) {
        expect_fields(fields, 2, where);
        Sample& sample = sample_of(samples, fields[0], where);
        sample.label = integer_of(fields[1], where) - 1;
        if (sample.label < 0) throw Error(where + ": classes count from 1");
        names.try_emplace(sample.label, fs::path(sample.path).parent_path().filename().string());
      });
  for (const auto& [label, name] : names) {
    if (label != static_cast<std::int64_t>(dataset.class_names.size())) {
      throw Error(folder + "/image_class_labels.txt: class " +
                  std::to_string(dataset.class_names.size() + 1) +
                  " has no images: the copy is incomplete, get it again");
    }
    dataset.class_names.push_back(name);
  }
  if (fs::exists(folder + "/bounding_boxes.txt"))
    read_boxes(folder + "/bounding_boxes.txt", samples);
  if (fs::exists(folder + "/parts/part_locs.txt")) read_parts(folder + "/parts", dataset, samples);
  for (auto& [id, sample] : samples) {
    if (sample.label < 0)
      throw Error(folder + "/image_class_labels.txt: image " + std::to_string(id) +
                  " has no class");
    dataset.samples.push_back(std::move(sample));
  }
  keep_half_of_classes(dataset, split);
  // Only the original data set has these sizes.
  if (dataset.class_names.size() == 200 && samples.size() == 11788) {
    if (split == Split::train) expect_count(dataset, 5864, "the training half");
    if (split == Split::test) expect_count(dataset, 5924, "the test half");
  }
  return dataset;
}

}  // namespace diml::datasets
