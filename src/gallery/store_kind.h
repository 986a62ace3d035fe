#pragma once

#include <memory>
#include <string>

#include "diml/grid_store.h"

namespace diml::gallery {

// A kind of store that outlives the process: one row of the table in gallery.cpp.
struct StoreKind {
  // Whether a gallery of this name is of this kind.
  bool (*takes)(const std::string& name);
  std::string (*shown)(const std::string& name);
  std::shared_ptr<GridStore> (*create)(const std::string& name, const GridFormat& format);
  std::shared_ptr<GridStore> (*open)(const std::string& name, StoreAccess access);
  bool (*exists)(const std::string& name);
  bool (*remove_empty)(const std::string& name);
};

}  // namespace diml::gallery
