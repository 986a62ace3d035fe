#include <algorithm>
#include <mutex>
#include <random>
#include <set>
#include <unordered_map>

#include "diml/error.h"
#include "diml/grid_store.h"
#include "item_metadata.h"

namespace diml {
namespace {

struct Record {
  Item item;
  std::vector<std::uint8_t> thumbnail;
  GridSet grid;  // a set of one
};

// What a revision holds. A change makes a new one that shares the records of the old one.
struct Contents {
  std::uint64_t revision = 0;
  std::map<std::int64_t, std::shared_ptr<const Record>> items;
  std::unordered_map<std::string, std::int64_t> paths;
  std::vector<StoreChanges> changes;  // [revision]: from the revision before to this one
};

class MemorySnapshot final : public GridSnapshot {
 public:
  MemorySnapshot(std::shared_ptr<const Contents> contents, const GridFormat& format,
                 std::uint64_t birth)
      : contents_(std::move(contents)), format_(format), birth_(birth) {}

  const GridFormat& format() const override { return format_; }
  std::uint64_t revision() const override { return contents_->revision; }
  std::uint64_t birth() const override { return birth_; }
  std::size_t size() const override { return contents_->items.size(); }
  bool contains(std::int64_t id) const override { return contents_->items.contains(id); }

  std::optional<std::int64_t> find(const std::string& path) const override {
    const auto found = contents_->paths.find(path);
    if (found == contents_->paths.end()) return std::nullopt;
    return found->second;
  }

  Item item(std::int64_t id) const override { return record(id).item; }
  std::vector<std::uint8_t> thumbnail(std::int64_t id) const override {
    return record(id).thumbnail;
  }
  GridView grid(std::int64_t id) const override { return record(id).grid[0]; }
  const float* global(std::int64_t id) const override { return grid(id).global; }

  void visit(std::int64_t first, const Visitor& visitor) const override {
    for (auto at = contents_->items.lower_bound(first); at != contents_->items.end(); ++at) {
      const Record& one = *at->second;
      if (!visitor(at->first, one.item.label, one.grid[0].global)) return;
    }
  }

  std::optional<StoreChanges> changes_since(std::uint64_t revision) const override {
    if (revision >= contents_->revision) return std::nullopt;
    StoreChanges all;
    all.first_new_id = contents_->changes[revision].first_new_id;
    std::set<std::int64_t> removed;
    std::set<std::int64_t> updated;
    for (std::uint64_t r = revision; r < contents_->revision; ++r) {
      const StoreChanges& change = contents_->changes[r];
      removed.insert(change.removed.begin(), change.removed.end());
      updated.insert(change.updated.begin(), change.updated.end());
    }
    const auto end = removed.lower_bound(all.first_new_id);
    all.removed.assign(removed.begin(), end);
    for (const std::int64_t id : updated) {
      if (id < all.first_new_id && !removed.contains(id)) all.updated.push_back(id);
    }
    return all;
  }

  StoreFaults verify(const Progress& progress) const override {
    progress(size(), size());
    return {size(), {}, {}};
  }

 private:
  const Record& record(std::int64_t id) const {
    const auto found = contents_->items.find(id);
    if (found != contents_->items.end()) return *found->second;
    throw Error(ErrorKind::not_found, "there is no item " + std::to_string(id));
  }

  std::shared_ptr<const Contents> contents_;
  GridFormat format_;
  std::uint64_t birth_;
};

class MemoryStore final : public GridStore {
 public:
  explicit MemoryStore(GridFormat format) : format_(std::move(format)) {
    check_grid_shape(format_.cells_per_grid, format_.dim);
    std::random_device device;
    birth_ = (static_cast<std::uint64_t>(device()) << 21) ^ device();
  }

  const std::string& name() const override { return name_; }
  const GridFormat& format() const override { return format_; }

  std::unique_ptr<GridSnapshot> snapshot() const override {
    const std::lock_guard lock(mutex_);
    return std::make_unique<MemorySnapshot>(contents_, format_, birth_);
  }

