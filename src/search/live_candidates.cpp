#include "live_candidates.h"

#include <algorithm>
#include <iterator>

#include "ascending.h"
#include "diml/error.h"
#include "merge.h"

namespace diml {
namespace {

// Vectors in one block of memory: what is copied when one of them is removed.
constexpr std::size_t kMostHeld = 65536;

std::shared_ptr<const HeldVectors> joined(const HeldVectors& older, const HeldVectors& newer) {
  auto both = std::make_shared<HeldVectors>(older);
  both->ids.insert(both->ids.end(), newer.ids.begin(), newer.ids.end());
  both->vectors.insert(both->vectors.end(), newer.vectors.begin(), newer.vectors.end());
  return both;
}

}  // namespace

LiveCandidates::LiveCandidates(const GridSnapshot& snapshot, int threads)
    : revision_(snapshot.revision()), dim_(snapshot.format().dim), threads_(threads) {
  append(snapshot.vectors());
  make_source();
}

LiveCandidates::LiveCandidates(BaseSource base, const GridSnapshot& snapshot, int threads)
    : base_(std::move(base)),
      revision_(base_.revision),
      size_(base_.source->size()),
      dim_(snapshot.format().dim),
      threads_(threads) {
  if (snapshot.revision() != revision_) {
    const std::optional<StoreChanges> changes = snapshot.changes_since(revision_);
    if (!changes) {
      throw Error(ErrorKind::conflict,
                  std::string("the ") + base_.source->name() +
                      " index is out of date: make a new one, or search without it");
    }
    take_in(snapshot, *changes);
  }
  make_source();
}

LiveCandidates::LiveCandidates(const LiveCandidates& before, const GridSnapshot& snapshot,
                               const StoreChanges& changes)
    : base_(before.base_),
      removed_from_base_(before.removed_from_base_),
      held_(before.held_),
      revision_(before.revision_),
      size_(before.size_),
      dim_(before.dim_),
      threads_(before.threads_) {
  take_in(snapshot, changes);
  make_source();
}

std::shared_ptr<const LiveCandidates> LiveCandidates::next(const GridSnapshot& snapshot) const {
  const std::optional<StoreChanges> changes = snapshot.changes_since(revision_);
  if (!changes) return nullptr;
  return std::shared_ptr<const LiveCandidates>(new LiveCandidates(*this, snapshot, *changes));
}

void LiveCandidates::take_in(const GridSnapshot& snapshot, const StoreChanges& changes) {
  for (const std::int64_t id : changes.removed) remove(id);
  append(snapshot.vectors(changes.first_new_id));
  revision_ = snapshot.revision();
}

// Blocks double: every vector is copied a logarithmic number of times at most, however few are
// added at a time.
void LiveCandidates::append(StoredVectors added) {
  size_ += added.ids.size();
  for (std::size_t first = 0; first < added.ids.size(); first += kMostHeld) {
    const std::size_t count = std::min(kMostHeld, added.ids.size() - first);
    auto block = std::make_shared<HeldVectors>();
    const auto from = [first](std::size_t of_one) {
      return static_cast<std::ptrdiff_t>(first * of_one);
    };
    block->ids.assign(added.ids.begin() + from(1),
                      added.ids.begin() + from(1) + static_cast<std::ptrdiff_t>(count));
    block->vectors.assign(
        added.globals.begin() + from(dim_),
        added.globals.begin() + from(dim_) + static_cast<std::ptrdiff_t>(count * dim_));
    std::shared_ptr<const HeldVectors> last = std::move(block);
    while (!held_.empty() && held_.back()->ids.size() <= last->ids.size() &&
           held_.back()->ids.size() + last->ids.size() <= kMostHeld) {
      last = joined(*held_.back(), *last);
      held_.pop_back();
    }
    held_.push_back(std::move(last));
  }
}

void LiveCandidates::remove(std::int64_t id) {
  for (auto& block : held_) {
    const std::int64_t place = place_of(block->ids, id);
    if (place < 0) continue;
    auto less = std::make_shared<HeldVectors>(*block);
    less->ids.erase(less->ids.begin() + place);
    const auto vector = less->vectors.begin() + place * static_cast<std::ptrdiff_t>(dim_);
    less->vectors.erase(vector, vector + static_cast<std::ptrdiff_t>(dim_));
    block = std::move(less);
    if (block->ids.empty()) std::erase(held_, block);
    --size_;
    return;
  }
  if (!base_.source) return;
  const auto place = std::lower_bound(removed_from_base_.begin(), removed_from_base_.end(), id);
  if (place != removed_from_base_.end() && *place == id) return;
  removed_from_base_.insert(place, id);
  --size_;
}

void LiveCandidates::make_source() {
  std::vector<VectorSegment> segments;
  for (const auto& block : held_) {
    segments.push_back({{block->vectors.data(), block->ids.size(), dim_}, block->ids});
  }
  exact_ = make_exact_source(std::move(segments), threads_);
}

std::size_t LiveCandidates::beside_base() const {
  return base_.source ? exact_->size() + removed_from_base_.size() : 0;
}

Ranking LiveCandidates::nearest(const CandidateRequest& request) const {
  if (!base_.source) return exact_->nearest(request);
  CandidateRequest of_base = request;
  if (request.admitted) {
    // What was removed is not admitted; ids of vectors in memory are higher than those of the base.
    const std::span<const std::int64_t> all = *request.admitted;
    const auto end = held_.empty()
                         ? all.end()
                         : std::lower_bound(all.begin(), all.end(), held_.front()->ids.front());
    of_base.admitted = all.first(static_cast<std::size_t>(end - all.begin()));
  } else {
    of_base.depth += removed_from_base_.size();
  }
  std::vector<Ranking> lists = {base_.source->nearest(of_base)};
  for (std::int64_t& id : lists[0].ids) {
    if (std::binary_search(removed_from_base_.begin(), removed_from_base_.end(), id)) id = -1;
  }
  if (exact_->size() > 0) lists.push_back(exact_->nearest(request));
  const std::size_t longest = request.admitted ? request.admitted->size() : size_;
  Ranking ranking(request.queries.count, std::min(request.depth, longest));
  merge(lists, ranking, 0);
  return ranking;
}

}  // namespace diml
