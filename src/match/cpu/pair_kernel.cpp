#include "cpu/pair_kernel.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/pair_kernel.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "cpu/bfloat16_tile-inl.h"
#include "cpu/pair_buffers-inl.h"
#include "cpu/sinkhorn_cells-inl.h"
#include "cpu/sinkhorn_pairs-inl.h"
#include "cpu/sinkhorn_wide-inl.h"
#include "cpu/tile-inl.h"
#include "match/cell_places.h"

HWY_BEFORE_NAMESPACE();
namespace diml::cpu::HWY_NAMESPACE {
namespace {

template <class Cell>
void widen_all(const Cell* cells, std::size_t count, float* out) {
  std::size_t k = 0;
  for (; k + kLanes <= count; k += kLanes) hn::StoreU(load_cells(cells, k), kFloat, out + k);
  for (; k < count; ++k) out[k] = load_cell(cells, k);
}

// Cells as float32: the stored ones where they are float32 already, else widened into `scratch`.
const float* widen(const GridView& grid, float* scratch) {
  const std::size_t count = grid.count * grid.dim;
  switch (grid.type) {
    case CellType::float16:
      widen_all(static_cast<const hwy::float16_t*>(grid.cells), count, scratch);
      return scratch;
    case CellType::bfloat16:
      widen_all(static_cast<const hwy::bfloat16_t*>(grid.cells), count, scratch);
      return scratch;
    default:
      return static_cast<const float*>(grid.cells);
  }
}

// out[r] = <rows[r], vector>, lanes along d.
template <class Cell>
void row_dots(const Cell* rows, std::size_t count, std::size_t dim, const float* vector,
              float* out) {
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
        const std::size_t row = (first + std::min(r, group - 1)) * dim;
        sums[r] = hn::MulAdd(load_cells(rows, row + d), value, sums[r]);
      }
    }
    for (std::size_t r = 0; r < group; ++r) {
      float sum = hn::GetLane(hn::SumOfLanes(kFloat, sums[r]));
      for (std::size_t tail = d; tail < dim; ++tail) {
        sum += load_cell(rows, (first + r) * dim + tail) * vector[tail];
      }
      out[first + r] = sum;
    }
  }
}

// source: [rows, dim] -> packed: [dim, row_pad], zero in the padding. Moves bits: an element may be
// two bfloat16.
void pack(const float* source, const PairShape& shape, std::size_t dim, float* packed) {
  const std::size_t rows4 = shape.rows / 4 * 4;
  const std::size_t dims4 = dim / 4 * 4;
  transpose(source, dim, rows4, dims4, packed, shape.row_pad);
  for (std::size_t d = 0; d < dim; ++d) {
    for (std::size_t i = d < dims4 ? rows4 : 0; i < shape.rows; ++i) {
      std::memcpy(&packed[d * shape.row_pad + i], &source[i * dim + d], sizeof(float));
    }
    std::fill(packed + d * shape.row_pad + shape.rows, packed + (d + 1) * shape.row_pad, 0.0f);
  }
}

template <class D, class T = hn::TFromD<D>>
T score_of(D d, const PairShape& shape, const float* similarity, const T* kernel, const T* a,
           const T* b) {
  auto total = hn::Zero(d);
  for (std::size_t i = 0; i < shape.row_pad; i += hn::Lanes(d)) {
    auto sum = hn::Zero(d);
    for (std::size_t j = 0; j < shape.cols; ++j) {
      const std::size_t k = j * shape.row_pad + i;
      const auto mass = hn::Mul(hn::Load(d, kernel + k), hn::Set(d, b[j]));
      sum = hn::MulAdd(mass, load_similarities(d, similarity + k), sum);
    }
    total = hn::MulAdd(sum, hn::Load(d, a + i), total);
  }
  return hn::GetLane(hn::SumOfLanes(d, total));
}

