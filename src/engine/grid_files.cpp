#include "diml/grid_files.h"

#include <algorithm>
#include <cmath>

#include "diml/error.h"
#include "diml/npy.h"

namespace diml {
namespace {

constexpr std::size_t kGridsAtOnce = 64;

[[noreturn]] void refuse(const NpyFile& file, const std::string& wanted) {
  throw Error(file.path() + ": is " + name_of(file.type()) + " " + shape_text(file.shape()) +
              " where " + wanted);
}

void expect_floats(const NpyFile& file) {
  if (file.type() == ArrayType::int64) {
    refuse(file, "float32 or float16 is wanted: convert it with .astype(numpy.float32)");
  }
}

void expect_integers(const NpyFile& file) {
  if (file.type() != ArrayType::int64) {
    refuse(file, "int64 is wanted: convert it with .astype(numpy.int64)");
  }
}

// values: `length` floats an image, from image `first` on.
void expect_finite(const std::vector<float>& values, std::size_t length, std::size_t first,
                   const std::string& path) {
  const auto bad =
      std::find_if_not(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
  if (bad == values.end()) return;
  const std::size_t image = first + static_cast<std::size_t>(bad - values.begin()) / length;
  throw Error(path + ": image " + std::to_string(image) + " holds NaN or infinity: embed it again");
}

// One an image; noun: what each of them is.
std::vector<std::int64_t> load_integers(const std::string& path, std::size_t count,
                                        const std::string& noun) {
  const NpyFile file(path);
  expect_integers(file);
  if (file.shape().size() != 1) refuse(file, "one " + noun + " an image, [images], is wanted");
  if (file.count() != count) {
    refuse(file, std::to_string(count) + " " + noun + "s are wanted, one for each image");
  }
  std::vector<std::int64_t> values(count);
  file.read_int64s(0, values);
  return values;
}

}  // namespace

GridSet load_grids(const std::string& cells, const std::string& globals, CellType storage,
                   int threads, const Progress& progress) {
  const NpyFile cell_file(cells);
  expect_floats(cell_file);
  if (cell_file.shape().size() != 3) {
    refuse(cell_file, "[images, cells, dimensions] is wanted: reshape it");
  }
  const std::size_t size = cell_file.shape()[0];
  const std::size_t cells_per_grid = cell_file.shape()[1];
  const std::size_t dim = cell_file.shape()[2];
  if (size == 0) refuse(cell_file, "at least one image is wanted");
  std::unique_ptr<NpyFile> global_file;
  if (!globals.empty()) {
    global_file = std::make_unique<NpyFile>(globals);
    expect_floats(*global_file);
    const std::vector<std::size_t> wanted = {size, dim};
    if (global_file->shape() != wanted) {
      refuse(*global_file, shape_text(wanted) + " is wanted, to go with " + cells +
                               ": embed both from the same images");
    }
  }
  try {
    check_grid_shape(cells_per_grid, dim);
  } catch (const Error& error) {
    throw with_context(error, cells + ": ");
  }

  GridSet grids(size, cells_per_grid, dim, storage);
  const auto load = [&](std::size_t begin, std::size_t end) {
    std::vector<float> cell_values((end - begin) * cells_per_grid * dim);
    std::vector<float> global_values(global_file ? (end - begin) * dim : 0);
    cell_file.read_floats(begin * cells_per_grid * dim, cell_values);
    if (global_file) global_file->read_floats(begin * dim, global_values);
    expect_finite(cell_values, cells_per_grid * dim, begin, cells);
    expect_finite(global_values, dim, begin, globals);
    for (std::size_t i = begin; i < end; ++i) {
      const auto part = [&](const std::vector<float>& values, std::size_t length) {
        return values.empty()
                   ? std::span<const float>()
                   : std::span<const float>(values).subspan((i - begin) * length, length);
      };
      grids.set(i, part(cell_values, cells_per_grid * dim), part(global_values, dim));
    }
  };
  // In stretches, so that the progress is told from this thread.
  const std::size_t stretch = std::max<std::size_t>(size / 50, 16 * kGridsAtOnce);
  for (std::size_t first = 0; first < size; first += stretch) {
    const std::size_t count = std::min(stretch, size - first);
    parallel_for(count, kGridsAtOnce, threads,
                 [&](std::size_t begin, std::size_t end) { load(first + begin, first + end); });
    if (progress) progress(first + count, size);
  }
  return grids;
}

std::vector<std::int64_t> load_labels(const std::string& path, std::size_t count) {
  return load_integers(path, count, "label");
}

std::vector<Role> load_roles(const std::string& path, std::size_t count) {
  std::vector<Role> roles;
  roles.reserve(count);
  for (const std::int64_t value : load_integers(path, count, "role")) {
    if (value < 1 || value > 3) {
      throw Error(path + ": image " + std::to_string(roles.size()) + " has role " +
                  std::to_string(value) + ": write 1 for a query, 2 for the gallery, 3 for both");
    }
    roles.push_back(static_cast<Role>(value));
  }
  return roles;
}

std::vector<Pair> load_pairs(const std::string& path, std::size_t count) {
  const NpyFile file(path);
  expect_integers(file);
  if (file.shape().size() != 2 || file.shape()[1] != 2) {
    refuse(file, "[pairs, 2] is wanted: a (source, target) in each row");
  }
  std::vector<std::int64_t> values(file.count());
  file.read_int64s(0, values);
  std::vector<Pair> pairs(file.shape()[0]);
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    pairs[k] = {values[2 * k], values[2 * k + 1]};
    for (const std::int64_t index : {pairs[k].source, pairs[k].target}) {
      if (index < 0 || static_cast<std::size_t>(index) >= count) {
        throw Error(path + ": pair " + std::to_string(k) + " names image " + std::to_string(index) +
                    ", but there are " + std::to_string(count) + ", counted from 0");
      }
    }
  }
  return pairs;
}

}  // namespace diml
