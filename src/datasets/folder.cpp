#include "readers.h"

namespace diml::datasets {

Dataset load_folder(const std::string& root, Split split) {
  Dataset dataset = classes_from_folders(root, "folder");
  keep_half_of_classes(dataset, split);
  return dataset;
}

}  // namespace diml::datasets
