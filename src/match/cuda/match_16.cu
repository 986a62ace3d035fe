// 4 x 4 cells of 128 dimensions, the paper's grid.
//
// A warp processes eight pairs. It computes their similarities one pair after the other on the
// tensor cores, and transposes them through shared memory: from then on four lanes work on each
// pair, each with four rows of K in registers. K b needs no other lane; K^T a is a sum over the
// four lanes. Only the grids and the results are in the GPU's global memory.
#include "device.h"
#include "fragments.cuh"
#include "launch.h"
#include "match/marginal_weight.h"
#include "pair_work.h"
#include "sinkhorn.cuh"

namespace diml::cuda {
namespace {

constexpr int kCells = 16;
constexpr int kDim = 128;
constexpr int kChunks = kDim / 32;  // four lanes x eight dimensions each
constexpr int kPairs = 8;           // a warp
constexpr int kWarps = 4;           // a block
constexpr int kRows = 4;            // of K in a lane

// One warp's shared memory.
template <class Cell>
struct Turn {
  float similarity[kPairs * kCells * kCells];
  float source_weight[kPairs][kCells];
  float target_weight[CellTraits<Cell>::kGlobalParts][kPairs][kCells];  // to be summed
  GlobalParts<Cell, kDim> source_global;
  GlobalParts<Cell, kDim> target_global;

  // The order of rows depends on the pair, so that neither writing by rows nor reading by pairs has
  // bank conflicts.
  static __device__ int at(int pair, int row, int column) {
    return (pair * 4 + row / 4) * 64 + ((row & 3) ^ (pair & 1)) * 16 + column;
  }
};

__device__ inline float4 load_global(const float* globals, std::int64_t index, int lane) {
  return __ldg(reinterpret_cast<const float4*>(globals + index * kDim) + lane);
}

// A lane's operands from the source: rows lane / 4 and lane / 4 + 8.
template <class Cell>
struct Source {
  Octet<CellTraits<Cell>::kPlanes> upper[kChunks];
  Octet<CellTraits<Cell>::kPlanes> lower[kChunks];

  __device__ void load(const PairWork& work, std::int64_t index, int lane) {
    const Cell* cells =
        static_cast<const Cell*>(work.sources.cells) + index * (kCells * kDim) + lane / 4 * kDim;
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      upper[c] = load_octet(cells + c * 32, lane % 4);
      lower[c] = load_octet(cells + 8 * kDim + c * 32, lane % 4);
    }
  }
};

// Similarities and correlations of pair number `slot` of the warp, into shared memory.
template <class Cell>
__device__ void correlate(const PairWork& work, const Source<Cell>& source, std::int64_t target,
                          int slot, int lane, Turn<Cell>& turn) {
  using Traits = CellTraits<Cell>;
  using Part = typename Traits::Part;
  const int row = lane / 4;
  const int t = lane % 4;
  const Cell* cells =
      static_cast<const Cell*>(work.targets.cells) + target * (kCells * kDim) + row * kDim;
  float similarity[2][4] = {};     // columns 0-7 and 8-15
  float source_weight[4] = {};     // columns: parts of the target's global
  float target_weight[2][4] = {};  // rows: parts of the source's global
  const Octet<1> nothing = {};
#pragma unroll
  for (int c = 0; c < kChunks; ++c) {
    const Octet<1> source_global = turn.source_global.octet(c, t, row);
    const Octet<1> target_global = turn.target_global.octet(c, t, row);
    multiply_planes<Part>(source_weight, source.upper[c], source.lower[c], target_global);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const Octet<Traits::kPlanes> right = load_octet(cells + half * 8 * kDim + c * 32, t);
      multiply_planes<Part>(similarity[half], source.upper[c], source.lower[c], right);
      multiply_planes<Part>(target_weight[half], source_global, nothing, right);
    }
  }

  const int column = t * 2;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int lower = 0; lower < 2; ++lower) {
      *reinterpret_cast<float2*>(
          &turn.similarity[turn.at(slot, row + 8 * lower, column + 8 * half)]) =
          make_float2(similarity[half][2 * lower], similarity[half][2 * lower + 1]);
    }
  }
  float upper = source_weight[0] + source_weight[1];
  float lower = source_weight[2] + source_weight[3];
  if (Traits::kGlobalParts > 2) {
    upper += __shfl_xor_sync(kWholeWarp, upper, 1);
    lower += __shfl_xor_sync(kWholeWarp, lower, 1);
  }
  if (t == 0) {
    turn.source_weight[slot][row] = upper;
    turn.source_weight[slot][row + 8] = lower;
  }
  if (row < Traits::kGlobalParts) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      *reinterpret_cast<float2*>(&turn.target_weight[row][slot][column + 8 * half]) =
          make_float2(target_weight[half][0], target_weight[half][1]);
    }
  }
}

__device__ inline float quad_sum(float value) {
  value += __shfl_xor_sync(kWholeWarp, value, 1);
  return value + __shfl_xor_sync(kWholeWarp, value, 2);
}

