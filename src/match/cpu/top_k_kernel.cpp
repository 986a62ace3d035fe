#include "cpu/top_k_kernel.h"

#include <algorithm>
#include <limits>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/top_k_kernel.cpp"
#include <hwy/foreach_target.h>

#include <hwy/aligned_allocator.h>
#include <hwy/highway.h>

#include "cpu/tile-inl.h"

#ifndef DIML_TOP_K_ONCE
#define DIML_TOP_K_ONCE
namespace diml::cpu {

struct Candidate {
  float score;
  std::int64_t id;
};

inline bool ranks_before(const Candidate& x, const Candidate& y) {
  return x.score != y.score ? x.score > y.score : x.id < y.id;
}

// The best `depth` seen so far, and room for as many again before they are sorted out.
struct Shortlist {
  std::vector<Candidate> candidates;

  // Returns the score that a later candidate must exceed: one of equal score and higher id ranks
  // behind.
  float trim(std::size_t depth) {
    std::nth_element(candidates.begin(),
                     candidates.begin() + static_cast<std::ptrdiff_t>(depth) - 1, candidates.end(),
                     ranks_before);
    candidates.resize(depth);
    return candidates[depth - 1].score;
  }
};

}  // namespace diml::cpu
#endif  // DIML_TOP_K_ONCE

HWY_BEFORE_NAMESPACE();
namespace diml::cpu::HWY_NAMESPACE {
namespace {

constexpr std::size_t kColumns = 2 * kLanes;  // queries side by side in one tile
constexpr std::size_t kRowsAtOnce = 96;       // of the gallery, between two checks of the scores
// Rows that stay in the second-level cache over all queries.
constexpr std::size_t kGalleryBlock = 4 * kRowsAtOnce;

void pack_queries(const float* queries, std::size_t count, std::size_t dim, float* packed) {
  for (std::size_t d = 0; d < dim; ++d) {
    for (std::size_t q = 0; q < kColumns; ++q) {
      packed[d * kColumns + q] = q < count ? queries[q * dim + d] : 0.0f;
    }
  }
}

}  // namespace

void top_k_simd(const float* queries, std::size_t count, const std::int64_t* exclude,
                const float* gallery, std::size_t size, std::size_t dim, std::size_t depth,
                std::int64_t* ids, float* scores) {
  const std::size_t groups = (count + kColumns - 1) / kColumns;
  const auto packed = hwy::AllocateAligned<float>(groups * dim * kColumns);
  const auto thresholds = hwy::AllocateAligned<float>(groups * kColumns);
  const auto products = hwy::AllocateAligned<float>(kRowsAtOnce * kColumns);
  std::fill_n(thresholds.get(), groups * kColumns, std::numeric_limits<float>::infinity());
  std::fill_n(thresholds.get(), count, -std::numeric_limits<float>::infinity());
  std::vector<Shortlist> shortlists(count);
  const std::size_t room = depth + std::max<std::size_t>(depth, 64);
  for (Shortlist& list : shortlists) list.candidates.reserve(room);
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t first = g * kColumns;
    pack_queries(queries + first * dim, std::min(kColumns, count - first), dim,
                 packed.get() + first * dim);
  }

  // Few queries, as in an interactive search, fill only one vector: half the work.
  const std::size_t columns = count <= kLanes ? kLanes : kColumns;
  const auto look = [&](std::size_t first_query, std::size_t first_row, std::size_t rows) HWY_ATTR {
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t v = 0; v < columns; v += kLanes) {
        const FloatVec product = hn::Load(kFloat, products.get() + r * kColumns + v);
        const FloatVec threshold = hn::Load(kFloat, thresholds.get() + first_query + v);
        if (hn::AllFalse(kFloat, hn::Gt(product, threshold))) continue;
        const std::int64_t id = static_cast<std::int64_t>(first_row + r);
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
          const std::size_t q = first_query + v + lane;
          const float score = products[r * kColumns + v + lane];
          if (!(score > thresholds[q]) || (exclude && exclude[q] == id)) continue;
          Shortlist& list = shortlists[q];
          list.candidates.push_back({score, id});
          if (list.candidates.size() == room) thresholds[q] = list.trim(depth);
        }
      }
    }
  };

  const float* rows[kRowsAtOnce];
  for (std::size_t block = 0; block < size; block += kGalleryBlock) {
    const std::size_t block_end = std::min(size, block + kGalleryBlock);
    for (std::size_t g = 0; g < groups; ++g) {
      for (std::size_t first = block; first < block_end; first += kRowsAtOnce) {
        const std::size_t row_count = std::min(kRowsAtOnce, block_end - first);
        for (std::size_t r = 0; r < row_count; ++r) rows[r] = gallery + (first + r) * dim;
        const auto multiply =
            columns == kLanes ? dot_columns<FloatTiles, 1> : dot_columns<FloatTiles, 2>;
        multiply(packed.get() + g * kColumns * dim, kColumns, rows, row_count, dim, products.get(),
                 kColumns, nullptr);
        look(g * kColumns, first, row_count);
      }
    }
  }
  for (std::size_t q = 0; q < count; ++q) {
    std::vector<Candidate>& candidates = shortlists[q].candidates;
    if (candidates.size() > depth) shortlists[q].trim(depth);
    std::sort(candidates.begin(), candidates.end(), ranks_before);
    candidates.resize(depth,
                      {-std::numeric_limits<float>::infinity(), -1});  // only without finite scores
    for (std::size_t k = 0; k < depth; ++k) {
      ids[q * depth + k] = candidates[k].id;
      scores[q * depth + k] = candidates[k].score;
    }
  }
}

void dot_products_simd(const float* query, const float* const* rows, std::size_t count,
                       std::size_t dim, float* products) {
  const auto packed = hwy::AllocateAligned<float>(dim * kLanes);
  for (std::size_t d = 0; d < dim; ++d) {
    std::fill_n(packed.get() + d * kLanes, kLanes, query[d]);
  }
  const auto out = hwy::AllocateAligned<float>(kRowsAtOnce * kLanes);
  for (std::size_t first = 0; first < count; first += kRowsAtOnce) {
    const std::size_t some = std::min(kRowsAtOnce, count - first);
    dot_columns<FloatTiles, 1>(packed.get(), kLanes, rows + first, some, dim, out.get(), kLanes,
                               nullptr);
    for (std::size_t r = 0; r < some; ++r) products[first + r] = out[r * kLanes];
  }
}

}  // namespace diml::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace diml::cpu {

HWY_EXPORT(top_k_simd);
HWY_EXPORT(dot_products_simd);

void top_k(const float* queries, std::size_t count, const std::int64_t* exclude,
           const float* gallery, std::size_t size, std::size_t dim, std::size_t depth,
           std::int64_t* ids, float* scores) {
  HWY_DYNAMIC_DISPATCH(top_k_simd)(queries, count, exclude, gallery, size, dim, depth, ids, scores);
}

void dot_products(const float* query, const float* const* rows, std::size_t count, std::size_t dim,
                  float* products) {
  HWY_DYNAMIC_DISPATCH(dot_products_simd)(query, rows, count, dim, products);
}

}  // namespace diml::cpu
#endif  // HWY_ONCE