// Writes the requested results of a solved pair. Matrices become row-major, rows are source; slack
// cells are left out.
template <class D, class T = hn::TFromD<D>>
void finish_pair(D d, const PairShape& shape, const PairParams& params, const PairBuffers& pair,
                 const T* kernel, const T* a, const T* b, SinkhornEnd end, PairOutput& output) {
  output.score = static_cast<float>(score_of(d, shape, pair.similarity, kernel, a, b));
  output.marginal_error = end.error;
  output.iterations = end.iterations;
  output.converged = end.error < params.tolerance;
  output.out_of_range = !std::isfinite(output.score) || !std::isfinite(end.error);
  const std::size_t slack_cells = params.slack > 0.0f ? 1 : 0;
  const std::size_t rows = shape.rows - slack_cells;
  const std::size_t cols = shape.cols - slack_cells;
  if (output.plan || output.similarity) {
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < cols; ++j) {
        const std::size_t from = j * shape.row_pad + i;
        const std::size_t to = i * cols + j;
        if (output.plan) output.plan[to] = static_cast<float>(a[i] * kernel[from] * b[j]);
        if (output.similarity) output.similarity[to] = pair.similarity[from];
      }
    }
  }
  if (output.source_marginal) {
    std::copy_n(pair.source_marginal, rows, output.source_marginal);
  }
  if (output.target_marginal) {
    std::copy_n(pair.target_marginal, cols, output.target_marginal);
  }
  if (output.target_potential) {
    const double lambda = params.lambda;
    for (std::size_t j = 0; j < cols; ++j) {
      output.target_potential[j] = lambda * std::log(static_cast<double>(b[j]));
    }
  }
}

// Prepares the kernel of a pair with similarities and marginals for the iterations; false where
// none are needed: the pair was solved in double, or is out of range even for double.
bool prepare_pair(const PairShape& shape, const PairParams& params, PairBuffers& pair, double* wide,
                  PairOutput& output) {
  const Range range = range_of(shape, pair);
  if (range.fits<float>(params.lambda)) {
    make_kernel(kFloat, shape, params.lambda, range, pair.similarity, pair.kernel);
    close_slack(shape, params, pair.kernel);
    silence_slack(shape, params, pair);
    return true;
  }
  output.wide = range.fits<double>(params.lambda);
  output.out_of_range = !output.wide;
  if (output.wide) {
    const auto [solved, end] = sinkhorn_wide(shape, params, range, pair, wide);
    silence_slack(shape, params, pair);
    finish_pair(kDouble, shape, params, pair, solved.kernel, solved.a, solved.b, end, output);
  }
  return false;
}

// Working memory of iterate().
std::size_t iterate_floats(const PairShape& shape) {
  return fits_pairs(shape)
             ? kLanes * pair_floats(shape) + group_floats(shape)
             : pair_floats(shape) + kernel_by_row_floats(shape) + cells_scratch(shape);
}

// The choice of the loop depends on the pair only, never on the number of pairs: a pair has the
// same bits in any batch.
template <class Load, class Finish>
void iterate(const PairShape& shape, const PairParams& params, std::size_t count, float* memory,
             const Load& load, const Finish& finish) {
  if (fits_pairs(shape)) {
    sinkhorn_pairs(shape, params, count, memory, load, finish);
    return;
  }
  PairBuffers pair = lay_out_pair(shape, memory);
  float* kernel_by_row = memory + pair_floats(shape);
  float* scratch = kernel_by_row + kernel_by_row_floats(shape);
  std::fill_n(kernel_by_row, kernel_by_row_floats(shape), 0.0f);
  const Problem<float> problem{pair.kernel,          kernel_by_row, pair.source_marginal,
                               pair.target_marginal, pair.a,        pair.b};
  for (std::size_t task = 0; task < count; ++task) {
    if (!load(task, pair)) continue;
    transpose(pair.kernel, shape.row_pad, shape.cols, shape.rows, kernel_by_row, shape.col_pad);
    finish(task, pair, sinkhorn_cells(kFloat, shape, params, problem, scratch));
  }
}

}  // namespace

