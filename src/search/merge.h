#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "diml/candidates.h"

namespace diml {

// A score and an id.
using Scored = std::pair<float, std::int64_t>;

// The one order of candidates: higher score first, then lower id.
inline bool is_better(const Scored& x, const Scored& y) {
  return x.first != y.first ? x.first > y.first : x.second < y.second;
}

// The best of them, into list `q` of the ranking.
inline void put_best(std::vector<Scored>& all, Ranking& ranking, std::size_t q) {
  const std::size_t kept = std::min(all.size(), ranking.depth);
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(kept), all.end(),
                    is_better);
  for (std::size_t k = 0; k < kept; ++k) {
    ranking.scores[q * ranking.depth + k] = all[k].first;
    ranking.ids[q * ranking.depth + k] = all[k].second;
  }
}

// The best of several lists of the same queries, into the lists of `ranking` from query `first` on.
// No id stands in two lists.
inline void merge(std::span<const Ranking> lists, Ranking& ranking, std::size_t first) {
  if (lists.size() == 1 && lists[0].depth == ranking.depth) {  // as it is
    std::copy(lists[0].ids.begin(), lists[0].ids.end(), &ranking.ids[first * ranking.depth]);
    std::copy(lists[0].scores.begin(), lists[0].scores.end(),
              &ranking.scores[first * ranking.depth]);
    return;
  }
  std::vector<Scored> all;
  const std::size_t queries = lists.empty() ? 0 : lists[0].queries;
  for (std::size_t q = 0; q < queries; ++q) {
    all.clear();
    for (const Ranking& list : lists) {
      for (std::size_t k = 0; k < list.depth; ++k) {
        if (list.ids_of(q)[k] >= 0) all.emplace_back(list.scores_of(q)[k], list.ids_of(q)[k]);
      }
    }
    put_best(all, ranking, first + q);
  }
}

// Candidates that somebody else found, into list `q` of the ranking: by their exact cosines, ties
// by lower id. vectors: [ids], each [dim].
inline void put_by_cosine(std::span<const float> query, std::span<const std::int64_t> ids,
                          std::span<const float* const> vectors, Ranking& ranking, std::size_t q) {
  const std::vector<float> exact = cosines(query, vectors);
  std::vector<Scored> all;
  for (std::size_t k = 0; k < ids.size(); ++k) all.emplace_back(exact[k], ids[k]);
  put_best(all, ranking, q);
}

}  // namespace diml
