// Stanford Online Products: image_id class_id super_class_id path, with a heading line. Classes 1
// to 11,318 train.
#include <map>

#include "diml/error.h"
#include "readers.h"

namespace diml::datasets {
namespace {

void read_list(const std::string& folder, const char* file,
               std::map<std::int64_t, std::int64_t>& labels, Dataset& dataset) {
  for_each_line(folder + "/" + file, [&](const auto& fields, const std::string& where) {
    if (fields[0] == "image_id") return;
    if (fields.size() < 4)
      throw Error(where + ": image_id, class_id, super_class_id and path are expected");
    const std::int64_t id = integer_of(fields[1], where);
    const auto [found, is_new] =
        labels.try_emplace(id, static_cast<std::int64_t>(dataset.class_names.size()));
    if (is_new) dataset.class_names.push_back(fields[1]);
    dataset.samples.push_back({.path = folder + "/" + fields[3], .label = found->second});
  });
}

}  // namespace

Dataset load_sop(const std::string& root, Split split) {
  const std::string folder = folder_with(root, "Stanford_Online_Products", "Ebay_train.txt");
  Dataset dataset;
  dataset.name = "sop";
  std::map<std::int64_t, std::int64_t> labels;
  // Always reads both lists, so that labels do not depend on the split.
  read_list(folder, "Ebay_train.txt", labels, dataset);
  const std::size_t train = dataset.samples.size();
  const std::size_t train_classes = dataset.class_names.size();
  read_list(folder, "Ebay_test.txt", labels, dataset);
  if (dataset.class_names.size() == 22634) {  // the real one
    if (train != 59551 || train_classes != 11318 || dataset.samples.size() != 120053) {
      throw Error(folder +
                  ": does not have its 59,551 training and 60,502 test images: get it again");
    }
  }
  const std::size_t all = dataset.samples.size();
  const auto middle = dataset.samples.begin() + static_cast<std::ptrdiff_t>(train);
  if (split == Split::train) dataset.samples.erase(middle, dataset.samples.end());
  if (split == Split::test) dataset.samples.erase(dataset.samples.begin(), middle);
  dataset.in_other_splits = all - dataset.samples.size();
  return dataset;
}

}  // namespace diml::datasets
