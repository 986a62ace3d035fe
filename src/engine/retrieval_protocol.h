#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "diml/evaluate.h"

namespace diml {

// Queries that are all in the gallery, or all outside of it: a list of the first stage is as long
// as the gallery, less the query itself.
struct QueryGroup {
  bool in_gallery = false;
  std::vector<std::int64_t> ids{};
};

// Which images are queries, and which are in the gallery.
struct RetrievalProtocol {
  std::array<QueryGroup, 2> groups = {QueryGroup{true}, QueryGroup{false}};
  std::vector<std::int64_t> gallery{};  // ascending
  std::size_t unlabelled = 0;
  std::unordered_map<std::int64_t, std::size_t> class_sizes{};  // in the gallery

  // roles: [labels.size()], or empty: every image is both. Throws where nothing can be asked or
  // found.
  RetrievalProtocol(std::span<const std::int64_t> labels, std::span<const Role> roles);

  std::size_t queries() const { return groups[0].ids.size() + groups[1].ids.size(); }
  // R: the query itself is not among what it may find.
  std::size_t relevant(std::int64_t label, bool in_gallery) const;
  // The largest R of a query.
  std::size_t most_relevant(std::span<const std::int64_t> labels) const;
};

}  // namespace diml
