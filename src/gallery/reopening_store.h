#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "diml/grid_store.h"

namespace diml::gallery {

// A store that opens itself again where its folder was moved or replaced, or where its disk failed
// (errors whose parameter is "reopen"): the call that notices it changes nothing and throws
// out_of_resources; the next one works, on what is there now. Revisions go on from those of the old
// folder, and nothing is known of the changes between, so that users of the store read everything
// again.
class ReopeningStore final : public GridStore {
 public:
  using Open = std::function<std::shared_ptr<GridStore>()>;
  ReopeningStore(std::shared_ptr<GridStore> store, Open open);

  const std::string& name() const override { return name_; }
  std::string caution() const override { return current().store->caution(); }
  const GridFormat& format() const override { return format_; }
  std::unique_ptr<GridSnapshot> snapshot() const override;
  std::vector<std::int64_t> add(std::span<const NewItem> items, const GridSetView& grids,
                                Duplicates duplicates) override;
  void update(std::span<const ItemUpdate> updates) override;
  void remove(std::span<const std::int64_t> ids) override;
  Space space() const override;
  std::unique_ptr<ChangeListener> listen() const override;
  std::optional<StoreIndex> own_index() const override;
  StoreIndex make_own_index(const Progress& progress) override;

  // Calls it with the store; where that has been replaced, opens it again and throws.
  void with_store(const std::function<void(GridStore& store)>& call) const;

 private:
  struct Current {
    std::shared_ptr<GridStore> store;
    std::uint64_t before = 0;   // is added to its revisions
    std::uint64_t opening = 0;  // how often it was opened again
  };
  Current current() const;
  [[noreturn]] void reopen(Current replaced) const;
  void open_again() const;

  const std::string name_;
  const GridFormat format_;
  const Open open_;
  mutable std::mutex mutex_;  // guards the members below
  mutable Current current_;   // without a store where it could not be opened again
  mutable std::atomic<std::uint64_t> latest_{0};  // revision that anybody has seen
};

}  // namespace diml::gallery