  std::vector<std::int64_t> add(std::span<const NewItem> items, const GridSetView& grids,
                                Duplicates duplicates) override {
    expect_fit(format_, items.size(), grids);
    if (items.empty()) return {};
    const std::lock_guard lock(mutex_);
    auto next = std::make_shared<Contents>(*contents_);
    StoreChanges change{next_id_, {}, {}};
    std::vector<std::int64_t> ids;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const NewItem& item = items[i];
      expect_label(item.label, item.path);
      if (const auto there = next->paths.find(item.path); there != next->paths.end()) {
        if (duplicates == Duplicates::refuse) {
          throw Error(ErrorKind::conflict,
                      item.path + ": is in the gallery already: replace it, or leave it out",
                      "duplicates");
        }
        change.removed.push_back(there->second);
        next->items.erase(there->second);
      }
      const std::int64_t id = next_id_ + static_cast<std::int64_t>(i);
      const GridView grid = grids[i];
      auto record = std::make_shared<Record>();
      record->item = {id, item.path, item.label, checked_metadata(item.metadata, item.path),
                      item.source};
      record->thumbnail = item.thumbnail;
      record->grid = GridSet(set_of({&grid, 1}));
      next->items.emplace(id, std::move(record));
      next->paths[item.path] = id;
      ids.push_back(id);
    }
    next_id_ += static_cast<std::int64_t>(items.size());
    publish(std::move(next), std::move(change));
    return ids;
  }

  void update(std::span<const ItemUpdate> updates) override {
    if (updates.empty()) return;
    const std::lock_guard lock(mutex_);
    auto next = std::make_shared<Contents>(*contents_);
    StoreChanges change{next_id_, {}, {}};
    for (const ItemUpdate& update : updates) {
      const auto found = next->items.find(update.id);
      if (found == next->items.end()) {
        throw Error(ErrorKind::not_found,
                    "there is no item " + std::to_string(update.id) + ": nothing was changed");
      }
      auto record = std::make_shared<Record>(*found->second);  // snapshots keep the old one
      if (update.label) {
        expect_label(*update.label, record->item.path);
        record->item.label = *update.label;
      }
      if (update.metadata) {
        record->item.metadata = checked_metadata(*update.metadata, record->item.path);
      }
      if (update.source) record->item.source = update.source;
      found->second = std::move(record);
      change.updated.push_back(update.id);
    }
    publish(std::move(next), std::move(change));
  }

  void remove(std::span<const std::int64_t> ids) override {
    if (ids.empty()) return;
    const std::lock_guard lock(mutex_);
    auto next = std::make_shared<Contents>(*contents_);
    StoreChanges change{next_id_, {}, {}};
    for (const std::int64_t id : std::set<std::int64_t>(ids.begin(), ids.end())) {
      const auto found = next->items.find(id);
      if (found == next->items.end()) {
        throw Error(ErrorKind::not_found,
                    "there is no item " + std::to_string(id) + ": nothing was removed");
      }
      next->paths.erase(found->second->item.path);
      next->items.erase(found);
      change.removed.push_back(id);
    }
    publish(std::move(next), std::move(change));
  }

  Space space() const override {
    const std::lock_guard lock(mutex_);
    const std::size_t cells = bytes_of_grid(format_.type, format_.cells_per_grid, format_.dim);
    return {contents_->items.size() * (cells + format_.dim * sizeof(float)), 0};
  }

 private:
  void publish(std::shared_ptr<Contents> next, StoreChanges change) {
    ++next->revision;
    next->changes.push_back(std::move(change));
    contents_ = std::move(next);
  }

  std::string name_ = "memory";
  GridFormat format_;
  std::uint64_t birth_ = 0;
  mutable std::mutex mutex_;  // of what follows
  std::shared_ptr<const Contents> contents_ = std::make_shared<Contents>();
  std::int64_t next_id_ = 0;
};

}  // namespace

std::shared_ptr<GridStore> make_memory_store(const GridFormat& format) {
  return std::make_shared<MemoryStore>(format);
}

}  // namespace diml
