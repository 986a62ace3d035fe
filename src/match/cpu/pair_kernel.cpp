#include "cpu/pair_kernel.h"

#include <algorithm>
#include <cstring>

#include "diml/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/pair_kernel.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "cpu/sinkhorn-inl.h"
#include "cpu/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace diml::cpu::HWY_NAMESPACE {
namespace {

// Cells as float32: the stored ones where they are float32 already, else widened into `scratch`.
const float* widen(const GridView& grid, float* scratch) {
  if (grid.type == CellType::float32) return static_cast<const float*>(grid.cells);
  const std::size_t count = grid.count * grid.dim;
  std::size_t k = 0;
  if (grid.type == CellType::float16) {
    const hn::Rebind<hwy::float16_t, FloatTag> half;
    const auto* cells = static_cast<const hwy::float16_t*>(grid.cells);
    for (; k + kLanes <= count; k += kLanes) {
      hn::StoreU(hn::PromoteTo(kFloat, hn::LoadU(half, cells + k)), kFloat, scratch + k);
    }
  } else {
    const hn::Rebind<hwy::bfloat16_t, FloatTag> half;
    const auto* cells = static_cast<const hwy::bfloat16_t*>(grid.cells);
    for (; k + kLanes <= count; k += kLanes) {
      hn::StoreU(hn::PromoteTo(kFloat, hn::LoadU(half, cells + k)), kFloat, scratch + k);
    }
  }
  for (; k < count; ++k) scratch[k] = grid.at(0, k);
  return scratch;
}

// out[r] = <rows[r], vector>, lanes along d.
void row_dots(const float* rows, std::size_t count, std::size_t dim, const float* vector, float* out) {
  constexpr std::size_t kTogether = 4;
  for (std::size_t first = 0; first < count; first += kTogether) {
    const std::size_t group = std::min(kTogether, count - first);
    FloatVec sums[kTogether];
    for (FloatVec& sum : sums) sum = hn::Zero(kFloat);
    std::size_t d = 0;
    for (; d + kLanes <= dim; d += kLanes) {
      const FloatVec value = hn::LoadU(kFloat, vector + d);
      for (std::size_t r = 0; r < kTogether; ++r) {
        // Rows past the end repeat the last one: no branch inside, results unused.
        const float* row = rows + (first + std::min(r, group - 1)) * dim;
        sums[r] = hn::MulAdd(hn::LoadU(kFloat, row + d), value, sums[r]);
      }
    }
    for (std::size_t r = 0; r < group; ++r) {
      float sum = hn::GetLane(hn::SumOfLanes(kFloat, sums[r]));
      for (std::size_t tail = d; tail < dim; ++tail) {
        sum += rows[(first + r) * dim + tail] * vector[tail];
      }
      out[first + r] = sum;
    }
  }
}

// source: [rows, dim] -> packed: [dim, row_pad], zero in the padding.
template <class Shape>
void pack(const float* source, const Shape& shape, std::size_t dim, float* packed) {
  const std::size_t rows4 = shape.rows / 4 * 4;
  const std::size_t dims4 = dim / 4 * 4;
  transpose(source, dim, rows4, dims4, packed, shape.row_pad());
  for (std::size_t d = 0; d < dim; ++d) {
    for (std::size_t i = d < dims4 ? rows4 : 0; i < shape.rows; ++i) {
      packed[d * shape.row_pad() + i] = source[i * dim + d];
    }
    std::fill(packed + d * shape.row_pad() + shape.rows, packed + (d + 1) * shape.row_pad(), 0.0f);
  }
}

FloatVec distance_of(FloatVec similarity) {
  const FloatVec two = hn::Set(kFloat, 2.0f);
  return hn::Sqrt(hn::Max(hn::NegMulAdd(two, similarity, two), hn::Zero(kFloat)));
}

template <class Shape>
float score_of(const Shape& shape, const PairParams& params, Slot& slot) {
  const float* b = slot.newest_b();
  FloatVec total = hn::Zero(kFloat);
  for (std::size_t i = 0; i < shape.row_pad(); i += kLanes) {
    FloatVec sum = hn::Zero(kFloat);
    for (std::size_t j = 0; j < shape.cols; ++j) {
      FloatVec value = hn::Load(kFloat, slot.similarity + j * shape.row_pad() + i);
      if (params.distance) value = distance_of(value);
      const FloatVec mass = hn::Mul(hn::Load(kFloat, slot.kernel + j * shape.row_pad() + i),
                                    hn::Set(kFloat, b[j]));
      sum = hn::MulAdd(mass, value, sum);
    }
    total = hn::MulAdd(sum, hn::Load(kFloat, slot.a + i), total);
  }
  return hn::GetLane(hn::SumOfLanes(kFloat, total));
}

template <class Shape>
void finish_pair(const Shape& shape, const PairParams& params, Slot& slot, float error,
                 PairOutput& output) {
  output.score = score_of(shape, params, slot);
  output.marginal_error = error;
  output.iterations = slot.iteration;
  output.converged = error < params.tolerance;
  output.out_of_range = !std::isfinite(output.score) || !std::isfinite(error);
  const float* b = slot.newest_b();
  for (std::size_t i = 0; i < shape.rows; ++i) {
    for (std::size_t j = 0; j < shape.cols; ++j) {
      const std::size_t k = i * shape.cols + j;
      if (output.plan) {
        output.plan[k] = slot.a[i] * slot.kernel_by_row[i * shape.col_pad() + j] * b[j];
      }
      if (output.similarity) output.similarity[k] = slot.similarity[j * shape.row_pad() + i];
    }
  }
  if (output.source_marginal) {
    std::copy_n(slot.source_marginal, shape.rows, output.source_marginal);
  }
  if (output.target_marginal) {
    std::copy_n(slot.target_marginal, shape.cols, output.target_marginal);
  }
  if (output.target_potential) {
    for (std::size_t j = 0; j < shape.cols; ++j) {
      output.target_potential[j] = params.lambda * std::log(b[j]);
    }
  }
}

template <std::size_t P, class Shape>
void match_in_slots(const Shape& shape, const GridView& source, const GridView* targets,
                    std::size_t count, const PairParams& params, PairWorkspace& workspace,
                    PairOutput* outputs) {
  const std::size_t dim = source.dim;
  const std::size_t source_floats = round_up_to_lanes(shape.rows * dim);
  const std::size_t target_floats = round_up_to_lanes(shape.cols * dim);
  const std::size_t packed_floats = shape.row_pad() * dim;
  const std::size_t per_slot = slot_floats(shape);
  float* memory = reinterpret_cast<float*>(workspace.take(
      (source_floats + target_floats + packed_floats + P * per_slot) * sizeof(float)));
  const float* source_cells = widen(source, memory);
  float* target_scratch = memory + source_floats;
  float* packed = target_scratch + target_floats;
  pack(source_cells, shape, dim, packed);
  Slot slots[P];
  for (std::size_t p = 0; p < P; ++p) {
    slots[p] = lay_out_slot(shape, packed + packed_floats + p * per_slot);
  }

  const auto load = [&](std::size_t task, Slot& slot) HWY_ATTR {
    const GridView& target = targets[task];
    PairOutput& output = outputs[task];
    const float* cells = widen(target, target_scratch);
    const float* rows[kMostCells + 1];
    for (std::size_t j = 0; j < shape.cols; ++j) rows[j] = cells + j * dim;
    rows[shape.cols] = target.global;
    const std::size_t row_count = shape.cols + (params.cross_correlation ? 1 : 0);
    // Targets lie anywhere in a gallery larger than the caches: ask for the next one meanwhile.
    const auto* ahead =
        static_cast<const std::byte*>(task + 1 < count ? targets[task + 1].cells : nullptr);
    dot_all(packed, shape.row_pad(), rows, row_count, dim, slot.similarity, ahead);

    if (params.cross_correlation) {
      std::copy_n(slot.similarity + shape.cols * shape.row_pad(), shape.row_pad(), slot.source_marginal);
      row_dots(cells, shape.cols, dim, source.global, slot.target_marginal);
    } else {
      std::fill_n(slot.source_marginal, shape.rows, 1.0f);
      std::fill_n(slot.target_marginal, shape.cols, 1.0f);
    }
    output.uniform_source = normalise_marginal(slot.source_marginal, shape.rows, shape.row_pad());
    output.uniform_target = normalise_marginal(slot.target_marginal, shape.cols, shape.col_pad());
    output.out_of_range = !start_pair(shape, params, slot);
    return !output.out_of_range;
  };
  const auto finish = [&](Slot& slot, float error) HWY_ATTR {
    finish_pair(shape, params, slot, error, outputs[slot.task]);
  };
  iterate_slots<P>(shape, params, slots, count, load, finish);
}

}  // namespace

