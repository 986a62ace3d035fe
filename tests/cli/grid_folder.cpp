#include "cli/grid_folder.h"

#include <span>
#include <stdexcept>

#include "random_grid.h"

namespace diml::test {

void write_floats(const std::string& path, const Shape& shape, const std::vector<float>& values,
                  ArrayType type) {
  NpyWriter writer(path, type, shape);
  writer.append(values);
  writer.commit();
}

void write_integers(const std::string& path, const Shape& shape,
                    const std::vector<std::int64_t>& values) {
  NpyWriter writer(path, ArrayType::int64, shape);
  writer.append(values);
  writer.commit();
}

std::vector<float> read_floats(const std::string& path, const Shape& shape) {
  const NpyFile file(path);
  if (file.type() != ArrayType::float32 || file.shape() != shape) {
    throw std::runtime_error(path + " is " + name_of(file.type()) + " " + shape_text(file.shape()));
  }
  std::vector<float> values(file.count());
  file.read_floats(0, values);
  return values;
}

GridFolder::GridFolder() {
  for (std::size_t image = 0; image < kImages; ++image) {
    const std::vector<float> cells = random_cells(kCells, kDim, image);
    cells_.insert(cells_.end(), cells.begin(), cells.end());
    // Near the mean of the cells but not equal to it, so that omitting the globals makes a
    // difference.
    const std::vector<float> noise = random_cells(1, kDim, 1000 + image);
    for (std::size_t d = 0; d < kDim; ++d) {
      float sum = noise[d];
      for (std::size_t i = 0; i < kCells; ++i) sum += cells[i * kDim + d];
      globals_.push_back(sum);
    }
  }
  std::vector<std::int64_t> pair_values;
  for (const Pair& pair : pairs_) {
    pair_values.insert(pair_values.end(), {pair.source, pair.target});
  }
  write_floats(at("C.npy"), {kImages, kCells, kDim}, cells_);
  write_floats(at("V.npy"), {kImages, kDim}, globals_);
  write_integers(at("P.npy"), {pairs_.size(), 2}, pair_values);
  write_integers(at("L.npy"), {kImages}, labels_);
}

Arguments GridFolder::match(const Arguments& more) {
  Arguments arguments = {"match",   "--cells", "C.npy", "--globals", "V.npy",
                         "--pairs", "P.npy",   "--out", "S.npy"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

Arguments GridFolder::evaluate(const Arguments& more) {
  Arguments arguments = {"evaluate", "--cells", "C.npy", "--globals", "V.npy", "--labels", "L.npy"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::vector<float> GridFolder::match_scores(const Arguments& more) const {
  run_well(match(more));
  return read_floats(at("S.npy"), {pairs_.size()});
}

GridSet GridFolder::grids() const {
  GridSet set(kImages, kCells, kDim);
  const std::span<const float> cells(cells_);
  const std::span<const float> globals(globals_);
  for (std::size_t i = 0; i < kImages; ++i) {
    set.set(i, cells.subspan(i * kCells * kDim, kCells * kDim), globals.subspan(i * kDim, kDim));
  }
  return set;
}

std::vector<StructuralMatch> library_matches(const GridSet& grids, const std::vector<Pair>& pairs,
                                             const MatchParams& params) {
  MatchParams own = params;
  if (own.transport.backend == Backend::fastest) own.transport.backend = Backend::reference;
  std::vector<StructuralMatch> matches;
  for (const Pair& pair : pairs) {
    matches.push_back(diml::match(grids[static_cast<std::size_t>(pair.source)],
                                  grids[static_cast<std::size_t>(pair.target)], own));
  }
  return matches;
}

}  // namespace diml::test
