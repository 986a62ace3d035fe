#include "bench_photos.h"

#include <algorithm>
#include <fstream>

#include "base/output_file.h"
#include "base/random.h"
#include "base/threads.h"
#include "diml/error.h"

namespace diml::cli {

Image bench_photo(std::size_t width, std::size_t height, std::size_t number) {
  // A few smooth colours, and the noise that every photo has.
  constexpr std::size_t kSpots = 9;
  constexpr std::size_t kGrain = 17;
  Random random(mixed_seed(number, 0, 0));
  Image spots{kSpots, kSpots, std::vector<std::uint8_t>(kSpots * kSpots * 3)};
  for (std::uint8_t& value : spots.pixels) value = static_cast<std::uint8_t>(random.below(256));
  Image photo = resize(spots, width, height);
  for (std::uint8_t& value : photo.pixels) {
    value = static_cast<std::uint8_t>(std::min<std::size_t>(255, value + random.below(kGrain)));
  }
  return photo;
}

void write_bench_photos(const std::string& folder, std::size_t classes, std::size_t per_class,
                        std::size_t side) {
  constexpr int kQuality = 85;
  const auto class_folder = [&](std::size_t label) {
    return folder + "/" + std::to_string(100000 + label);
  };
  for (std::size_t label = 0; label < classes; ++label) make_folder(class_folder(label));
  parallel_for(classes * per_class, 1, 0, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      const std::vector<std::uint8_t> bytes =
          encode_jpeg(bench_photo(side * 4 / 3, side, k), kQuality);
      std::ofstream file(class_folder(k / per_class) + "/" + std::to_string(k) + ".jpg",
                         std::ios::binary);
      file.write(reinterpret_cast<const char*>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()));
      if (!file)
        throw Error(ErrorKind::out_of_resources, folder + ": cannot be written: is the disk full?");
    }
  });
}

}  // namespace diml::cli