void match_targets_simd(const GridView& source, const GridView* targets, std::size_t count,
                  const PairParams& params, PairWorkspace& workspace, PairOutput* outputs) {
  if (count == 0) return;
  const std::size_t rows = source.count;
  const std::size_t cols = targets[0].count;
  // Long rows keep the arithmetic units busy on their own; short ones need company.
  constexpr std::size_t kSideBySide = 4;
  const std::size_t row_vectors = round_up_to_lanes(rows) / kLanes;
  const std::size_t col_vectors = round_up_to_lanes(cols) / kLanes;
  const auto run = [&](auto slots, auto shape) HWY_ATTR {
    match_in_slots<decltype(slots)::value>(shape, source, targets, count, params, workspace, outputs);
  };
  using One = std::integral_constant<std::size_t, 1>;
  using Several = std::integral_constant<std::size_t, kSideBySide>;
  if (count >= kSideBySide && row_vectors == 1 && col_vectors == 1) {
    run(Several(), PairShape<1>{rows, cols});
  } else if (count >= kSideBySide && row_vectors == 2 && col_vectors == 2) {
    run(Several(), PairShape<2>{rows, cols});
  } else if (count >= kSideBySide && row_vectors <= 2 && col_vectors <= 2) {
    run(Several(), PairShape<0>{rows, cols});
  } else {
    run(One(), PairShape<0>{rows, cols});
  }
}

