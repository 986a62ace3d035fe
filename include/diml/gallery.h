#pragma once

#include <memory>
#include <string>

#include "diml/grid_store.h"

namespace diml {

// Galleries: stores that outlive the process. A gallery is a folder with everything about its
// images but the files themselves, or lies in a PostgreSQL database and has the name
// postgres://USER@HOST:PORT/DATABASE/GALLERY. Added items survive a killed process and a power cut.
// Any number of processes may read while one writes; several writers take turns.

// The folder must be empty, or must not exist; the database must exist, and have no such gallery.
std::shared_ptr<GridStore> create_gallery(const std::string& name, const GridFormat& format);

// Throws where there is no gallery, or where it is damaged.
std::shared_ptr<GridStore> open_gallery(const std::string& name,
                                        StoreAccess access = StoreAccess::read);

// Whether there is one, which may be damaged. Throws where its database cannot be reached.
bool gallery_exists(const std::string& name);

// Removes a gallery that has no items. Whether there was one; throws where it is damaged.
bool remove_empty_gallery(const std::string& name);

// The name as messages have it: an address without its password.
std::string shown_gallery(const std::string& name);

}  // namespace diml