// Correlations become weights that sum to 1 over the pair's four lanes; uniform ones (and true)
// where nothing correlates.
__device__ inline bool normalise(MarginalRule rule, float (&weights)[kRows]) {
  float sum = 0.0f;
#pragma unroll
  for (float& weight : weights) {
    weight = marginal_weight(rule, weight);
    sum += weight;
  }
  sum = quad_sum(sum);
  const bool uniform = !(sum > kNoCorrelationSum);
#pragma unroll
  for (float& weight : weights) weight = uniform ? 1.0f / kCells : weight / sum;
  return uniform;
}

// Sums sixteen columns over the four lanes: each lane gets the sums of its own four columns. Column
// c of lane r is column c ^ 4 r of the pair, so that sent and kept values have fixed registers.
__device__ inline void reduce_columns(float (&sums)[kCells]) {
#pragma unroll
  for (int c = 0; c < 8; ++c) sums[c] += __shfl_xor_sync(kWholeWarp, sums[c + 8], 2);
#pragma unroll
  for (int c = 0; c < 4; ++c) sums[c] += __shfl_xor_sync(kWholeWarp, sums[c + 4], 1);
}

// The inverse: every lane gets all sixteen.
__device__ inline void spread_columns(float (&values)[kCells]) {
#pragma unroll
  for (int c = 0; c < 4; ++c) values[c + 4] = __shfl_xor_sync(kWholeWarp, values[c], 1);
#pragma unroll
  for (int c = 0; c < 8; ++c) values[c + 8] = __shfl_xor_sync(kWholeWarp, values[c], 2);
}

// A pair's share of a lane: rows 4 r to 4 r + 3, and columns 4 r to 4 r + 3 of the marginal.
struct Share {
  float kernel[kRows][kCells];
  float source_marginal[kRows];
  float target_marginal[kRows];
  float a[kRows];
  float b[kCells];
};

struct End {
  int iterations;
  float error;
};

// Sinkhorn with prolonged steps, all eight pairs in lockstep; a finished pair does not change.
__device__ End iterate(Share& share, bool active, float tolerance, int max_iterations) {
  float earlier[kRows];  // own columns of b, one iteration ago
  End end{0, 0.0f};
#pragma unroll
  for (float& b : share.b) b = 1.0f;
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    share.a[i] = 0.0f;
    earlier[i] = 1.0f;
  }
  for (int iteration = 0;; ++iteration) {
    float sums[kRows];
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      sums[i] = 0.0f;
#pragma unroll
      for (int c = 0; c < kCells; ++c) sums[i] = fmaf(share.kernel[i][c], share.b[c], sums[i]);
    }
    // After b was prolonged, a is older than b: their marginal error is meaningless.
    const bool last = iteration >= max_iterations;
    if (last || iteration % kSweep != 0) {
      float error = 0.0f;
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        error += fabsf(fmaf(share.a[i], sums[i], -share.source_marginal[i]));
      }
      error = quad_sum(error);
      if (active && (last || error < tolerance)) {
        active = false;
        end = {iteration, error};
      }
      if (!__any_sync(kWholeWarp, active)) return end;
    }
    float columns[kCells];
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      if (active) share.a[i] = scaling(share.source_marginal[i], sums[i]);
    }
#pragma unroll
    for (int c = 0; c < kCells; ++c) {
      columns[c] = share.kernel[0][c] * share.a[0];
#pragma unroll
      for (int i = 1; i < kRows; ++i) columns[c] = fmaf(share.kernel[i][c], share.a[i], columns[c]);
    }
    reduce_columns(columns);
    float next[kRows];
#pragma unroll
    for (int i = 0; i < kRows; ++i) next[i] = scaling(share.target_marginal[i], columns[i]);
    if ((iteration + 1) % kSweep == 0 && iteration + 1 < max_iterations) {
      float step[kRows];
      float product = 0.0f;
      float square = 0.0f;
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const float before = log_step(share.b[i], earlier[i]);
        step[i] = log_step(next[i], share.b[i]);
        product = fmaf(share.target_marginal[i] * before, step[i], product);
        square = fmaf(share.target_marginal[i] * before, before, square);
      }
      const float reach = prolongation(quad_sum(product), quad_sum(square));
#pragma unroll
      for (int i = 0; i < kRows; ++i) next[i] = prolonged(next[i], step[i], reach);
    }
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      earlier[i] = share.b[i];
      if (active) share.b[i] = next[i];
    }
    spread_columns(share.b);
  }
}