void solve_similarity_simd(const float* similarity, const float* source_marginal,
                     const float* target_marginal, std::size_t rows, std::size_t cols,
                     const PairParams& params, PairWorkspace& workspace, PairOutput& output) {
  const PairShape<0> shape{rows, cols};
  float* memory = reinterpret_cast<float*>(workspace.take(slot_floats(shape) * sizeof(float)));
  Slot slot = lay_out_slot(shape, memory);
  const auto load = [&](std::size_t, Slot& s) HWY_ATTR {
    std::memset(s.similarity, 0, (cols + 1) * shape.row_pad() * sizeof(float));
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < cols; ++j) {
        s.similarity[j * shape.row_pad() + i] = similarity[i * cols + j];
      }
    }
    std::copy_n(source_marginal, rows, s.source_marginal);
    std::copy_n(target_marginal, cols, s.target_marginal);
    normalise_marginal(s.source_marginal, rows, shape.row_pad());
    normalise_marginal(s.target_marginal, cols, shape.col_pad());
    output.out_of_range = !start_pair(shape, params, s);
    return !output.out_of_range;
  };
  const auto finish = [&](Slot& s, float error) HWY_ATTR { finish_pair(shape, params, s, error, output); };
  iterate_slots<1>(shape, params, &slot, 1, load, finish);
}

}  // namespace diml::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace diml::cpu {

HWY_EXPORT(match_targets_simd);
HWY_EXPORT(solve_similarity_simd);

std::byte* PairWorkspace::take(std::size_t size) {
  constexpr std::size_t kAlignment = 128;
  if (bytes.size() < size + kAlignment) bytes.resize(size + kAlignment);
  const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
  return bytes.data() + (kAlignment - address % kAlignment) % kAlignment;
}

void match_targets(const GridView& source, const GridView* targets, std::size_t count,
                   const PairParams& params, PairWorkspace& workspace, PairOutput* outputs) {
  HWY_DYNAMIC_DISPATCH(match_targets_simd)(source, targets, count, params, workspace, outputs);
}

void solve_similarity(const float* similarity, const float* source_marginal,
                      const float* target_marginal, std::size_t rows, std::size_t cols,
                      const PairParams& params, PairWorkspace& workspace, PairOutput& output) {
  HWY_DYNAMIC_DISPATCH(solve_similarity_simd)
  (similarity, source_marginal, target_marginal, rows, cols, params, workspace, output);
}

}  // namespace diml::cpu
#endif  // HWY_ONCE
