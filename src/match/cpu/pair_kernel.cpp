#include "cpu/pair_kernel.h"

#include <algorithm>
#include <cmath>
#include <optional>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/pair_kernel.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "cpu/int8_similarities-inl.h"
#include "cpu/pair_buffers-inl.h"
#include "cpu/similarities-inl.h"
#include "cpu/sinkhorn_cells-inl.h"
#include "cpu/sinkhorn_one-inl.h"
#include "cpu/sinkhorn_pairs-inl.h"
#include "cpu/sinkhorn_wide-inl.h"

HWY_BEFORE_NAMESPACE();
namespace diml::cpu::HWY_NAMESPACE {
namespace {

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

// Writes the requested results of a solved pair. Matrices become row-major, rows are source.
template <class D, class T = hn::TFromD<D>>
void finish_pair(D d, const PairShape& shape, const PairParams& params, const PairBuffers& pair,
                 const T* kernel, const T* a, const T* b, SinkhornEnd end, PairOutput& output) {
  output.score = static_cast<float>(score_of(d, shape, pair.similarity, kernel, a, b));
  output.marginal_error = end.error;
  output.iterations = end.iterations;
  output.converged = end.error < params.tolerance;
  output.out_of_range = !std::isfinite(output.score) || !std::isfinite(end.error);
  if (output.plan || output.similarity) {
    for (std::size_t i = 0; i < shape.rows; ++i) {
      for (std::size_t j = 0; j < shape.cols; ++j) {
        const std::size_t from = j * shape.row_pad + i;
        const std::size_t to = i * shape.cols + j;
        if (output.plan) output.plan[to] = static_cast<float>(a[i] * kernel[from] * b[j]);
        if (output.similarity) output.similarity[to] = pair.similarity[from];
      }
    }
  }
  if (output.source_marginal) {
    std::copy_n(pair.source_marginal, shape.rows, output.source_marginal);
  }
  if (output.target_marginal) {
    std::copy_n(pair.target_marginal, shape.cols, output.target_marginal);
  }
  if (output.target_potential) {
    const double lambda = params.lambda;
    for (std::size_t j = 0; j < shape.cols; ++j) {
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
    return true;
  }
  output.wide = range.fits<double>(params.lambda);
  output.out_of_range = !output.wide;
  if (output.wide) {
    const auto [solved, end] = sinkhorn_wide(shape, params, range, pair, wide);
    finish_pair(kDouble, shape, params, pair, solved.kernel, solved.a, solved.b, end, output);
  }
  return false;
}

bool one_by_one(const PairShape& shape, std::size_t count) {
  return !fits_pairs(shape) || count <= kFewPairs;
}

// Working memory of iterate().
std::size_t iterate_floats(const PairShape& shape, std::size_t count) {
  return one_by_one(shape, count)
             ? pair_floats(shape) + kernel_by_row_floats(shape) + cells_scratch(shape)
             : kLanes * pair_floats(shape) + group_floats(shape);
}

// The loop depends on the pair and, where two loops give the same bits, on the number of pairs: a
// pair has the same bits in any batch.
template <class Load, class Finish>
void iterate(const PairShape& shape, const PairParams& params, std::size_t count, float* memory,
             const Load& load, const Finish& finish) {
  if (!one_by_one(shape, count)) {
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
    finish(task, pair,
           fits_pairs(shape) ? sinkhorn_one(shape, params, problem, scratch)
                             : sinkhorn_cells(kFloat, shape, params, problem, scratch));
  }
}

}  // namespace

void match_pairs_simd(const PairTask* tasks, std::size_t count, const PairParams& params,
                      PairWorkspace& workspace, PairOutput* outputs) {
  if (count == 0) return;
  const std::size_t dim = tasks[0].source.dim;
  const PairShape shape = shape_of(tasks[0].source.count, tasks[0].target.count);
  const bool integers =
      tasks[0].source.type == CellType::int8 && tasks[0].target.type == CellType::int8;
  const std::size_t similarity_floats = round_up_to_lanes(
      integers ? Int8Similarities::floats(shape, dim) : Similarities::floats(shape, dim));
  auto* wide = reinterpret_cast<double*>(
      workspace.take(wide_doubles(shape) * sizeof(double) +
                     (similarity_floats + iterate_floats(shape, count)) * sizeof(float)));
  auto* memory = reinterpret_cast<float*>(wide + wide_doubles(shape));
  const bool correlates = uses_correlation(params.marginals);
  std::optional<Similarities> floats;
  std::optional<Int8Similarities> int8s;
  if (integers) {
    int8s.emplace(shape, tasks[0], correlates, memory);
  } else {
    floats.emplace(shape, tasks[0], correlates, memory);
  }

  const auto load = [&](std::size_t task, PairBuffers& pair) HWY_ATTR {
    PairOutput& output = outputs[task];
    const auto* ahead =
        static_cast<const std::byte*>(task + 1 < count ? tasks[task + 1].target.cells : nullptr);
    if (integers) {
      int8s->of_pair(tasks[task], ahead, pair);
    } else {
      floats->of_pair(tasks[task], ahead, pair);
    }
    if (correlates) {
      std::copy_n(pair.similarity + shape.cols * shape.row_pad, shape.row_pad,
                  pair.source_marginal);
    }
    output.uniform_source =
        normalise_marginal(params.marginals, pair.source_marginal, shape.rows, shape.row_pad);
    output.uniform_target =
        normalise_marginal(params.marginals, pair.target_marginal, shape.cols, shape.col_pad);
    return prepare_pair(shape, params, pair, wide, output);
  };
  const auto finish = [&](std::size_t task, const PairBuffers& pair, SinkhornEnd end) HWY_ATTR {
    finish_pair(kFloat, shape, params, pair, pair.kernel, pair.a, pair.b, end, outputs[task]);
  };
  iterate(shape, params, count, memory + similarity_floats, load, finish);
}

const char* target_name_simd() { return hwy::TargetName(HWY_TARGET); }

void solve_similarity_simd(const float* similarity, const float* source_marginal,
                           const float* target_marginal, std::size_t rows, std::size_t cols,
                           const PairParams& params, PairWorkspace& workspace, PairOutput& output) {
  const PairShape shape = shape_of(rows, cols);
  auto* wide = reinterpret_cast<double*>(workspace.take(wide_doubles(shape) * sizeof(double) +
                                                        iterate_floats(shape, 1) * sizeof(float)));
  auto* memory = reinterpret_cast<float*>(wide + wide_doubles(shape));
  const auto load = [&](std::size_t, PairBuffers& pair) HWY_ATTR {
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
    return prepare_pair(shape, params, pair, wide, output);
  };
  const auto finish = [&](std::size_t, const PairBuffers& pair, SinkhornEnd end) HWY_ATTR {
    finish_pair(kFloat, shape, params, pair, pair.kernel, pair.a, pair.b, end, output);
  };
  iterate(shape, params, 1, memory, load, finish);
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
