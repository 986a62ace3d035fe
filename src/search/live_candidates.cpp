#include "live_candidates.h"

#include <algorithm>
#include <set>

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

template <class Gone>
std::shared_ptr<const HeldVectors> without(const HeldVectors& block, const Gone& gone,
                                           std::size_t dim) {
  auto rest = std::make_shared<HeldVectors>();
  for (std::size_t k = 0; k < block.ids.size(); ++k) {
    if (gone(block.ids[k])) continue;
    rest->ids.push_back(block.ids[k]);
    const auto vector = block.vectors.begin() + static_cast<std::ptrdiff_t>(k * dim);
    rest->vectors.insert(rest->vectors.end(), vector, vector + static_cast<std::ptrdiff_t>(dim));
  }
  return rest;
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
  if (ask_the_store()) {
    revision_ = snapshot.revision();
    size_ = snapshot.size();
    make_source();
    return;
  }
  if (snapshot.revision() != revision_) {
    const std::optional<StoreChanges> changes = snapshot.changes_since(revision_);
    if (!changes) {
      throw Error(ErrorKind::conflict,
                  std::string("the ") + base_.source->name() +
                      " index is out of date: build a new one, or search without it",
                  "build_index");
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
  if (ask_the_store()) return std::make_shared<const LiveCandidates>(base_, snapshot, threads_);
  const std::optional<StoreChanges> changes = snapshot.changes_since(revision_);
  if (!changes) return nullptr;
  return std::shared_ptr<const LiveCandidates>(new LiveCandidates(*this, snapshot, *changes));
}

void LiveCandidates::take_in(const GridSnapshot& snapshot, const StoreChanges& changes) {
  remove(changes.removed);
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

// A block is copied once, however many of its vectors are removed.
void LiveCandidates::remove(const std::vector<std::int64_t>& ids) {
  const auto gone = [&](std::int64_t id) { return std::binary_search(ids.begin(), ids.end(), id); };
  std::vector<std::int64_t> of_base;
  std::set<std::size_t> touched;
  for (const std::int64_t id : ids) {
    const auto holds = [id](const auto& block) { return place_of(block->ids, id) >= 0; };
    const auto block = std::find_if(held_.begin(), held_.end(), holds);
    if (block != held_.end()) {
      touched.insert(static_cast<std::size_t>(block - held_.begin()));
      --size_;
    } else if (base_.source && !removed_from_base_.contains(id)) {
      of_base.push_back(id);
      --size_;
    }
  }
  removed_from_base_.add(std::move(of_base));
  for (const std::size_t k : touched) held_[k] = without(*held_[k], gone, dim_);
  std::erase_if(held_, [](const auto& block) { return block->ids.empty(); });
}

void LiveCandidates::make_source() {
  std::vector<VectorSegment> segments;
  for (const auto& block : held_) {
    segments.push_back({{block->vectors.data(), block->ids.size(), dim_}, block->ids});
  }
  exact_ = make_exact_source(std::move(segments), threads_);
}

std::size_t LiveCandidates::beside_base() const {
  return base_.source && !ask_the_store() ? exact_->size() + removed_from_base_.size() : 0;
}

Ranking LiveCandidates::nearest(const CandidateRequest& request) const {
  if (!base_.source) return exact_->nearest(request);
  if (ask_the_store()) return base_.source->nearest(request);
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
    if (removed_from_base_.contains(id)) id = -1;
  }
  if (exact_->size() > 0) lists.push_back(exact_->nearest(request));
  const std::size_t longest = request.admitted ? request.admitted->size() : size_;
  Ranking ranking(request.queries.count, std::min(request.depth, longest));
  merge(lists, ranking, 0);
  return ranking;
}

}  // namespace diml
