#pragma once

#include <cstddef>
#include <span>

namespace diml {

// What transformers do to tokens beside matrix products, in float32. A row's bits depend on no
// other image.

// from, to: [rows, width]; may be the same.
void normalise_rows(const float* from, std::size_t rows, std::span<const float> scale,
                    std::span<const float> shift, double epsilon, int threads, float* to);

// from: [rows, 2 width] to [rows, width]: silu of the first half times the second.
void gate_rows(const float* from, std::size_t rows, std::size_t width, int threads, float* to);

// The attention of a batch. Rows of an image follow each other; strides are between rows.
struct AttentionInput {
  const float* queries = nullptr;
  const float* keys = nullptr;
  const float* values = nullptr;
  std::size_t query_stride = 0;
  std::size_t key_stride = 0;   // of keys and values
  std::size_t query_count = 0;  // of an image
  std::size_t key_count = 0;
  std::size_t batch = 0;
  std::size_t heads = 0;
  std::size_t width = 0;  // of all heads together
};

// result: [batch, query_count, width]. The scores of a block of queries stay in the cache: no
// matrix of all queries and keys is ever stored.
void attend(const AttentionInput& input, int threads, float* result);

}  // namespace diml