void match_pairs_simd(const PairTask* tasks, std::size_t count, const PairParams& params,
                      PairWorkspace& workspace, PairOutput* outputs) {
  if (count == 0) return;
  const std::size_t dim = tasks[0].source.dim;
  const PairShape shape = shape_of(tasks[0].source.count, tasks[0].target.count);
  const PairShape solved = solved_shape(shape, params);
  const bool partial = params.slack > 0.0f;
  const std::size_t real_floats = partial ? pair_floats(shape) : 0;
  const std::size_t source_floats = round_up_to_lanes(shape.rows * dim);
  const std::size_t target_floats = round_up_to_lanes(shape.cols * dim);
  const std::size_t packed_floats = shape.row_pad * dim;
  auto* wide = reinterpret_cast<double*>(
      workspace.take(wide_doubles(solved) * sizeof(double) +
                     (source_floats + target_floats + packed_floats + real_floats +
                      iterate_floats(solved)) *
                         sizeof(float)));
  auto* source_scratch = reinterpret_cast<float*>(wide + wide_doubles(solved));
  float* target_scratch = source_scratch + source_floats;
  float* packed = target_scratch + target_floats;
  const void* packed_source = nullptr;
  float* real_memory = packed + packed_floats;
  PairBuffers real = partial ? lay_out_pair(shape, real_memory) : PairBuffers{};
  const std::vector<float> source_places =
      weights_by_place(params.marginals, shape.rows, params.source_shape);
  const std::vector<float> target_places =
      weights_by_place(params.marginals, shape.cols, params.target_shape);

  const bool correlates = uses_correlation(params.marginals);
  const std::size_t row_count = shape.cols + (correlates ? 1 : 0);
  const auto ahead_of = [&](std::size_t task) HWY_ATTR {
    // Targets are anywhere in a gallery larger than the caches: prefetch the next one meanwhile.
    return static_cast<const std::byte*>(task + 1 < count ? tasks[task + 1].target.cells : nullptr);
  };

  // Similarities and, behind them, correlations: float32 arithmetic on cells of any type.
  const auto similarities = [&](std::size_t task, PairBuffers& pair) HWY_ATTR {
    const auto& [source, target] = tasks[task];
    if (source.cells != packed_source) {
      pack(widen(source, source_scratch), shape, dim, packed);
      packed_source = source.cells;
    }
    const float* cells = widen(target, target_scratch);
    const float* rows[kMostCells + 1];
    for (std::size_t j = 0; j < shape.cols; ++j) rows[j] = cells + j * dim;
    rows[shape.cols] = target.global;
    dot_all<FloatTiles>(packed, shape.row_pad, rows, row_count, dim, pair.similarity,
                        ahead_of(task));
    if (correlates) {
      row_dots(cells, shape.cols, dim, source.global, pair.target_marginal);
    }
  };

#if HWY_TARGET == HWY_AVX3
  // The same on bfloat16 cells as stored. The target's global is rounded to bfloat16 for its row.
  const auto bfloat16_similarities = [&](std::size_t task, PairBuffers& pair) HWY_ATTR {
    const auto& [source, target] = tasks[task];
    if (source.cells != packed_source) {
      pack(static_cast<const float*>(source.cells), shape, dim / 2, packed);
      packed_source = source.cells;
    }
    const auto* cells = static_cast<const std::byte*>(target.cells);
    const std::byte* rows[kMostCells + 1];
    for (std::size_t j = 0; j < shape.cols; ++j) rows[j] = cells + j * dim * sizeof(BFloat16);
    auto* global = reinterpret_cast<BFloat16*>(target_scratch);
    if (correlates) std::transform(target.global, target.global + dim, global, to_bfloat16);
    rows[shape.cols] = reinterpret_cast<const std::byte*>(global);
    dot_all<Bfloat16Tiles>(packed, shape.row_pad, rows, row_count, dim / 2, pair.similarity,
                           ahead_of(task));
    if (correlates) {
      row_dots(static_cast<const hwy::bfloat16_t*>(target.cells), shape.cols, dim, source.global,
               pair.target_marginal);
    }
  };
  const bool native = has_native_bfloat16() && tasks[0].source.type == CellType::bfloat16 &&
                      tasks[0].target.type == CellType::bfloat16 && dim % 2 == 0;
#endif

  const auto load = [&](std::size_t task, PairBuffers& loaded) HWY_ATTR {
    PairOutput& output = outputs[task];
    PairBuffers& pair = partial ? real : loaded;
#if HWY_TARGET == HWY_AVX3
    if (native) {
      bfloat16_similarities(task, pair);
    } else {
      similarities(task, pair);
    }
#else
    similarities(task, pair);
#endif
    if (correlates) {
      std::copy_n(pair.similarity + shape.cols * shape.row_pad, shape.row_pad,
                  pair.source_marginal);
    } else {
      std::copy(source_places.begin(), source_places.end(), pair.source_marginal);
      std::copy(target_places.begin(), target_places.end(), pair.target_marginal);
    }
    output.uniform_source =
        normalise_marginal(params.marginals, pair.source_marginal, shape.rows, shape.row_pad);
    output.uniform_target =
        normalise_marginal(params.marginals, pair.target_marginal, shape.cols, shape.col_pad);
    if (partial) add_slack(shape, real, params.slack, solved, loaded);
    return prepare_pair(solved, params, loaded, wide, output);
  };
  const auto finish = [&](std::size_t task, const PairBuffers& pair, SinkhornEnd end) HWY_ATTR {
    finish_pair(kFloat, solved, params, pair, pair.kernel, pair.a, pair.b, end, outputs[task]);
  };
  iterate(solved, params, count, real_memory + real_floats, load, finish);
}

