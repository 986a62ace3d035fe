#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "diml/embedder.h"
#include "diml/grid_store.h"
#include "diml/image.h"

namespace diml {

// Numbers alone need no picture, and an image of a gallery may have none.
enum class Picture { wanted, not_wanted };

// One of two images whose match is explained in the terms of a gallery.
struct ComparedImage {
  GridSet grid;  // of one, in the gallery's type of cells
  Image image;   // what the network saw; the whole picture where the gallery does not know
  std::string name;
};

// The item's id where the text is one, else of the item of that path; none where there is no such.
std::optional<std::int64_t> item_called(const GridSnapshot& snapshot, const std::string& text);

// An item of the gallery, with its stored grid. Its picture is its file where that is still there,
// else its thumbnail. Throws where there is neither.
ComparedImage stored_image(const GridSnapshot& snapshot, std::int64_t id,
                           Picture picture = Picture::wanted);

// A photo outside the gallery, embedded like a query.
ComparedImage photo_to_compare(const GridSnapshot& snapshot, const Image& photo,
                               const std::string& name, Embedder& embedder);

}  // namespace diml
