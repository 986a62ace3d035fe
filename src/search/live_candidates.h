#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "diml/candidates.h"
#include "diml/grid_store.h"
#include "id_runs.h"

namespace diml {

// Vectors that are held in memory, in ascending order of their ids; never changed once shared.
struct HeldVectors {
  std::vector<std::int64_t> ids;
  std::vector<float> vectors;  // [ids, dim]
};

// The candidates of one revision of a store: those of a base, less what was removed since, and
// those of vectors in memory that are newer. Without a base all vectors are in memory.
class LiveCandidates {
 public:
  // All vectors of the snapshot in memory.
  LiveCandidates(const GridSnapshot& snapshot, int threads);
  // Throws where the store does not remember the base's revision: make a new base.
  LiveCandidates(BaseSource base, const GridSnapshot& snapshot, int threads);

  // The same for a later revision. It costs what the changes cost; null where the store does not
  // remember this revision.
  std::shared_ptr<const LiveCandidates> next(const GridSnapshot& snapshot) const;

  std::uint64_t revision() const { return revision_; }
  std::size_t size() const { return size_; }
  // Vectors beside the base, added or removed since it was made.
  std::size_t beside_base() const;
  const CandidateSource* base() const { return base_.source.get(); }
  bool ask_the_store() const { return base_.source && base_.source->asks_the_store(); }

  // request.snapshot: of this revision.
  Ranking nearest(const CandidateRequest& request) const;

 private:
  LiveCandidates(const LiveCandidates& before, const GridSnapshot& snapshot,
                 const StoreChanges& changes);
  void take_in(const GridSnapshot& snapshot, const StoreChanges& changes);
  void append(StoredVectors added);
  void remove(const std::vector<std::int64_t>& ids);
  void make_source();

  BaseSource base_;
  IdRuns removed_from_base_;
  std::vector<std::shared_ptr<const HeldVectors>> held_;
  std::unique_ptr<CandidateSource> exact_;  // over held_
  std::uint64_t revision_ = 0;
  std::size_t size_ = 0;
  std::size_t dim_ = 0;
  int threads_ = 0;
};

}  // namespace diml
