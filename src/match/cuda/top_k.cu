// The nearest of a gallery by inner product; a queries x gallery matrix is never in memory.
//
// A warp has sixteen queries; a block of four warps streams the gallery through shared memory in
// tiles of 64. Products above a query's threshold are added to its list of candidates; a full list
// is sorted and cut to `depth`, and its last entry becomes the threshold. The threshold rises so
// fast that a query sorts about five times.
#include <algorithm>

#include <cuda_pipeline.h>

#include "device.h"
#include "fragments.cuh"
#include "launch.h"
#include "sinkhorn.cuh"
#include "top_k.h"

namespace diml::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kQueries = 16;  // a warp
constexpr int kTile = 64;     // of the gallery
constexpr int kChunk = 64;    // dimensions in a stage
constexpr int kStride = 96;   // of a row in a stage: rows four apart are in different banks
constexpr int kStages = 2;
constexpr std::size_t kStageParts = std::size_t{2} * kTile * kStride;  // high and low

__device__ inline std::uint64_t key_of(float score, std::uint32_t id) {
  const std::uint32_t bits = __float_as_uint(score);
  const std::uint32_t ordered = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return static_cast<std::uint64_t>(ordered) << 32 | (0xffffffffu - id);
}

__global__ void split(const float* vectors, std::size_t count, std::size_t dim, std::size_t padded,
                      std::uint16_t* high, std::uint16_t* low) {
  const std::size_t total = count * padded;
  for (std::size_t k = blockIdx.x * blockDim.x + threadIdx.x; k < total;
       k += static_cast<std::size_t>(gridDim.x) * blockDim.x) {
    const std::size_t d = k % padded;
    const float value = d < dim ? vectors[k / padded * dim + d] : 0.0f;
    const __half upper = __float2half_rn(value);
    high[k] = __half_as_ushort(upper);
    low[k] = __half_as_ushort(__float2half_rn(value - __half2float(upper)));
  }
}

struct Candidates {
  std::uint64_t* list;  // [kQueries, capacity], in global memory
  std::uint64_t* sort;  // [capacity], shared
  int* counts;          // [kQueries], shared
  std::uint64_t* bars;  // [kQueries], shared: thresholds of the lists
  int capacity;         // a power of two
  int depth;

  // Sorts a query's list, best first, and cuts it.
  __device__ void settle(int query, int lane) const {
    std::uint64_t* own = list + static_cast<std::size_t>(query) * capacity;
    const int count = counts[query];
    int size = 32;
    while (size < count) size *= 2;
    for (int k = lane; k < size; k += 32) sort[k] = k < count ? own[k] : 0;
    __syncwarp();
    for (int span = 2; span <= size; span *= 2) {
      for (int step = span / 2; step > 0; step /= 2) {
        for (int k = lane; k < size / 2; k += 32) {
          const int low = k / step * step * 2 + k % step;
          const int high = low + step;
          const bool descends = (low & span) == 0;
          const std::uint64_t x = sort[low];
          const std::uint64_t y = sort[high];
          if ((x < y) == descends) {
            sort[low] = y;
            sort[high] = x;
          }
        }
        __syncwarp();
      }
    }
    const int kept = min(count, depth);
    for (int k = lane; k < kept; k += 32) own[k] = sort[k];
    if (lane == 0) {
      counts[query] = kept;
      if (kept == depth) bars[query] = sort[depth - 1];
    }
    __syncwarp();
  }
};

// Copies dimensions [first, first + kChunk) of a tile of the gallery to shared memory.
__device__ void fetch(const SplitVectors& gallery, std::size_t row, std::size_t first,
                      std::uint16_t* stage) {
  constexpr int kPieces = kChunk / 8;  // of 16 bytes
  for (int k = static_cast<int>(threadIdx.x); k < 2 * kTile * kPieces; k += kWarps * 32) {
    const int plane = k / (kTile * kPieces);
    const int tile_row = k / kPieces % kTile;
    const int piece = k % kPieces;
    const std::size_t from = row + static_cast<std::size_t>(tile_row);
    const std::uint16_t* vectors = plane == 0 ? gallery.high : gallery.low;
    const bool inside = from < gallery.count;
    __pipeline_memcpy_async(stage + (plane * kTile + tile_row) * kStride + piece * 8,
                            vectors + (inside ? from : 0) * gallery.padded + first +
                                static_cast<std::size_t>(piece) * 8,
                            16, inside ? 0 : 16);
  }
  __pipeline_commit();
}

