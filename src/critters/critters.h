#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "diml/dataset.h"
#include "diml/image.h"
#include "diml/progress.h"

namespace diml {

// The built-in data set: creatures drawn from parts, so that everything works without a download. A
// class is how the parts look: shapes, colours, patterns. Classes come in families that share most
// of it and differ in a few parts. Within a class vary pose, scale, rotation, mirroring, the angles
// of the parts, light, background, clutter and what stands in front. The same parameters give the
// same pictures on every machine.
struct CrittersParams {
  std::size_t classes = 60;
  std::size_t images_per_class = 20;
  std::size_t size = 128;  // pixels a side
  std::uint64_t seed = 0;
};

const std::vector<std::string>& critter_part_names();

struct Critter {
  Image image;
  Box box;                          // around the creature, cut at the picture's edges
  std::vector<PartLocation> parts;  // the visible ones: in the picture and nothing in front
};

// Image `index` of class `label`.
Critter draw_critter(const CrittersParams& params, std::size_t label, std::size_t index);

// Writes the layout of CUB-200-2011 with boxes and part locations: load_dataset("cub200", folder,
// ...) reads it.
void write_critters(const std::string& folder, const CrittersParams& params,
                    const Progress& progress = {});

}  // namespace diml
