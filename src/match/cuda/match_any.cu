// Any shape up to kMostCells x kMostDimensions, any lambda: one block of threads per pair.
//
// Similarities are float32 products of 4 x 4 tiles, the kernel matrix is in shared memory (in
// global memory where a block has too little, on older GPUs and for the largest grids). Where
// float32's range is too narrow the pair is solved through logarithms, in double.
#include <algorithm>

#include "device.h"
#include "fragments.cuh"
#include "launch.h"
#include "match/marginal_weight.h"
#include "pair_work.h"
#include "sinkhorn.cuh"
#include "sinkhorn_block.cuh"

namespace diml::cuda {
namespace {

__device__ inline float to_float(float value) { return value; }
__device__ inline float to_float(__half value) { return __half2float(value); }
__device__ inline float to_float(__nv_bfloat16 value) { return __bfloat162float(value); }

template <class Cell>
__device__ void stage_cells(const Cell* cells, int count, int pad, int dim, int first, float* to) {
  for (int k = static_cast<int>(threadIdx.x); k < pad * kChunk; k += static_cast<int>(blockDim.x)) {
    const int cell = k / kChunk;
    const int d = first + k % kChunk;
    to[k % kChunk * (pad + 1) + cell] =
        cell < count && d < dim ? to_float(cells[static_cast<std::size_t>(cell) * dim + d]) : 0.0f;
  }
}

// S into block.kernel.
template <class Cell>
__device__ void similarities(const Cell* source, const Cell* target, int dim, const Block& block) {
  const Layout& layout = block.layout;
  const int tile_columns = layout.column_pad / kTile;
  const int tiles = layout.row_pad / kTile * tile_columns;
  const int at_once = static_cast<int>(blockDim.x) / layout.slices;
  const int slice = static_cast<int>(threadIdx.x) % layout.slices;
  float* sources = block.stage;
  float* targets = block.stage + kChunk * (layout.row_pad + 1);
  for (int first_tile = 0; first_tile < tiles; first_tile += at_once) {
    const int tile = first_tile + static_cast<int>(threadIdx.x) / layout.slices;
    const bool inside = tile < tiles;
    const int row = inside ? tile / tile_columns * kTile : 0;
    const int column = inside ? tile % tile_columns * kTile : 0;
    float sums[kTile][kTile] = {};
    for (int first = 0; first < dim; first += kChunk) {
      __syncthreads();
      stage_cells(source, layout.rows, layout.row_pad, dim, first, sources);
      stage_cells(target, layout.columns, layout.column_pad, dim, first, targets);
      __syncthreads();
      for (int d = slice; d < kChunk; d += layout.slices) {
        const float* left = sources + d * (layout.row_pad + 1) + row;
        const float* right = targets + d * (layout.column_pad + 1) + column;
#pragma unroll
        for (int i = 0; i < kTile; ++i) {
#pragma unroll
          for (int j = 0; j < kTile; ++j) sums[i][j] = fmaf(left[i], right[j], sums[i][j]);
        }
      }
    }
    for (int other = 1; other < layout.slices; other *= 2) {
#pragma unroll
      for (int k = 0; k < kTile * kTile; ++k) {
        sums[k / kTile][k % kTile] +=
            __shfl_xor_sync(kWholeWarp, sums[k / kTile][k % kTile], other);
      }
    }
    if (inside && slice == 0) {
      for (int i = 0; i < kTile && row + i < layout.rows; ++i) {
        for (int j = 0; j < kTile && column + j < layout.columns; ++j) {
          block.kernel[(row + i) * layout.stride + column + j] = sums[i][j];
        }
      }
    }
  }
}

// Weights that sum to 1. True where nothing correlates and all weights are equal.
template <class Cell>
__device__ bool weigh(const Cell* cells, const float* global, int count, int dim, MarginalRule rule,
                      float* weights) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warps = static_cast<int>(blockDim.x) / 32;
  const int looked_at = uses_correlation(rule) ? dim : 0;
  float total = 0.0f;
  for (int cell = static_cast<int>(threadIdx.x) / 32; cell < count; cell += warps) {
    float sum = 0.0f;
    for (int d = lane; d < looked_at; d += 32) {
      sum = fmaf(global[d], to_float(cells[static_cast<std::size_t>(cell) * dim + d]), sum);
    }
    sum = marginal_weight(rule, warp_sum(sum));
    if (lane == 0) {
      weights[cell] = sum;
      total += sum;
    }
  }
  total = block_sum(total);
  const bool uniform = !(total > kNoCorrelationSum);
  for (int cell = static_cast<int>(threadIdx.x); cell < count;
       cell += static_cast<int>(blockDim.x)) {
    weights[cell] = uniform ? 1.0f / static_cast<float>(count) : weights[cell] / total;
  }
  __syncthreads();
  return uniform;
}

template <class Cell>
__global__ void __launch_bounds__(kMostThreads)
    match_any(const __grid_constant__ PairWork work, Layout layout, float* kernels) {
  extern __shared__ __align__(16) float memory[];
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  const int dim = static_cast<int>(work.sources.dim);
  Block block;
  block.layout = layout;
  block.stage = memory;
  block.source_marginal = memory + layout.scratch_floats();
  block.a = block.source_marginal + layout.row_pad;
  block.target_marginal = block.a + layout.row_pad;
  block.b = block.target_marginal + layout.column_pad;
  block.before = block.b + layout.column_pad;
  block.earlier = block.before + layout.column_pad;
  block.kernel = layout.kernel_in_shared ? block.earlier + layout.column_pad
                                         : kernels + blockIdx.x * layout.kernel_floats();
  const int entries = layout.rows * layout.columns;
  const auto at = [&](int k) -> float& {
    return block.kernel[k / layout.columns * layout.stride + k % layout.columns];
  };

  for (std::size_t k = blockIdx.x; k < work.count; k += gridDim.x) {
    const Pair pair = work.pair(k);
    const Cell* source = static_cast<const Cell*>(work.sources.cells) +
                         static_cast<std::size_t>(pair.source) * layout.rows * dim;
    const Cell* target = static_cast<const Cell*>(work.targets.cells) +
                         static_cast<std::size_t>(pair.target) * layout.columns * dim;
    similarities(source, target, dim, block);
    const bool uniform_source = weigh(source, work.targets.globals + pair.target * dim, layout.rows,
                                      dim, work.marginals, block.source_marginal);
    const bool uniform_target = weigh(target, work.sources.globals + pair.source * dim,
                                      layout.columns, dim, work.marginals, block.target_marginal);
    float largest = -FLT_MAX;
    float smallest = FLT_MAX;
    for (int e = thread; e < entries; e += threads) {
      largest = fmaxf(largest, at(e));
      smallest = fminf(smallest, at(e));
    }
    largest = block_max(largest);
    smallest = -block_max(-smallest);
    const bool log_domain = !(largest - smallest <= kWidestRange * work.lambda);

    End end;
    float score = 0.0f;
    if (log_domain) {
      end = iterate_logarithms(block, work.lambda, work.tolerance, work.max_iterations, &score);
    } else {
      const float middle = 0.5f * (largest + smallest);
      for (int e = thread; e < entries; e += threads) at(e) = expf((at(e) - middle) / work.lambda);
      __syncthreads();
      end = iterate(block, work.tolerance, work.max_iterations);
      for (int e = thread; e < entries; e += threads) {
        const float kernel = at(e);
        const float mass = block.a[e / layout.columns] * kernel * block.b[e % layout.columns];
        score = fmaf(mass, fmaf(work.lambda, logf(kernel), middle), score);
        at(e) = mass;
      }
      score = block_sum(score);
    }
    if (work.outputs.plans) {
      for (int e = thread; e < entries; e += threads) work.outputs.plans[k * entries + e] = at(e);
    }
    if (thread == 0) {
      if (work.outputs.scores) work.outputs.scores[k] = score;
      if (work.outputs.reports) {
        work.outputs.reports[k] = {end.iterations, end.error,      end.error < work.tolerance,
                                   uniform_source, uniform_target, log_domain};
      }
    }
    __syncthreads();
  }
}

int round_up(int value, int to) { return (value + to - 1) / to * to; }

template <class Cell>
void launch(const PairWork& work, cudaStream_t stream) {
  Layout layout{};
  layout.rows = static_cast<int>(work.sources.cells_per_grid);
  layout.columns = static_cast<int>(work.targets.cells_per_grid);
  layout.row_pad = round_up(layout.rows, kTile);
  layout.column_pad = round_up(layout.columns, kTile);
  layout.stride = layout.columns | 1;
  const int tiles = layout.row_pad / kTile * (layout.column_pad / kTile);
  const int threads = tiles <= 16 ? 64 : tiles <= 64 ? 128 : kMostThreads;
  layout.slices = 1;
  while (layout.slices < 16 && tiles * layout.slices * 2 <= threads) layout.slices *= 2;
  layout.kernel_in_shared = true;
  constexpr std::size_t kReserved = 1024;  // of static shared memory
  if (layout.shared_floats() * sizeof(float) + kReserved > most_shared_memory()) {
    layout.kernel_in_shared = false;
  }
  const std::size_t shared = layout.shared_floats() * sizeof(float);
  const unsigned blocks = blocks_for(match_any<Cell>, threads, shared, work.count);
  float* kernels = nullptr;
  if (!layout.kernel_in_shared) {
    check(cudaMallocAsync(&kernels, blocks * layout.kernel_floats() * sizeof(float), stream),
          "give memory");
  }
  match_any<Cell><<<blocks, threads, shared, stream>>>(work, layout, kernels);
  check(cudaGetLastError(), "start a kernel");
  if (kernels) check(cudaFreeAsync(kernels, stream), "free memory");
}

}  // namespace

void launch_match_any(const PairWork& work, cudaStream_t stream) {
  with_cell(work.sources.type, [&](auto cell) { launch<decltype(cell)>(work, stream); });
}

}  // namespace diml::cuda
