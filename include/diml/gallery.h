#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "diml/grid_store.h"
#include "diml/progress.h"

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

// What the functions below have written.
struct GalleryCopy {
  std::size_t items = 0;
  std::uint64_t revision = 0;
  std::uint64_t bytes = 0;  // of its file
  std::string replaced{};   // where the folder lies now that was in its place; "" for none
};

// Copies the gallery as it is now, while others read and change it, into a folder that does not
// exist yet. The copy is verified before it gets that name.
GalleryCopy back_up_gallery(const std::string& folder, const std::string& to,
                            const Progress& progress = {});

// Puts a verified copy of the backup in the place of the gallery, which need not exist. A process
// that has the old one open notices it at its next call.
GalleryCopy restore_gallery(const std::string& backup, const std::string& folder,
                            const Progress& progress = {});

// Writes the gallery anew, without free pages and in the newest format: its items, ids, birth and
// revision stay. Writers wait meanwhile; the new file must fit on the disk beside the old one.
GalleryCopy compact_gallery(const std::string& folder, const Progress& progress = {});

// What salvage_gallery() has found.
struct Salvage {
  std::size_t items = 0;                    // that are in the new gallery
  std::optional<std::size_t> items_before;  // of the damaged one, where it still says that
  std::size_t damaged = 0;                  // of which something was found, but not all of it whole
  std::size_t unsure = 0;  // of `items`: found outside of the trees, so they may be old or removed
  std::size_t pages = 0;
  std::size_t damaged_pages = 0;  // which the trees refer to and which cannot be read
};

// Makes a new gallery of everything that is whole in a damaged one, whose records it finds without
// LMDB. Ids stay; birth and revision are new. Throws where the description of the gallery is lost.
Salvage salvage_gallery(const std::string& folder, const std::string& to,
                        const Progress& progress = {});

// Whether there is one, which may be damaged. Throws where its database cannot be reached.
bool gallery_exists(const std::string& name);

// Removes a gallery that has no items. Whether there was one; throws where it is damaged.
bool remove_empty_gallery(const std::string& name);

// Whether the name is an address in a database, not a folder.
bool is_in_database(const std::string& name);

// The name as messages have it: an address without its password.
std::string shown_gallery(const std::string& name);

}  // namespace diml
