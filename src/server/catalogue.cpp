#include "catalogue.h"

#include <algorithm>

#include "search/ascending.h"

namespace diml::server {
namespace {

bool erase(std::vector<std::int64_t>& ids, std::int64_t id) {
  const std::int64_t place = place_of(ids, id);
  if (place >= 0) ids.erase(ids.begin() + place);
  return place >= 0;
}

}  // namespace

Catalogue::Page Catalogue::page(const GridSnapshot& snapshot,
                                const std::optional<std::string>& label, std::size_t offset,
                                std::size_t limit) {
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

std::vector<std::pair<std::string, std::size_t>> Catalogue::labels(const GridSnapshot& snapshot) {
  const std::lock_guard lock(mutex_);
  bring_to(snapshot);
  std::vector<std::pair<std::string, std::size_t>> all;
  for (const auto& [label, ids] : by_label_) all.emplace_back(label, ids.size());
  return all;
}

// Another thread may already have updated it beyond this snapshot; that is fine.
void Catalogue::bring_to(const GridSnapshot& snapshot) {
  const std::uint64_t now = snapshot.revision();
  if (revision_ && *revision_ >= now) return;
  const std::optional<StoreChanges> changes =
      revision_ ? snapshot.changes_since(*revision_) : std::nullopt;
  // Until the end: where memory runs out halfway, the next call begins anew.
  revision_.reset();
  if (!changes) {
    ids_.clear();
    labels_.clear();
    by_label_.clear();
  } else {
    for (const std::int64_t id : changes->removed) remove(id);
    for (const Item& item : snapshot.items(changes->updated)) relabel(item.id, item.label);
  }
  snapshot.visit(changes ? changes->first_new_id : 0,
                 [&](std::int64_t id, std::string_view label, const void*) {
                   const auto group = by_label_.try_emplace(std::string(label)).first;
                   group->second.push_back(id);
                   ids_.push_back(id);
                   labels_.push_back(&*group);
                   return true;
                 });
  revision_ = now;
}

void Catalogue::relabel(std::int64_t id, const std::string& label) {
  const std::int64_t place = place_of(ids_, id);
  if (place < 0) return;
  Groups::pointer& entry = labels_[static_cast<std::size_t>(place)];
  if (entry->first == label) return;
  if (erase(entry->second, id) && entry->second.empty()) {
    by_label_.erase(by_label_.find(entry->first));
  }
  entry = &*by_label_.try_emplace(label).first;
  std::vector<std::int64_t>& group = entry->second;
  group.insert(std::lower_bound(group.begin(), group.end(), id), id);
}

void Catalogue::remove(std::int64_t id) {
  const std::int64_t place = place_of(ids_, id);
  if (place < 0) return;
  Groups::value_type& group = *labels_[static_cast<std::size_t>(place)];
  ids_.erase(ids_.begin() + place);
  labels_.erase(labels_.begin() + place);
  if (erase(group.second, id) && group.second.empty()) by_label_.erase(by_label_.find(group.first));
}

}  // namespace diml::server
