// Any shape up to kMostCells x kMostDimensions, any lambda: a block of threads a pair.
//
// Similarities are float32 products of 4 x 4 tiles, the kernel matrix lives in shared memory (in
// the card's own where a block has too little, on older cards and the largest grids). Where
// float32's range is too narrow the pair is solved through logarithms, in double.
#include <algorithm>

#include "device.h"
#include "fragments.cuh"
#include "launch.h"
#include "pair_work.h"
#include "sinkhorn.cuh"

namespace diml::cuda {
namespace {

constexpr int kMostThreads = 256;
constexpr int kMostWarps = kMostThreads / 32;
constexpr int kTile = 4;
constexpr int kChunk = 32;  // dimensions in shared memory at a time

__device__ inline float to_float(float value) { return value; }
__device__ inline float to_float(__half value) { return __half2float(value); }
__device__ inline float to_float(__nv_bfloat16 value) { return __bfloat162float(value); }

// How a block's shared memory is cut.
struct Layout {
  int rows;        // R_s
  int columns;     // R_t
  int row_pad;     // rounded up to tiles
  int column_pad;  // rounded up to tiles
  int stride;      // of the kernel matrix: odd, so that columns do not meet in one bank
  int slices;      // lanes that share a tile, each with its dimensions
  bool kernel_in_shared;

