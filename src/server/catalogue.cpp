#include "catalogue.h"

#include <algorithm>

namespace diml::server {
namespace {

bool erase(std::vector<std::int64_t>& ids, std::int64_t id) {
  const auto found = std::lower_bound(ids.begin(), ids.end(), id);
  if (found == ids.end() || *found != id) return false;
  ids.erase(found);
  return true;
}

}  // namespace

Catalogue::Page Catalogue::page(const GridSnapshot& snapshot, std::optional<std::int64_t> label,
                                std::size_t offset, std::size_t limit) {
  const std::lock_guard lock(mutex_);
  bring_to(snapshot);
  const std::vector<std::int64_t>* ids = &ids_;
  static const std::vector<std::int64_t> none;
  if (label) {
    const auto found = by_label_.find(*label);
    ids = found == by_label_.end() ? &none : &found->second;
  }
  const std::size_t first = std::min(offset, ids->size());
  const std::size_t count = std::min(limit, ids->size() - first);
  const auto begin = ids->begin() + static_cast<std::ptrdiff_t>(first);
  return {ids->size(), {begin, begin + static_cast<std::ptrdiff_t>(count)}};
}

std::vector<std::pair<std::int64_t, std::size_t>> Catalogue::labels(const GridSnapshot& snapshot) {
  const std::lock_guard lock(mutex_);
  bring_to(snapshot);
  std::vector<std::pair<std::int64_t, std::size_t>> all;
  for (const auto& [label, ids] : by_label_) all.emplace_back(label, ids.size());
  return all;
}

// Another thread may have brought it past this snapshot: that is as good.
void Catalogue::bring_to(const GridSnapshot& snapshot) {
  const std::uint64_t now = snapshot.revision();
  if (revision_ && *revision_ >= now) return;
  const std::optional<StoreChanges> changes =
      revision_ ? snapshot.changes_since(*revision_) : std::nullopt;
  if (!changes) {
    ids_.clear();
    labels_.clear();
    by_label_.clear();
  } else {
    for (const std::int64_t id : changes->removed) remove(id);
  }
  snapshot.visit(changes ? changes->first_new_id : 0,
                 [&](std::int64_t id, std::int64_t label, const void*) {
                   ids_.push_back(id);
                   labels_.push_back(label);
                   by_label_[label].push_back(id);
                   return true;
                 });
  revision_ = now;
}

void Catalogue::remove(std::int64_t id) {
  const auto found = std::lower_bound(ids_.begin(), ids_.end(), id);
  if (found == ids_.end() || *found != id) return;
  const auto place = found - ids_.begin();
  const auto group = by_label_.find(labels_[static_cast<std::size_t>(place)]);
  if (group != by_label_.end() && erase(group->second, id) && group->second.empty()) {
    by_label_.erase(group);
  }
  ids_.erase(found);
  labels_.erase(labels_.begin() + place);
}

}  // namespace diml::server
