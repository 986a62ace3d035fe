#include "engine/grid_files.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/enum_names.h"
#include "base/label_words.h"
#include "base/npy.h"
#include "base/threads.h"
#include "diml/error.h"

namespace diml {
namespace {

constexpr std::size_t kGridsAtOnce = 64;
constexpr EnumNames<4> kLayouts = {"auto", "nrd", "nchw", "nhwc"};

[[noreturn]] void refuse(const NpyFile& file, const std::string& wanted) {
  throw Error(file.path() + ": is " + name_of(file.type()) + " " + shape_text(file.shape()) +
              " where " + wanted);
}

void expect_floats(const NpyFile& file) {
  if (!is_float(file.type())) {
    refuse(file, "floats are wanted: convert it with .astype(numpy.float32)");
  }
}

void expect_integers(const NpyFile& file) {
  if (!is_integer(file.type())) {
    refuse(file, "integers are wanted: convert it with .astype(numpy.int64)");
  }
}

// An array of cells, as it lies.
struct CellShape {
  CellLayout layout = CellLayout::cells_last;
  std::size_t images = 0;
  std::size_t cells = 0;
  std::size_t dim = 0;
  std::size_t rows = 0;  // 0: the layout does not tell
};

constexpr const char* kNhwc = ".transpose(0, 2, 3, 1)";

CellShape shape_as(const NpyFile& file, CellLayout layout) {
  const std::vector<std::size_t>& shape = file.shape();
  const std::size_t wanted = layout == CellLayout::cells_last ? 3 : 4;
  if (shape.size() != wanted) {
    refuse(file, std::string("layout ") + name_of(layout) + " has " + std::to_string(wanted) +
                     " dimensions");
  }
  if (layout == CellLayout::cells_last) return {layout, shape[0], shape[1], shape[2]};
  if (layout == CellLayout::channels_first)
    return {layout, shape[0], shape[2] * shape[3], shape[1], shape[2]};
  return {layout, shape[0], shape[1] * shape[2], shape[3], shape[1]};
}

// Feature maps are square, or the global vectors say how many dimensions there are.
CellLayout layout_of(const NpyFile& file, const NpyFile* globals) {
  const std::vector<std::size_t>& shape = file.shape();
  if (shape.size() == 3) return CellLayout::cells_last;
  if (shape.size() != 4) {
    refuse(file,
           "[images, cells, dimensions], [images, dimensions, rows, columns] or [images, rows, "
           "columns, dimensions] is wanted");
  }
  const bool known = globals != nullptr && globals->shape().size() == 2;
  const auto fits = [&](CellLayout layout, std::size_t rows, std::size_t columns) {
    const std::size_t dim = shape_as(file, layout).dim;
    return known ? globals->shape()[1] == dim : rows == columns;
  };
  const bool first = fits(CellLayout::channels_first, shape[2], shape[3]);
  const bool last = fits(CellLayout::channels_last, shape[1], shape[2]);
  if (first != last) return first ? CellLayout::channels_first : CellLayout::channels_last;
  throw Error(ErrorKind::bad_input,
              file.path() + ": is " + shape_text(file.shape()) +
                  ", and its shape does not tell where the dimensions are: name the layout nchw or "
                  "nhwc (numpy's " +
                  kNhwc + " makes nhwc of nchw)",
              "layout");
}

// More cells than dimensions, and no global vectors that contradict it.
bool may_be_turned(const CellShape& shape, const NpyFile* globals) {
  return globals == nullptr && shape.layout == CellLayout::cells_last && shape.cells > shape.dim;
}

constexpr const char* kMayBeTurned =
    "; if it is [images, dimensions, cells], transpose it with .transpose(0, 2, 1)";

// What an array was taken for, where its shape leaves a doubt; "" where it does not.
std::string guess_text(const NpyFile& file, const CellShape& shape, const NpyFile* globals) {
  const bool is_map = shape.layout != CellLayout::cells_last;
  const bool turned = may_be_turned(shape, globals);
  if (!is_map && !turned) return "";
  const char* axes = shape.layout == CellLayout::channels_first
                         ? "[images, dimensions, rows, columns]"
                     : is_map ? "[images, rows, columns, dimensions]"
                              : "[images, cells, dimensions]";
  return file.path() + ": " + shape_text(file.shape()) + " is read as " + axes + ": " +
         std::to_string(shape.cells) + " cells of " + std::to_string(shape.dim) + " dimensions" +
         (turned ? kMayBeTurned : "");
}

// [dim, cells] of one image to [cells, dim].
void transpose(std::span<const float> from, std::size_t cells, std::size_t dim,
               std::span<float> to) {
  for (std::size_t d = 0; d < dim; ++d) {
    for (std::size_t cell = 0; cell < cells; ++cell) to[cell * dim + d] = from[d * cells + cell];
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

// noun: what each of them is.
void expect_one_each(const NpyFile& file, std::size_t count, const std::string& noun) {
  if (file.shape().size() != 1) refuse(file, "one " + noun + " an image, [images], is wanted");
  if (file.count() != count) {
    refuse(file, std::to_string(count) + " " + noun + "s are wanted, one for each image");
  }
}

std::vector<std::int64_t> load_integers(const std::string& path, std::size_t count,
                                        const std::string& noun) {
  const NpyFile file(path);
  expect_integers(file);
  expect_one_each(file, count, noun);
  std::vector<std::int64_t> values(count);
  file.read_int64s(0, values);
  return values;
}

}  // namespace

CellLayout cell_layout_from(std::string_view name) {
  return value_in<CellLayout>(kLayouts, name, "layout");
}

const char* name_of(CellLayout layout) { return name_in(kLayouts, layout); }

LoadedGrids load_grids(const GridFiles& files, const Progress& progress) {
  const NpyFile cell_file(files.cells);
  expect_floats(cell_file);
  std::unique_ptr<NpyFile> global_file;
  if (!files.globals.empty()) {
    global_file = std::make_unique<NpyFile>(files.globals);
    expect_floats(*global_file);
  }
  const CellShape shape = shape_as(cell_file, files.layout == CellLayout::automatic
                                                  ? layout_of(cell_file, global_file.get())
                                                  : files.layout);
  if (shape.images == 0) refuse(cell_file, "at least one image is wanted");
  if (global_file) {
    const std::vector<std::size_t> wanted = {shape.images, shape.dim};
    const std::vector<std::size_t> swapped = {shape.images, shape.cells};
    if (global_file->shape() == swapped && shape.cells != shape.dim) {
      refuse(cell_file, "the global vectors have " + std::to_string(shape.cells) +
                            " dimensions: it looks like [images, dimensions, cells], transpose it "
                            "with .transpose(0, 2, 1)");
    }
    if (global_file->shape() != wanted) {
      refuse(*global_file, shape_text(wanted) + " is wanted, to go with " + files.cells +
                               ": embed both from the same images");
    }
  }
  try {
    check_grid_shape(shape.cells, shape.dim);
  } catch (const Error& error) {
    const std::string turned = may_be_turned(shape, global_file.get()) ? kMayBeTurned : "";
    throw with_context(error, files.cells + ": ", turned);
  }

  for (const std::size_t image : files.images) {
    if (image >= shape.images) {
      throw Error(files.cells + ": has " + std::to_string(shape.images) +
                  " images, counted from 0: there is no image " + std::to_string(image));
    }
  }
  const std::size_t total = files.images.empty() ? shape.images : files.images.size();
  LoadedGrids loaded{GridSet(total, shape.cells, shape.dim, files.storage), shape.rows};
  const std::size_t of_grid = shape.cells * shape.dim;
  // Images from `begin` on in the files, from `place` on in the set.
  const auto load = [&](std::size_t begin, std::size_t end, std::size_t place) {
    std::vector<float> cell_values((end - begin) * of_grid);
    std::vector<float> global_values(global_file ? (end - begin) * shape.dim : 0);
    cell_file.read_floats(begin * of_grid, cell_values);
    if (global_file) global_file->read_floats(begin * shape.dim, global_values);
    expect_finite(cell_values, of_grid, begin, files.cells);
    expect_finite(global_values, shape.dim, begin, files.globals);
    std::vector<float> turned(shape.layout == CellLayout::channels_first ? of_grid : 0);
    for (std::size_t i = 0; i < end - begin; ++i) {
      std::span<const float> cells = std::span(cell_values).subspan(i * of_grid, of_grid);
      if (!turned.empty()) {
        transpose(cells, shape.cells, shape.dim, turned);
        cells = turned;
      }
      loaded.grids.set(place + i, cells,
                       global_file ? std::span(global_values).subspan(i * shape.dim, shape.dim)
                                   : std::span<float>());
    }
  };
  for (std::size_t k = 0; k < files.images.size(); ++k) {
    load(files.images[k], files.images[k] + 1, k);
  }
  // In chunks, so that the progress is told from this thread.
  const std::size_t chunk = std::max<std::size_t>(shape.images / 50, 16 * kGridsAtOnce);
  for (std::size_t first = 0; files.images.empty() && first < shape.images; first += chunk) {
    const std::size_t count = std::min(chunk, shape.images - first);
    parallel_for(count, kGridsAtOnce, files.threads, [&](std::size_t begin, std::size_t end) {
      load(first + begin, first + end, first + begin);
    });
    progress(first + count, shape.images);
  }
  if (files.layout == CellLayout::automatic) {
    loaded.layout = guess_text(cell_file, shape, global_file.get());
  }
  return loaded;
}

std::string LoadedLabels::word_of(std::size_t image) const {
  const std::int64_t value = values[image];
  return names.empty() || value < 0 ? label_word(value) : names[static_cast<std::size_t>(value)];
}

LoadedLabels load_labels(const std::string& path, std::size_t count) {
  const NpyFile file(path);
  if (file.type() != ArrayType::text) return {load_integers(path, count, "label")};
  expect_one_each(file, count, "label");
  std::vector<std::string> words(count);
  file.read_texts(0, words);
  const std::set<std::string> known(words.begin(), words.end());
  LoadedLabels labels;
  std::map<std::string, std::int64_t> values = {{"", kUnlabelled}};
  for (const std::string& word : known) {
    if (word.empty()) continue;
    values.emplace(word, static_cast<std::int64_t>(labels.names.size()));
    labels.names.push_back(word);
  }
  for (const std::string& word : words) labels.values.push_back(values.at(word));
  return labels;
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
