#pragma once

#include <torch/torch.h>

#include "diml/learn/loss.h"
#include "diml/learn/measure.h"
#include "naive_measure.h"

namespace diml::learn::test {

inline std::int64_t signed_of(std::size_t value) { return static_cast<std::int64_t>(value); }

inline torch::Tensor tensor_of(const std::vector<double>& values, at::IntArrayRef shape) {
  return torch::tensor(values, torch::kFloat64).view(shape);
}

// The output of a network: leaf tensors of any scale, and the grids made of them.
struct Leaves {
  torch::Tensor globals;
  torch::Tensor cells;
  Grids grids;

  explicit Leaves(const PlainGrids& plain, torch::Dtype type = torch::kFloat64)
      : Leaves(tensor_of(plain.globals, {signed_of(plain.size), signed_of(plain.dim)}).to(type),
               tensor_of(plain.cells, {signed_of(plain.size), signed_of(plain.cells_per_grid),
                                       signed_of(plain.dim)})
                   .to(type)) {}

  Leaves(torch::Tensor raw_globals, torch::Tensor raw_cells)
      : globals(raw_globals.requires_grad_(true)), cells(raw_cells.requires_grad_(true)) {
    grids.globals = unit(globals);
    grids.norms = globals.norm(2, 1);
    grids.cells = unit(cells);
  }
};

inline MeasureKind torch_kind(Kind kind) {
  return kind == Kind::global       ? MeasureKind::global
         : kind == Kind::structural ? MeasureKind::structural
                                    : MeasureKind::blended;
}

inline std::vector<double> numbers_of(const torch::Tensor& tensor) {
  const torch::Tensor flat = tensor.detach().to(torch::kFloat64).contiguous();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

}  // namespace diml::learn::test
