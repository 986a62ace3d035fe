#pragma once

#include <cstddef>
#include <cstdint>

namespace diml::cpu {

// For each of `count` queries [count, dim]: the `depth` largest inner products with the gallery
// [size, dim], sorted, ties by lower id, never exclude[q] (exclude may be null). ids, scores:
// [count, depth]; the gallery must have at least `depth` candidates.
void top_k(const float* queries, std::size_t count, const std::int64_t* exclude,
           const float* gallery, std::size_t size, std::size_t dim, std::size_t depth,
           std::int64_t* ids, float* scores);

// The inner products of one query with some vectors, the bits of top_k. query: [dim]; rows: `count`
// pointers to [dim]; products: [count].
void dot_products(const float* query, const float* const* rows, std::size_t count, std::size_t dim,
                  float* products);

}  // namespace diml::cpu
