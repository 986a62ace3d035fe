#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "diml/error.h"
#include "diml/gallery.h"

namespace diml::test {

// Everything that a gallery holds, to compare; "none" where there is none, "damaged: ..." where it
// is not whole.
inline std::string state_of(const std::string& folder) {
  if (!std::filesystem::exists(folder + "/data.mdb")) return "none";
  try {
    const std::shared_ptr<GridStore> store = open_gallery(folder);
    const std::unique_ptr<GridSnapshot> snapshot = store->snapshot();
    const StoreFaults found = snapshot->verify();
    if (!found.faults.empty()) return "damaged: " + found.faults[0];
    const GridFormat& format = store->format();
    const std::size_t cell_bytes = format.cells_per_grid * format.dim * size_of(format.type);
    std::string text = std::to_string(snapshot->revision());
    for (const std::int64_t id : snapshot->ids()) {
      const Item item = snapshot->item(id);
      const GridView grid = snapshot->grid(id);
      const std::vector<std::uint8_t> thumbnail = snapshot->thumbnail(id);
      text += "\n" + std::to_string(id) + item.path + item.label + item.metadata;
      text.append(thumbnail.begin(), thumbnail.end());
      text.append(static_cast<const char*>(grid.cells), cell_bytes);
      text.append(reinterpret_cast<const char*>(grid.global), format.dim * sizeof(float));
    }
    return text;
  } catch (const Error& error) {
    return std::string("damaged: ") + error.what();
  }
}

}  // namespace diml::test
