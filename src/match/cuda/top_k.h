#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace diml::cuda {

constexpr std::size_t kDeepestTopK = 1024;

// Vectors for the tensor cores: float16 high and low parts, dimensions rounded up to whole
// chunks with zeros. Device memory.
struct SplitVectors {
  const std::uint16_t* high = nullptr;  // [count, padded]
  const std::uint16_t* low = nullptr;   // [count, padded]
  std::size_t count = 0;
  std::size_t padded = 0;
};

std::size_t split_padding(std::size_t dim);
void split_vectors(const float* vectors, std::size_t count, std::size_t dim, std::uint16_t* high,
                   std::uint16_t* low, cudaStream_t stream);

struct TopKWork {
  SplitVectors queries;
  SplitVectors gallery;
  const float* added = nullptr;           // [queries, gallery], added to each product; or null
  const std::int64_t* exclude = nullptr;  // [queries], an id to exclude; or null
  std::size_t depth = 0;                  // 1 to kDeepestTopK
  // Each query's gallery is scanned in `parts`, each with a list of its own.
  std::size_t parts = 1;
  std::uint64_t* candidates = nullptr;  // scratch, top_k_scratch() of them
  std::uint64_t* keys = nullptr;  // [queries, parts, depth], best first; 0 where there are fewer
};

// Splits the gallery so that a few queries also fill the GPU.
std::size_t top_k_parts(std::size_t queries, std::size_t gallery);
std::size_t top_k_scratch(const TopKWork& work);
void launch_top_k(const TopKWork& work, cudaStream_t stream);

// Keys order as results do: higher score first, then lower id.
inline float key_score(std::uint64_t key) {
  const auto ordered = static_cast<std::uint32_t>(key >> 32);
  const std::uint32_t bits = ordered & 0x80000000u ? ordered & 0x7fffffffu : ~ordered;
  float score;
  static_assert(sizeof score == sizeof bits);
  __builtin_memcpy(&score, &bits, sizeof score);
  return score;
}
inline std::int64_t key_id(std::uint64_t key) {
  return static_cast<std::int64_t>(0xffffffffu - static_cast<std::uint32_t>(key));
}

}  // namespace diml::cuda
