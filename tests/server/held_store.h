#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "diml/grid_store.h"

namespace diml::test {

// A store whose changes wait while it is held, as if another process wrote to it.
class HeldStore final : public GridStore {
 public:
  explicit HeldStore(std::shared_ptr<GridStore> store) : store_(std::move(store)) {}

  void hold(bool on) {
    {
      const std::lock_guard lock(mutex_);
      is_held_ = on;
    }
    changed_.notify_all();
  }
  // What space() says from now on.
  void tell(const Space& space) {
    const std::lock_guard lock(mutex_);
    space_ = space;
  }
  // Returns when so many changes wait.
  void await(int waiting) const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ >= waiting; });
  }

  const std::string& name() const override { return store_->name(); }
  const GridFormat& format() const override { return store_->format(); }
  std::unique_ptr<GridSnapshot> snapshot() const override { return store_->snapshot(); }
  std::vector<std::int64_t> add(std::span<const NewItem> items, const GridSetView& grids,
                                Duplicates duplicates) override {
    pass();
    return store_->add(items, grids, duplicates);
  }
  void update(std::span<const ItemUpdate> updates) override {
    pass();
    store_->update(updates);
  }
  void remove(std::span<const std::int64_t> ids) override {
    pass();
    store_->remove(ids);
  }
  Space space() const override {
    const std::lock_guard lock(mutex_);
    return space_ ? *space_ : store_->space();
  }

 private:
  void pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !is_held_; });
    --waiting_;
  }

  std::shared_ptr<GridStore> store_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool is_held_ = false;
  int waiting_ = 0;
  std::optional<Space> space_;
};

}  // namespace diml::test