__device__ inline Octet<2> octet_at(const std::uint16_t* high, const std::uint16_t* low) {
  const uint4 h = *reinterpret_cast<const uint4*>(high);
  const uint4 l = *reinterpret_cast<const uint4*>(low);
  return {{{h.x, h.y, h.z, h.w}, {l.x, l.y, l.z, l.w}}};
}

__global__ void __launch_bounds__(kWarps * 32, 3)
    top_k(const __grid_constant__ TopKWork work, int capacity) {
  extern __shared__ __align__(16) unsigned char memory[];
  auto* stages = reinterpret_cast<std::uint16_t*>(memory);
  auto* sorts = reinterpret_cast<std::uint64_t*>(stages + kStages * kStageParts);
  __shared__ int counts[kWarps * kQueries];
  __shared__ std::uint64_t bars[kWarps * kQueries];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int row = lane / 4;
  const int first_dim = lane % 4 * 8;
  const Candidates candidates{
      work.candidates +
          (static_cast<std::size_t>(blockIdx.x) * kWarps + warp) * kQueries * capacity,
      sorts + static_cast<std::size_t>(warp) * capacity,
      counts + warp * kQueries,
      bars + warp * kQueries,
      capacity,
      static_cast<int>(work.depth)};
  const std::size_t query_blocks =
      (work.queries.count + kWarps * kQueries - 1) / (kWarps * kQueries);
  const std::size_t tiles = (work.gallery.count + kTile - 1) / kTile;
  const std::size_t tiles_a_part = (tiles + work.parts - 1) / work.parts;
  const std::size_t chunks = work.gallery.padded / kChunk;

  for (std::size_t task = blockIdx.x; task < query_blocks * work.parts; task += gridDim.x) {
    const std::size_t part = task / query_blocks;
    const std::size_t first_query = (task % query_blocks * kWarps + warp) * kQueries;
    const std::size_t begin = part * tiles_a_part;
    const std::size_t end = min(begin + tiles_a_part, tiles);
    if (lane < kQueries) {
      candidates.counts[lane] = 0;
      candidates.bars[lane] = 0;
    }
    __syncwarp();
    // This lane's two queries in the products.
    std::size_t query[2] = {first_query + row, first_query + row + 8};
    std::int64_t excluded[2] = {-1, -1};
    bool asks[2];
    for (int half = 0; half < 2; ++half) {
      asks[half] = query[half] < work.queries.count;
      if (asks[half] && work.exclude) excluded[half] = work.exclude[query[half]];
      query[half] = asks[half] ? query[half] : 0;
    }

    const std::size_t steps = begin < end ? (end - begin) * chunks : 0;
    float sums[kTile / 8][4];
    __syncthreads();
    if (steps > 0) fetch(work.gallery, begin * kTile, 0, stages);
    for (std::size_t step = 0; step < steps; ++step) {
      const std::size_t tile = begin + step / chunks;
      const std::size_t chunk = step % chunks;
      if (step + 1 < steps) {
        fetch(work.gallery, (begin + (step + 1) / chunks) * kTile, (step + 1) % chunks * kChunk,
              stages + (step + 1) % kStages * kStageParts);
        __pipeline_wait_prior(1);
      } else {
        __pipeline_wait_prior(0);
      }
      __syncthreads();
      const std::uint16_t* high = stages + step % kStages * kStageParts;
      const std::uint16_t* low = high + kTile * kStride;
      if (chunk == 0) {
#pragma unroll
        for (auto& block : sums) {
          for (float& sum : block) sum = 0.0f;
        }
      }
#pragma unroll
      for (int half = 0; half < kChunk / 32; ++half) {
        const std::size_t d = chunk * kChunk + half * 32 + first_dim;
        const Octet<2> upper = octet_at(work.queries.high + query[0] * work.queries.padded + d,
                                        work.queries.low + query[0] * work.queries.padded + d);
        const Octet<2> lower = octet_at(work.queries.high + query[1] * work.queries.padded + d,
                                        work.queries.low + query[1] * work.queries.padded + d);
#pragma unroll
        for (int block = 0; block < kTile / 8; ++block) {
          const int at = (block * 8 + row) * kStride + half * 32 + first_dim;
          multiply_planes<__half>(sums[block], upper, lower, octet_at(high + at, low + at));
        }
      }
      if (chunk + 1 == chunks) {
        const std::size_t first_id = tile * kTile + static_cast<std::size_t>(lane % 4 * 2);
        std::uint64_t bar[2] = {candidates.bars[row], candidates.bars[row + 8]};
#pragma unroll
        for (int block = 0; block < kTile / 8; ++block) {
#pragma unroll
          for (int k = 0; k < 4; ++k) {
            const int half = k / 2;
            const std::size_t id = first_id + static_cast<std::size_t>(block * 8 + k % 2);
            if (!asks[half] || id >= work.gallery.count) continue;
            float score = sums[block][k];
            if (work.added) score += work.added[query[half] * work.gallery.count + id];
            const std::uint64_t key = key_of(score, static_cast<std::uint32_t>(id));
            if (key > bar[half] && static_cast<std::int64_t>(id) != excluded[half]) {
              const int place = atomicAdd(&candidates.counts[row + 8 * half], 1);
              candidates.list[static_cast<std::size_t>(row + 8 * half) * capacity + place] = key;
            }
          }
        }
        __syncwarp();
        // Room for the whole next tile.
        const bool full = lane < kQueries && candidates.counts[lane] > candidates.capacity - kTile;
        unsigned which = __ballot_sync(kWholeWarp, full);
        while (which) {
          candidates.settle(__ffs(static_cast<int>(which)) - 1, lane);
          which &= which - 1;
        }
      }
      __syncthreads();
    }

    for (int own = 0; own < kQueries; ++own) {
      const std::size_t to = first_query + own;
      if (to >= work.queries.count) break;
      candidates.settle(own, lane);
      std::uint64_t* keys = work.keys + (to * work.parts + part) * work.depth;
      const int count = candidates.counts[own];
      for (int k = lane; k < candidates.depth; k += 32) {
        keys[k] = k < count ? candidates.sort[k] : 0;
      }
      __syncwarp();
    }
  }
}

