#include <cstdio>

#include "base/output_file.h"
#include "base/threads.h"
#include "critters/critters.h"
#include "diml/error.h"

namespace diml {
namespace {

constexpr int kQuality = 92;

std::string numbered(const char* format, std::size_t number) {
  char text[64];
  std::snprintf(text, sizeof text, format, number);
  return text;
}

void write_text(const std::string& path, const std::string& text) {
  OutputFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace

void write_critters(const std::string& folder, const CrittersParams& params,
                    const Progress& progress) {
  if (params.classes < 1 || params.images_per_class < 1)
    throw Error("critters need at least one class and one image in each");
  const std::size_t count = params.classes * params.images_per_class;
  const auto class_name = [](std::size_t label) { return numbered("%03zu.Critter", label + 1); };
  const auto image_name = [&](std::size_t k) {
    return class_name(k / params.images_per_class) + "/" + numbered("critter_%06zu.jpg", k + 1);
  };
  for (std::size_t label = 0; label < params.classes; ++label)
    make_folder(folder + "/images/" + class_name(label));
  make_folder(folder + "/parts");

  std::vector<std::string> boxes(count);
  std::vector<std::string> locations(count);
  const auto draw = [&](std::size_t k) {
    const Critter critter =
        draw_critter(params, k / params.images_per_class, k % params.images_per_class);
    const std::vector<std::uint8_t> bytes = encode_jpeg(critter.image, kQuality);
    OutputFile file(folder + "/images/" + image_name(k));
    file.write(bytes.data(), bytes.size());
    file.commit();
    char line[128];
    std::snprintf(line, sizeof line, "%zu %.1f %.1f %.1f %.1f\n", k + 1, critter.box.left,
                  critter.box.top, critter.box.width, critter.box.height);
    boxes[k] = line;
    std::vector<const PartLocation*> visible(critter_part_names().size(), nullptr);
    for (const PartLocation& part : critter.parts) visible[part.part] = &part;
    for (std::size_t part = 0; part < visible.size(); ++part) {
      const PartLocation* at = visible[part];
      std::snprintf(line, sizeof line, "%zu %zu %.1f %.1f %d\n", k + 1, part + 1, at ? at->x : 0.0,
                    at ? at->y : 0.0, at != nullptr);
      locations[k] += line;
    }
  };
  constexpr std::size_t kAtOnce = 64;
  for (std::size_t first = 0; first < count; first += kAtOnce) {
    const std::size_t some = std::min(kAtOnce, count - first);
    parallel_for(some, 1, 0, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k) draw(first + k);
    });
    progress(first + some, count);
  }

  std::string images;
  std::string labels;
  std::string classes;
  std::string parts;
  std::string all_boxes;
  std::string all_locations;
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t label = k / params.images_per_class;
    images += std::to_string(k + 1) + " " + image_name(k) + "\n";
    labels += std::to_string(k + 1) + " " + std::to_string(label + 1) + "\n";
    all_boxes += boxes[k];
    all_locations += locations[k];
  }
  for (std::size_t label = 0; label < params.classes; ++label) {
    classes += std::to_string(label + 1) + " " + class_name(label) + "\n";
  }
  for (std::size_t part = 0; part < critter_part_names().size(); ++part) {
    parts += std::to_string(part + 1) + " " + critter_part_names()[part] + "\n";
  }
  write_text(folder + "/image_class_labels.txt", labels);
  write_text(folder + "/classes.txt", classes);
  write_text(folder + "/bounding_boxes.txt", all_boxes);
  write_text(folder + "/parts/parts.txt", parts);
  write_text(folder + "/parts/part_locs.txt", all_locations);
  write_text(folder + "/images.txt", images);  // last: it marks a complete folder
}

}  // namespace diml
