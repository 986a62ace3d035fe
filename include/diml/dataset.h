#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace diml {

enum class Split : std::uint8_t { train, test, all };
Split split_from(std::string_view name);
const char* name_of(Split split);

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
  std::int64_t label = 0;  // index into Dataset::class_names; -1 without a label
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
  bool own_photos = false;  // of a user: rotated as their EXIF tag says, unlike the benchmarks
  std::size_t in_other_splits = 0;  // photos that the split leaves out
  // Pictures in a folder that this build cannot read, by the endings of their names: how many.
  std::map<std::string, std::size_t> unreadable{};
  // Photos outside of every class folder, in a split by classes. With Split::all they are taken,
  // without a label.
  std::size_t without_class = 0;
  // What this copy of a published data set lacks, in one line: its numbers differ from those of the
  // whole. "" where it is complete.
  std::string shortfall{};
};

// name: one of dataset_names(). Throws, with the remedy, when a file is missing or its content is
// invalid.
Dataset load_dataset(std::string_view name, const std::string& root, Split split);

// What the data set lacks, for people: a line with a count for each reason. Photos of other splits
// are not among them: they were not asked for.
std::vector<std::string> left_out_of(const Dataset& data, const std::string& root);

// SHA-256 of the training and test data: labels, names under root and sizes of all files. A copy of
// the data in another folder has the same hash; no file is read.
std::string fingerprint_of(std::string_view name, const std::string& root);

// The fifth of the training classes that is held out to select a model without the test classes:
// the last ones, as the test classes are. Neighbours in the order of classes are often similar (the
// kingfishers, the saloons of one make): with every fifth class, the held-out classes would
// resemble classes of the training. Empty where there are fewer than five.
std::set<std::int64_t> held_out_classes(const Dataset& data);

struct DatasetKind {
  const char* name;
  const char* layout;  // what `root` must look like, in one line
  Dataset (*load)(const std::string& root, Split split);
  bool own_photos = false;
  // What evaluation takes where no split is named: the test classes where the data set has a
  // protocol that says so, else everything.
  Split evaluated = Split::test;
};
const std::vector<DatasetKind>& dataset_kinds();
// Throws, with the known names, where there is no such kind.
const DatasetKind& dataset_kind(std::string_view name);

}  // namespace diml