  __host__ __device__ std::size_t kernel_floats() const {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(stride);
  }
  __host__ __device__ std::size_t vector_floats() const {
    return 2 * static_cast<std::size_t>(row_pad) + 4 * static_cast<std::size_t>(column_pad);
  }
  __host__ __device__ std::size_t stage_floats() const {
    return static_cast<std::size_t>(kChunk) * static_cast<std::size_t>(row_pad + column_pad + 2);
  }
  // Potentials in double take the place of the stage, which is not needed any more.
  __host__ __device__ std::size_t scratch_floats() const {
    const std::size_t potentials = 2 * static_cast<std::size_t>(row_pad + column_pad);
    return stage_floats() > potentials ? stage_floats() : potentials;
  }
  __host__ __device__ std::size_t shared_floats() const {
    return scratch_floats() + vector_floats() + (kernel_in_shared ? kernel_floats() : 0);
  }
};

struct Block {
  Layout layout;
  float* stage;  // [kChunk, row_pad + 1] and [kChunk, column_pad + 1], cells along the rows
  float* source_marginal;
  float* a;
  float* target_marginal;
  float* b;
  float* before;  // b one and two iterations ago
  float* earlier;
  float* kernel;  // [rows, stride]: S first, then K
};

__device__ inline float block_reduce(float value, bool largest) {
  __shared__ float partial[kMostWarps];
  for (int lane = 16; lane > 0; lane /= 2) {
    const float other = __shfl_xor_sync(kWholeWarp, value, lane);
    value = largest ? fmaxf(value, other) : value + other;
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  float result = partial[0];
  for (unsigned warp = 1; warp < blockDim.x / 32; ++warp) {
    result = largest ? fmaxf(result, partial[warp]) : result + partial[warp];
  }
  return result;
}
__device__ inline float block_sum(float value) { return block_reduce(value, false); }
__device__ inline float block_max(float value) { return block_reduce(value, true); }

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

// weights = max(0, <global, cell>) / sum. True where nothing correlates and all weigh the same.
template <class Cell>
__device__ bool weigh(const Cell* cells, const float* global, int count, int dim, bool correlate,
                      float* weights) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warps = static_cast<int>(blockDim.x) / 32;
  float total = 0.0f;
  for (int cell = static_cast<int>(threadIdx.x) / 32; cell < count && correlate; cell += warps) {
    float sum = 0.0f;
    for (int d = lane; d < dim; d += 32) {
      sum = fmaf(global[d], to_float(cells[static_cast<std::size_t>(cell) * dim + d]), sum);
    }
    sum = fmaxf(warp_sum(sum), 0.0f);
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
  return uniform && correlate;
}

struct End {
  int iterations;
  float error;
};

// Sinkhorn with prolonged steps, K in block.kernel.
__device__ End iterate(const Block& block, float tolerance, int max_iterations) {
  const Layout& layout = block.layout;
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  const int lane = thread % 32;
  float* b = block.b;
  float* before = block.before;
  float* earlier = block.earlier;
  for (int j = thread; j < layout.columns; j += threads) b[j] = before[j] = 1.0f;
  for (int i = thread; i < layout.rows; i += threads) block.a[i] = 0.0f;
  __syncthreads();
  for (int iteration = 0;; ++iteration) {
    const bool last = iteration >= max_iterations;
    float error = 0.0f;
    for (int i = thread / 32; i < layout.rows; i += threads / 32) {
      const float* row = block.kernel + i * layout.stride;
      float sum = 0.0f;
      for (int j = lane; j < layout.columns; j += 32) sum = fmaf(row[j], b[j], sum);
      sum = warp_sum(sum);
      if (lane == 0) {
        error += fabsf(fmaf(block.a[i], sum, -block.source_marginal[i]));
        // Kept beside a until it is known whether the old a will do.
        block.stage[i] = scaling(block.source_marginal[i], sum);
      }
    }
    error = block_sum(error);
    if (last || (iteration % kSweep != 0 && error < tolerance)) {
      for (int j = thread; j < layout.columns; j += threads) block.b[j] = b[j];
      __syncthreads();
      return {iteration, error};
    }
    for (int i = thread; i < layout.rows; i += threads) block.a[i] = block.stage[i];
    __syncthreads();
    const bool prolongs = (iteration + 1) % kSweep == 0 && iteration + 1 < max_iterations;
    float product = 0.0f;
    float square = 0.0f;
    for (int j = thread; j < layout.columns; j += threads) {
      float sum = 0.0f;
      for (int i = 0; i < layout.rows; ++i) {
        sum = fmaf(block.kernel[i * layout.stride + j], block.a[i], sum);
      }
      const float next = scaling(block.target_marginal[j], sum);
      if (prolongs) {
        const float first = log_step(b[j], before[j]);
        const float second = log_step(next, b[j]);
        product = fmaf(block.target_marginal[j] * first, second, product);
        square = fmaf(block.target_marginal[j] * first, first, square);
      }
      earlier[j] = next;
    }
    if (prolongs) {
      product = block_sum(product);
      const float reach = prolongation(product, block_sum(square));
      for (int j = thread; j < layout.columns; j += threads) {
        earlier[j] = prolonged(earlier[j], log_step(earlier[j], b[j]), reach);
      }
    }
    float* next = earlier;
    earlier = before;
    before = b;
    b = next;
    __syncthreads();
  }
}

// The reference's own iteration: logarithms in double, no prolongation. S in block.kernel; leaves
// the plan's mass there, and returns the score with the end.
__device__ End iterate_logarithms(const Block& block, double lambda, double tolerance,
                                  int max_iterations, float* score) {
  const Layout& layout = block.layout;
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  double* f = reinterpret_cast<double*>(block.stage);
  double* g = f + layout.row_pad;
  const double scale = 1.0 / lambda;
  const auto potential = [&](int count, float marginal, auto term) {
    double largest = -INFINITY;
    for (int k = 0; k < count; ++k) largest = fmax(largest, term(k));
    if (largest == -INFINITY || marginal <= 0.0f) return static_cast<double>(-INFINITY);
    double sum = 0.0;
    for (int k = 0; k < count; ++k) sum += exp(term(k) - largest);
    return log(static_cast<double>(marginal)) - (largest + log(sum));
  };
  __syncthreads();
  for (int j = thread; j < layout.columns; j += threads) g[j] = 0.0;
  End end{0, 0.0f};
  bool converged = false;
  while (end.iterations < max_iterations && !converged) {
    __syncthreads();
    for (int i = thread; i < layout.rows; i += threads) {
      const float* row = block.kernel + i * layout.stride;
      f[i] = potential(layout.columns, block.source_marginal[i],
                       [&](int j) { return g[j] + row[j] * scale; });
    }
    __syncthreads();
    for (int j = thread; j < layout.columns; j += threads) {
      const float* column = block.kernel + j;
      g[j] = potential(layout.rows, block.target_marginal[j],
                       [&](int i) { return f[i] + column[i * layout.stride] * scale; });
    }
    __syncthreads();
    ++end.iterations;
    float error = 0.0f;
    for (int i = thread; i < layout.rows; i += threads) {
      double sum = 0.0;
      for (int j = 0; j < layout.columns; ++j) {
        sum += exp(f[i] + g[j] + block.kernel[i * layout.stride + j] * scale);
      }
      error += static_cast<float>(fabs(sum - block.source_marginal[i]));
    }
    end.error = block_sum(error);
    converged = end.error < tolerance;
  }
  float sum = 0.0f;
  for (int k = thread; k < layout.rows * layout.columns; k += threads) {
    const int i = k / layout.columns;
    const int j = k % layout.columns;
    float& entry = block.kernel[i * layout.stride + j];
    const float s = entry;
    entry = static_cast<float>(exp(f[i] + g[j] + s * scale));
    sum = fmaf(entry, s, sum);
  }
  *score = block_sum(sum);
  return end;
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
                                      dim, work.cross_correlation, block.source_marginal);
    const bool uniform_target =
        weigh(target, work.sources.globals + pair.source * dim, layout.columns, dim,
              work.cross_correlation, block.target_marginal);
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
  if (kernels) check(cudaFreeAsync(kernels, stream), "take memory back");
}

}  // namespace

void launch_match_any(const PairWork& work, cudaStream_t stream) {
  switch (work.sources.type) {
    case CellType::float16:
      return launch<__half>(work, stream);
    case CellType::bfloat16:
      return launch<__nv_bfloat16>(work, stream);
    default:
      return launch<float>(work, stream);
  }
}

}  // namespace diml::cuda
