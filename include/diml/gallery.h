#pragma once

#include <memory>
#include <string>

#include "diml/grid_store.h"

namespace diml {

// Galleries: stores that outlive the process. A gallery is a folder with everything about its
// images but the files themselves. Added items survive a killed process and a power cut. Any number
// of processes may read while one writes; several writers take turns.

// The folder must be empty, or must not exist.
std::shared_ptr<GridStore> create_gallery(const std::string& folder, const GridFormat& format);

// Throws where there is no gallery, or where it is damaged.
std::shared_ptr<GridStore> open_gallery(const std::string& folder,
                                        StoreAccess access = StoreAccess::read);

}  // namespace diml