const char* target_name_simd() { return hwy::TargetName(HWY_TARGET); }

void solve_similarity_simd(const float* similarity, const float* source_marginal,
                           const float* target_marginal, std::size_t rows, std::size_t cols,
                           const PairParams& params, PairWorkspace& workspace, PairOutput& output) {
  const PairShape shape = shape_of(rows, cols);
  const PairShape solved = solved_shape(shape, params);
  const bool partial = params.slack > 0.0f;
  const std::size_t real_floats = partial ? pair_floats(shape) : 0;
  auto* wide = reinterpret_cast<double*>(
      workspace.take(wide_doubles(solved) * sizeof(double) +
                     (real_floats + iterate_floats(solved)) * sizeof(float)));
  auto* memory = reinterpret_cast<float*>(wide + wide_doubles(solved));
  PairBuffers real = partial ? lay_out_pair(shape, memory) : PairBuffers{};
  const auto load = [&](std::size_t, PairBuffers& loaded) HWY_ATTR {
    PairBuffers& pair = partial ? real : loaded;
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < cols; ++j) {
        pair.similarity[j * shape.row_pad + i] = similarity[i * cols + j];
      }
    }
    std::copy_n(source_marginal, rows, pair.source_marginal);
    std::copy_n(target_marginal, cols, pair.target_marginal);
    // Given weights are handled like correlations.
    constexpr MarginalRule kAsGiven = MarginalRule::cross_correlation;
    normalise_marginal(kAsGiven, pair.source_marginal, rows, shape.row_pad);
    normalise_marginal(kAsGiven, pair.target_marginal, cols, shape.col_pad);
    if (partial) add_slack(shape, real, params.slack, solved, loaded);
    return prepare_pair(solved, params, loaded, wide, output);
  };
  const auto finish = [&](std::size_t, const PairBuffers& pair, SinkhornEnd end) HWY_ATTR {
    finish_pair(kFloat, solved, params, pair, pair.kernel, pair.a, pair.b, end, output);
  };
  iterate(solved, params, 1, memory + real_floats, load, finish);
}

}  // namespace diml::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace diml::cpu {

HWY_EXPORT(match_pairs_simd);
HWY_EXPORT(solve_similarity_simd);
HWY_EXPORT(target_name_simd);

std::string active_simd_target() { return HWY_DYNAMIC_DISPATCH(target_name_simd)(); }

std::byte* PairWorkspace::take(std::size_t size) {
  constexpr std::size_t kAlignment = 128;
  if (bytes.size() < size + kAlignment) bytes.resize(size + kAlignment);
  const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
  return bytes.data() + (kAlignment - address % kAlignment) % kAlignment;
}

void match_pairs(const PairTask* tasks, std::size_t count, const PairParams& params,
                 PairWorkspace& workspace, PairOutput* outputs) {
  HWY_DYNAMIC_DISPATCH(match_pairs_simd)(tasks, count, params, workspace, outputs);
}

void solve_similarity(const float* similarity, const float* source_marginal,
                      const float* target_marginal, std::size_t rows, std::size_t cols,
                      const PairParams& params, PairWorkspace& workspace, PairOutput& output) {
  HWY_DYNAMIC_DISPATCH(solve_similarity_simd)
  (similarity, source_marginal, target_marginal, rows, cols, params, workspace, output);
}

}  // namespace diml::cpu
#endif  // HWY_ONCE