template <class Cell>
__global__ void __launch_bounds__(kWarps * 32, 3) match_16(const __grid_constant__ PairWork work) {
  extern __shared__ __align__(16) unsigned char memory[];
  auto* turns = reinterpret_cast<Turn<Cell>*>(memory);
  using Traits = CellTraits<Cell>;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  Turn<Cell>& turn = turns[threadIdx.x / 32];
  const std::size_t warps = static_cast<std::size_t>(gridDim.x) * kWarps;
  const std::size_t groups = (work.count + kPairs - 1) / kPairs;
  const float exponent = 1.44269504f / work.lambda;

  for (std::size_t group = blockIdx.x * kWarps + threadIdx.x / 32; group < groups; group += warps) {
    const std::size_t first = group * kPairs;
    const int live = static_cast<int>(min(static_cast<std::size_t>(kPairs), work.count - first));
    // Lane p holds pair p; the other lanes read it from there.
    const Pair own = work.pair(first + min(lane, live - 1));
    __syncwarp();
    {
      Source<Cell> source;
      std::int64_t loaded = -1;
      float4 next = load_global(work.targets.globals, __shfl_sync(kWholeWarp, own.target, 0), lane);
      for (int slot = 0; slot < live; ++slot) {
        const std::int64_t from = __shfl_sync(kWholeWarp, own.source, slot);
        const std::int64_t to = __shfl_sync(kWholeWarp, own.target, slot);
        if (from != loaded) {
          source.load(work, from, lane);
          turn.source_global.store(load_global(work.sources.globals, from, lane), lane);
          loaded = from;
        }
        turn.target_global.store(next, lane);
        const std::int64_t ahead = __shfl_sync(kWholeWarp, own.target, slot + 1);
        next = load_global(work.targets.globals, ahead, lane);
        __syncwarp();
        correlate(work, source, to, slot, lane, turn);
        __syncwarp();
      }
    }

    const int slot = lane / 4;
    const int quarter = lane % 4;
    Share share;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int block = 0; block < 4; ++block) {
        const float4 s = *reinterpret_cast<const float4*>(
            &turn.similarity[turn.at(slot, quarter * 4 + i, (block ^ quarter) * 4)]);
        share.kernel[i][block * 4 + 0] = exp2_in_range(s.x * exponent);
        share.kernel[i][block * 4 + 1] = exp2_in_range(s.y * exponent);
        share.kernel[i][block * 4 + 2] = exp2_in_range(s.z * exponent);
        share.kernel[i][block * 4 + 3] = exp2_in_range(s.w * exponent);
      }
      share.source_marginal[i] = turn.source_weight[slot][quarter * 4 + i];
      float target = turn.target_weight[0][slot][quarter * 4 + i];
#pragma unroll
      for (int part = 1; part < Traits::kGlobalParts; ++part) {
        target += turn.target_weight[part][slot][quarter * 4 + i];
      }
      share.target_marginal[i] = target;
    }
    const bool uniform_source = normalise(work.marginals, share.source_marginal);
    const bool uniform_target = normalise(work.marginals, share.target_marginal);
    const End end = iterate(share, slot < live, work.tolerance, work.max_iterations);

    float score = 0.0f;
    const std::size_t k = first + slot;
    float* plan = work.outputs.plans ? work.outputs.plans + k * (kCells * kCells) : nullptr;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      float sum = 0.0f;
#pragma unroll
      for (int block = 0; block < 4; ++block) {
        const float4 s = *reinterpret_cast<const float4*>(
            &turn.similarity[turn.at(slot, quarter * 4 + i, (block ^ quarter) * 4)]);
        const float* kernel = &share.kernel[i][block * 4];
        const float* b = &share.b[block * 4];
        const float4 mass =
            make_float4(kernel[0] * b[0], kernel[1] * b[1], kernel[2] * b[2], kernel[3] * b[3]);
        sum += mass.x * s.x + mass.y * s.y + (mass.z * s.z + mass.w * s.w);
        if (plan && slot < live) {
          const float a = share.a[i];
          *reinterpret_cast<float4*>(plan + (quarter * 4 + i) * kCells + (block ^ quarter) * 4) =
              make_float4(a * mass.x, a * mass.y, a * mass.z, a * mass.w);
        }
      }
      score = fmaf(share.a[i], sum, score);
    }
    score = quad_sum(score);
    if (quarter == 0 && slot < live) {
      if (work.outputs.scores) work.outputs.scores[k] = score;
      if (work.outputs.reports) {
        work.outputs.reports[k] = {end.iterations, end.error,      end.error < work.tolerance,
                                   uniform_source, uniform_target, false};
      }
    }
  }
}

template <class Cell>
void launch(const PairWork& work, cudaStream_t stream) {
  constexpr std::size_t kShared = kWarps * sizeof(Turn<Cell>);
  const std::size_t groups = (work.count + kPairs - 1) / kPairs;
  const unsigned blocks =
      blocks_for(match_16<Cell>, kWarps * 32, kShared, (groups + kWarps - 1) / kWarps);
  match_16<Cell><<<blocks, kWarps * 32, kShared, stream>>>(work);
  check(cudaGetLastError(), "start a kernel");
}

}  // namespace

bool suits_match_16(const PairWork& work) { return suits_tensor_cores(work, kCells, kDim); }

void launch_match_16(const PairWork& work, cudaStream_t stream) {
  with_cell(work.sources.type, [&](auto cell) { launch<decltype(cell)>(work, stream); });
}

}  // namespace diml::cuda