int capacity_of(std::size_t depth) {
  int capacity = 256;
  while (static_cast<std::size_t>(capacity) < 2 * depth + 2 * kTile) capacity *= 2;
  return capacity;
}

struct Launch {
  int capacity;
  std::size_t shared;
  unsigned blocks;
};

Launch launch_of(const TopKWork& work) {
  const int capacity = capacity_of(work.depth);
  const std::size_t shared = kStages * kStageParts * sizeof(std::uint16_t) +
                             kWarps * static_cast<std::size_t>(capacity) * sizeof(std::uint64_t);
  const std::size_t tasks =
      (work.queries.count + kWarps * kQueries - 1) / (kWarps * kQueries) * work.parts;
  return {capacity, shared, blocks_for(top_k, kWarps * 32, shared, tasks)};
}

}  // namespace

std::size_t split_padding(std::size_t dim) { return (dim + kChunk - 1) / kChunk * kChunk; }

void split_vectors(const float* vectors, std::size_t count, std::size_t dim, std::uint16_t* high,
                   std::uint16_t* low, cudaStream_t stream) {
  const std::size_t padded = split_padding(dim);
  const std::size_t blocks = std::min<std::size_t>((count * padded + 255) / 256, 65535);
  if (blocks == 0) return;
  split<<<static_cast<unsigned>(blocks), 256, 0, stream>>>(vectors, count, dim, padded, high, low);
  check(cudaGetLastError(), "start a kernel");
}

std::size_t top_k_parts(std::size_t queries, std::size_t gallery) {
  constexpr std::size_t kBlocksWanted = 264;
  const std::size_t blocks = (queries + kWarps * kQueries - 1) / (kWarps * kQueries);
  const std::size_t most = std::max<std::size_t>(1, gallery / 2048);
  return std::clamp<std::size_t>(kBlocksWanted / std::max<std::size_t>(1, blocks), 1, most);
}

std::size_t top_k_scratch(const TopKWork& work) {
  const Launch launch = launch_of(work);
  return static_cast<std::size_t>(launch.blocks) * kWarps * kQueries *
         static_cast<std::size_t>(launch.capacity);
}

void launch_top_k(const TopKWork& work, cudaStream_t stream) {
  const Launch launch = launch_of(work);
  if (launch.blocks == 0) return;
  top_k<<<launch.blocks, kWarps * 32, launch.shared, stream>>>(work, launch.capacity);
  check(cudaGetLastError(), "start a kernel");
}

}  // namespace diml::cuda
