// 7 x 7 cells of 128 dimensions, the backbone's own grid.
//
// Two warps work on one pair. The tensor cores compute the similarities as 64 x 56, into shared
// memory; then thread i holds row i and column i of K in registers, and both halves of an
// iteration are dot products with a vector that all threads read from shared memory.
#include "device.h"
#include "fragments.cuh"
#include "launch.h"
#include "match/marginal_weight.h"
#include "pair_work.h"
#include "sinkhorn.cuh"

namespace diml::cuda {
namespace {

constexpr int kCells = 49;
constexpr int kPadded = 52;  // whole float4s
constexpr int kDim = 128;
constexpr int kChunks = kDim / 32;
constexpr int kThreads = 64;
constexpr int kColumnBlocks = 7;  // of 8

// The globals are further cells, in the padding: row 49 and up are the source's, column 49 and up
// the target's. 16-bit cells need a cell for each part of a global; float32 ones have their
// own two planes.
template <class Cell>
constexpr int kGlobalCells = CellTraits<Cell>::kPlanes == 2 ? 1 : CellTraits<Cell>::kGlobalParts;

template <class Cell>
struct Shared {
  float similarity[kCells * kCells];  // an odd stride: no bank conflicts in rows or columns
  float source_weight[kGlobalCells<Cell>][kCells];  // to be summed
  float target_weight[kGlobalCells<Cell>][kCells];
  alignas(16) float a[kPadded];
  alignas(16) float b[kPadded];
  float sums[3][2];  // of the two warps
  GlobalParts<Cell, kDim> source_global;
  GlobalParts<Cell, kDim> target_global;
};

// Octet t of a chunk of a cell, of the global after the last cell, or nothing.
template <class Cell>
__device__ Octet<CellTraits<Cell>::kPlanes> load_cell(const Cell* cells,
                                                      const GlobalParts<Cell, kDim>& global,
                                                      int cell, int chunk, int t) {
  if (cell < kCells) return load_octet(cells + cell * kDim + chunk * 32, t);
  Octet<CellTraits<Cell>::kPlanes> octet = {};
  if (cell < kCells + kGlobalCells<Cell>) {
#pragma unroll
    for (int plane = 0; plane < CellTraits<Cell>::kPlanes; ++plane) {
      const Octet<1> part = global.octet(chunk, t, cell - kCells + plane);
#pragma unroll
      for (int k = 0; k < 4; ++k) octet.plane[plane][k] = part.plane[0][k];
    }
  }
  return octet;
}

template <class Cell>
__device__ void correlate(const PairWork& work, const Pair& pair, Shared<Cell>& shared) {
  using Traits = CellTraits<Cell>;
  using Part = typename Traits::Part;
  using Operand = Octet<Traits::kPlanes>;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int row = lane / 4;
  const int t = lane % 4;
  const Cell* sources =
      static_cast<const Cell*>(work.sources.cells) + pair.source * (kCells * kDim);
  const Cell* targets =
      static_cast<const Cell*>(work.targets.cells) + pair.target * (kCells * kDim);
  const DeviceGrids& side = warp == 0 ? work.sources : work.targets;
  const std::int64_t index = warp == 0 ? pair.source : pair.target;
  (warp == 0 ? shared.source_global : shared.target_global)
      .store(__ldg(reinterpret_cast<const float4*>(side.globals + index * kDim) + lane), lane);
  __syncthreads();
  float sums[2][kColumnBlocks][4] = {};
#pragma unroll
  for (int c = 0; c < kChunks; ++c) {
    Operand upper[2];
    Operand lower[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int cell = warp * 32 + half * 16 + row;
      upper[half] = load_cell(sources, shared.source_global, cell, c, t);
      lower[half] = load_cell(sources, shared.source_global, cell + 8, c, t);
    }
#pragma unroll
    for (int block = 0; block < kColumnBlocks; ++block) {
      const Operand right = load_cell(targets, shared.target_global, block * 8 + row, c, t);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        multiply_planes<Part>(sums[half][block], upper[half], lower[half], right);
      }
    }
  }

#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int block = 0; block < kColumnBlocks; ++block) {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int i = warp * 32 + half * 16 + row + k / 2 * 8;
        const int j = block * 8 + t * 2 + k % 2;
        const float sum = sums[half][block][k];
        if (i < kCells && j < kCells) shared.similarity[i * kCells + j] = sum;
        if (i < kCells && j >= kCells && j < kCells + kGlobalCells<Cell>) {
          shared.source_weight[j - kCells][i] = sum;
        }
        if (j < kCells && i >= kCells && i < kCells + kGlobalCells<Cell>) {
          shared.target_weight[i - kCells][j] = sum;
        }
      }
    }
  }
}

// The sum over both warps, for every thread. Sums that overlap in time use different slots.
template <class Cell>
__device__ inline float block_sum(float value, int slot, Shared<Cell>& shared) {
  value = warp_sum(value);
  if (threadIdx.x % 32 == 0) shared.sums[slot][threadIdx.x / 32] = value;
  __syncthreads();
  return shared.sums[slot][0] + shared.sums[slot][1];
}

template <class Cell>
__device__ inline bool normalise(MarginalRule rule, float& weight, bool inside, int slot,
                                 Shared<Cell>& shared) {
  weight = inside ? marginal_weight(rule, weight) : 0.0f;
  const float sum = block_sum(weight, slot, shared);
  const bool uniform = !(sum > kNoCorrelationSum);
  weight = !inside ? 0.0f : uniform ? 1.0f / kCells : weight / sum;
  return uniform;
}

