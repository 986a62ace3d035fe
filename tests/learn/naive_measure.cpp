#include "naive_measure.h"

#include <cmath>

#include "base/random.h"

namespace diml::learn::test {
namespace {

std::vector<double> unit(const double* values, std::size_t dim) {
  double squares = 0.0;
  for (std::size_t d = 0; d < dim; ++d) squares += values[d] * values[d];
  std::vector<double> result(values, values + dim);
  for (double& value : result) value /= std::sqrt(squares);
  return result;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double variance_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double sum = 0.0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return sum / static_cast<double>(values.size());
}

// The input of diml::match.
struct FloatGrid {
  std::vector<float> cells;
  std::vector<float> global;

  FloatGrid(const PlainGrids& grids, std::size_t index) {
    for (const double value : grids.unit_global(index)) {
      global.push_back(static_cast<float>(value));
    }
    for (std::size_t cell = 0; cell < grids.cells_per_grid; ++cell) {
      for (const double value : grids.unit_cell(index, cell)) {
        cells.push_back(static_cast<float>(value));
      }
    }
  }
  GridView view() const {
    return {.cells = cells.data(),
            .count = cells.size() / global.size(),
            .dim = global.size(),
            .global = global.data()};
  }
};

}  // namespace

std::vector<double> PlainGrids::unit_global(std::size_t index) const {
  return unit(&globals[index * dim], dim);
}

std::vector<double> PlainGrids::unit_cell(std::size_t index, std::size_t cell) const {
  return unit(&cells[(index * cells_per_grid + cell) * dim], dim);
}

double PlainGrids::norm(std::size_t index) const {
  double squares = 0.0;
  for (std::size_t d = 0; d < dim; ++d) {
    squares += globals[index * dim + d] * globals[index * dim + d];
  }
  return std::sqrt(squares);
}

PlainGrids random_grids(std::size_t size, std::size_t cells_per_grid, std::size_t dim,
                        std::uint64_t seed) {
  Random random(mixed_seed(seed, 1, 0));
  PlainGrids grids{size, cells_per_grid, dim, {}, {}};
  for (std::size_t k = 0; k < size * dim; ++k) grids.globals.push_back(random.normal());
  for (std::size_t k = 0; k < size * cells_per_grid * dim; ++k) {
    // A part of the global in every cell, as in an image: otherwise the marginals are degenerate.
    const std::size_t of_global = k / (cells_per_grid * dim) * dim + k % dim;
    grids.cells.push_back(0.5 * grids.globals[of_global] + random.normal());
  }
  return grids;
}

PlainGrids grids_of_proxies(const std::vector<double>& values, std::size_t size, std::size_t cells,
                            std::size_t dim) {
  const std::size_t rows = cells == 0 ? 1 : cells;
  PlainGrids grids{size, cells, dim, std::vector<double>(size * dim), {}};
  for (std::size_t k = 0; k < size; ++k) {
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t d = 0; d < dim; ++d) {
        grids.globals[k * dim + d] +=
            values[(k * rows + row) * dim + d] / static_cast<double>(rows);
      }
    }
  }
  if (cells > 0) grids.cells = values;
  return grids;
}

Plans plans_between(const PlainGrids& x, const PlainGrids& y, const MatchParams& params) {
  Plans plans(x.size);
  for (std::size_t i = 0; i < x.size; ++i) {
    const FloatGrid source(x, i);
    for (std::size_t j = 0; j < y.size; ++j) {
      const FloatGrid target(y, j);
      MatchParams plain = params;
      plain.transport.backend = Backend::reference;
      plans[i].push_back(match(source.view(), target.view(), plain).plan.mass);
    }
  }
  return plans;
}

double local(Local what, const std::vector<double>& x, const std::vector<double>& y) {
  double product = 0.0;
  std::vector<double> difference;
  for (std::size_t d = 0; d < x.size(); ++d) {
    product += x[d] * y[d];
    difference.push_back(x[d] - y[d]);
  }
  if (what == Local::similarity) return product;
  if (what == Local::noise) return variance_of(difference) / variance_of(x);
  double squares = 0.0;
  for (const double value : difference) squares += value * value;
  return std::sqrt(squares);
}

Matrix measured(Kind kind, Local what, const PlainGrids& x, const PlainGrids& y,
                const Plans& plans) {
  Matrix result(x.size, std::vector<double>(y.size));
  std::vector<std::vector<double>> cells_of_y;
  if (kind != Kind::global) {
    for (std::size_t k = 0; k < y.size * y.cells_per_grid; ++k) {
      cells_of_y.push_back(y.unit_cell(k / y.cells_per_grid, k % y.cells_per_grid));
    }
  }
  for (std::size_t i = 0; i < x.size; ++i) {
    for (std::size_t j = 0; j < y.size; ++j) {
      double of_globals = 0.0;
      if (kind != Kind::structural) {
        of_globals = local(what, x.unit_global(i), y.unit_global(j));
      }
      double structural = 0.0;
      for (std::size_t r = 0; kind != Kind::global && r < x.cells_per_grid; ++r) {
        const std::vector<double> cell = x.unit_cell(i, r);
        for (std::size_t c = 0; c < y.cells_per_grid; ++c) {
          structural += plans[i][j][r * y.cells_per_grid + c] *
                        local(what, cell, cells_of_y[j * y.cells_per_grid + c]);
        }
      }
      result[i][j] = kind == Kind::global       ? of_globals
                     : kind == Kind::structural ? structural
                                                : (of_globals + structural) / 2.0;
    }
  }
  return result;
}

}  // namespace diml::learn::test
