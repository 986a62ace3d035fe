#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace diml {

enum class Split : std::uint8_t { train, test, all };
Split split_from(std::string_view name);

// In pixels of the stored image.
struct Box {
  double left = 0.0;
  double top = 0.0;
  double width = 0.0;
  double height = 0.0;
};

struct PartLocation {
  std::size_t part = 0;  // index into Dataset::part_names
  double x = 0.0;
  double y = 0.0;
};

struct Sample {
  std::string path;
  std::int64_t label = 0;  // index into Dataset::class_names
  std::optional<Box> box{};
  std::vector<PartLocation> parts{};  // the visible ones
  bool is_query = true;
  bool is_gallery = true;
};

// Labelled images on disk. Zero-shot: the classes of `train` and `test` are disjoint.
struct Dataset {
  std::string name;
  std::vector<Sample> samples;
  std::vector<std::string> class_names;  // of all splits
  std::vector<std::string> part_names;   // empty where there are no part annotations
  bool own_photos = false;  // people's own: turned as their EXIF tag says, unlike the benchmarks
};

// name: one of dataset_names(). Throws, with the remedy, when a file is missing or says something
// odd.
Dataset load_dataset(std::string_view name, const std::string& root, Split split);

// SHA-256 of what is learnt from and tested on: labels, names under root and sizes of all files.
// The same data elsewhere have the same one; no file is read.
std::string fingerprint_of(std::string_view name, const std::string& root);

// The fifth of the classes that chooses in place of the test classes, where a choice is to be
// honest: the last ones, as test classes are. Neighbours in the order of classes are often akin
// (the kingfishers, the saloons of one make): every fifth would be birds whose sisters were trained
// on. Empty where there are fewer than five.
std::set<std::int64_t> held_out_classes(const Dataset& data);

struct DatasetKind {
  const char* name;
  const char* layout;  // what `root` must look like, in one line
  Dataset (*load)(const std::string& root, Split split);
  bool own_photos = false;
};
const std::vector<DatasetKind>& dataset_kinds();

}  // namespace diml