// <values, vector>, the vector in shared memory, zero after its end.
__device__ inline float dot(const float (&values)[kCells], const float (&vector)[kPadded]) {
  float sums[4] = {};
#pragma unroll
  for (int k = 0; k < kPadded; k += 4) {
    const float4 four = *reinterpret_cast<const float4*>(&vector[k]);
    sums[0] = fmaf(values[k], four.x, sums[0]);
    if (k + 1 < kCells) sums[1] = fmaf(values[k + 1], four.y, sums[1]);
    if (k + 2 < kCells) sums[2] = fmaf(values[k + 2], four.z, sums[2]);
    if (k + 3 < kCells) sums[3] = fmaf(values[k + 3], four.w, sums[3]);
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

template <class Cell>
__global__ void __launch_bounds__(kThreads, 6) match_49(const __grid_constant__ PairWork work) {
  __shared__ Shared<Cell> shared;
  const int cell = static_cast<int>(threadIdx.x);
  const bool inside = cell < kCells;
  const int clamped = inside ? cell : kCells - 1;
  const float exponent = 1.44269504f / work.lambda;

  for (std::size_t k = blockIdx.x; k < work.count; k += gridDim.x) {
    correlate<Cell>(work, work.pair(k), shared);
    if (cell < kPadded) shared.b[cell] = inside ? 1.0f : 0.0f;
    if (cell < kPadded) shared.a[cell] = 0.0f;
    __syncthreads();

    float row[kCells];
    float column[kCells];
#pragma unroll
    for (int j = 0; j < kCells; ++j) {
      row[j] = exp2_in_range(shared.similarity[clamped * kCells + j] * exponent);
      column[j] = exp2_in_range(shared.similarity[j * kCells + clamped] * exponent);
    }
    float source_marginal = 0.0f;
    float target_marginal = 0.0f;
    for (int part = 0; part < kGlobalCells<Cell>; ++part) {
      source_marginal += shared.source_weight[part][clamped];
      target_marginal += shared.target_weight[part][clamped];
    }
    // Prefetches the next target into the cache meanwhile.
    if (k + gridDim.x < work.count) {
      const char* next = static_cast<const char*>(work.targets.cells) +
                         work.pair(k + gridDim.x).target * (kCells * kDim * sizeof(Cell));
      for (std::size_t at = threadIdx.x * 128; at < kCells * kDim * sizeof(Cell);
           at += kThreads * 128) {
        asm volatile("prefetch.global.L2 [%0];" ::"l"(next + at));
      }
    }
    const bool uniform_source = normalise(work.marginals, source_marginal, inside, 0, shared);
    const bool uniform_target = normalise(work.marginals, target_marginal, inside, 1, shared);

    float a = 0.0f;
    float b = 1.0f;
    float earlier = 1.0f;
    float error = 0.0f;
    int iteration = 0;
    for (;; ++iteration) {
      const float sum = dot(row, shared.b);
      const float next_a = scaling(source_marginal, sum);
      if (inside) shared.a[cell] = next_a;
      // One barrier for both: the new a, and whether the old a has converged.
      error = block_sum(fabsf(fmaf(a, sum, -source_marginal)), 0, shared);
      const bool last = iteration >= work.max_iterations;
      if (last || (iteration % kSweep != 0 && error < work.tolerance)) break;
      a = next_a;
      float next_b = scaling(target_marginal, dot(column, shared.a));
      if ((iteration + 1) % kSweep == 0 && iteration + 1 < work.max_iterations) {
        const float before = log_step(b, earlier);
        const float step = log_step(next_b, b);
        const float weighted = target_marginal * before;
        const float product = block_sum(weighted * step, 1, shared);
        const float square = block_sum(weighted * before, 2, shared);
        next_b = prolonged(next_b, step, prolongation(product, square));
      }
      earlier = b;
      b = next_b;
      if (inside) shared.b[cell] = b;
      __syncthreads();
    }

    float score = 0.0f;
    if (inside) {
#pragma unroll
      for (int j = 0; j < kCells; ++j) {
        const float mass = row[j] * shared.b[j];
        score = fmaf(mass, shared.similarity[cell * kCells + j], score);
        if (work.outputs.plans) {
          work.outputs.plans[k * (kCells * kCells) + cell * kCells + j] = a * mass;
        }
      }
    }
    score = block_sum(a * score, 2, shared);
    if (cell == 0) {
      if (work.outputs.scores) work.outputs.scores[k] = score;
      if (work.outputs.reports) {
        work.outputs.reports[k] = {iteration,      error,          error < work.tolerance,
                                   uniform_source, uniform_target, false};
      }
    }
    __syncthreads();
  }
}

template <class Cell>
void launch(const PairWork& work, cudaStream_t stream) {
  const unsigned blocks = blocks_for(match_49<Cell>, kThreads, 0, work.count);
  match_49<Cell><<<blocks, kThreads, 0, stream>>>(work);
  check(cudaGetLastError(), "start a kernel");
}

}  // namespace

bool suits_match_49(const PairWork& work) { return suits_tensor_cores(work, kCells, kDim); }

void launch_match_49(const PairWork& work, cudaStream_t stream) {
  with_cell(work.sources.type, [&](auto cell) { launch<decltype(cell)>(work, stream); });
}

}  // namespace diml::cuda
