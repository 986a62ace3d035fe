#include "admitted_items.h"

#include <algorithm>
#include <iterator>

#include "condition.h"
#include "diml/error.h"

namespace diml {
namespace {

constexpr std::size_t kMostFilters = 16;
constexpr std::size_t kBetweenLooks = 256;  // items, at the progress

// Appends the items from `first` on that the filter admits. Labels lie close together and cost
// little: an item is read only where its label fits and another condition is left.
void append_admitted(const Filter& filter, const GridSnapshot& snapshot, std::int64_t first,
                     std::vector<std::int64_t>& ids, const Progress& progress) {
  progress.stop_if_cancelled();
  if (const auto found = snapshot.admitted(filter, first)) {  // a database
    ids.insert(ids.end(), found->begin(), found->end());
    return;
  }
  std::vector<Condition> of_label;
  for (const Condition& condition : filter.conditions()) {
    if (condition.field == ConditionField::label) of_label.push_back(condition);
  }
  const bool label_is_all = of_label.size() == filter.conditions().size();
  std::size_t looked_at = 0;
  snapshot.visit(first, [&](std::int64_t id, std::string_view label, const void*) {
    if (++looked_at % kBetweenLooks == 0) progress.stop_if_cancelled();
    const bool fits = of_label.empty() || std::all_of(of_label.begin(), of_label.end(),
                                                      [text = std::string(label)](const auto& one) {
                                                        return holds(one, text);
                                                      });
    if (fits && (label_is_all || filter.admits(snapshot.item(id)))) ids.push_back(id);
    return true;
  });
}

// The list at a later revision. Items are read where they are new or have another label or other
// metadata; a list that the changes do not touch is shared.
IdList brought_up_to(const Filter& filter, const GridSnapshot& snapshot, const IdList& before,
                     const StoreChanges& changes, const Progress& progress) {
  const auto was_in = [&](std::int64_t id) {
    return std::binary_search(before->begin(), before->end(), id);
  };
  std::vector<std::int64_t> out;
  std::copy_if(changes.removed.begin(), changes.removed.end(), std::back_inserter(out), was_in);
  const auto middle = static_cast<std::ptrdiff_t>(out.size());
  std::vector<std::int64_t> in;
  for (const Item& item : snapshot.items(changes.updated)) {
    const bool is_in = filter.admits(item);
    if (is_in != was_in(item.id)) (is_in ? in : out).push_back(item.id);
  }
  std::inplace_merge(out.begin(), out.begin() + middle, out.end());
  // Higher than all updated ones.
  append_admitted(filter, snapshot, changes.first_new_id, in, progress);
  if (out.empty() && in.empty()) return before;
  std::vector<std::int64_t> left;
  left.reserve(before->size());
  std::set_difference(before->begin(), before->end(), out.begin(), out.end(),
                      std::back_inserter(left));
  std::vector<std::int64_t> ids;
  ids.reserve(left.size() + in.size());
  std::merge(left.begin(), left.end(), in.begin(), in.end(), std::back_inserter(ids));
  return std::make_shared<const std::vector<std::int64_t>>(std::move(ids));
}

IdList read_all(const Filter& filter, const GridSnapshot& snapshot, const Progress& progress) {
  std::vector<std::int64_t> ids;
  append_admitted(filter, snapshot, 0, ids, progress);
  return std::make_shared<const std::vector<std::int64_t>>(std::move(ids));
}

}  // namespace

IdList AdmittedItems::of(const Filter& filter, const GridSnapshot& snapshot,
                         const Progress& progress) {
  const std::uint64_t revision = snapshot.revision();
  const std::optional<Kept> before = kept(filter.key());
  if (before && before->revision > revision) return nullptr;
  if (before && before->revision == revision) {
    keep(*before);  // it is the latest now
    return before->ids;
  }
  // Outside the lock: a first reading of all metadata takes long, and other filters go on.
  const std::optional<StoreChanges> changes =
      before ? snapshot.changes_since(before->revision) : std::nullopt;
  Kept made{filter.key(), revision,
            changes ? brought_up_to(filter, snapshot, before->ids, *changes, progress)
                    : read_all(filter, snapshot, progress)};
  keep(made);
  return made.ids;
}

std::optional<AdmittedItems::Kept> AdmittedItems::kept(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(kept_.begin(), kept_.end(), [&](const Kept& one) { return one.key == key; });
  if (found == kept_.end()) return std::nullopt;
  return *found;
}

void AdmittedItems::keep(Kept newest) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(kept_.begin(), kept_.end(),
                                  [&](const Kept& one) { return one.key == newest.key; });
  if (found != kept_.end()) {
    if (found->revision > newest.revision) newest = std::move(*found);
    kept_.erase(found);
  }
  kept_.push_back(std::move(newest));
  if (kept_.size() > kMostFilters) kept_.erase(kept_.begin());
}

}  // namespace diml
