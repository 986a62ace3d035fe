#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "diml/error.h"
#include "diml/grid_store.h"
#include "item_metadata.h"

namespace diml::test {

// The smallest store that passes the tests of every store: a list in which nothing is ever erased.
// A snapshot is a copy of the list. It shows what a new kind of store has to do, and no more.
struct Entry {
  Item item;
  std::vector<std::uint8_t> thumbnail;
  std::shared_ptr<const GridSet> grid;  // a set of one
  std::uint64_t added = 0;              // the revisions
  std::uint64_t updated = 0;            // 0: never
  std::uint64_t removed = 0;            // 0: it is there
};

class DoubleSnapshot final : public GridSnapshot {
 public:
  DoubleSnapshot(std::vector<Entry> entries, GridFormat format, std::uint64_t revision,
                 std::uint64_t birth)
      : entries_(std::move(entries)),
        format_(std::move(format)),
        revision_(revision),
        birth_(birth) {}

  const GridFormat& format() const override { return format_; }
  std::uint64_t revision() const override { return revision_; }
  std::uint64_t birth() const override { return birth_; }
  std::size_t size() const override {
    return static_cast<std::size_t>(std::count_if(
        entries_.begin(), entries_.end(), [](const Entry& entry) { return entry.removed == 0; }));
  }
  bool contains(std::int64_t id) const override {
    return id >= 0 && static_cast<std::size_t>(id) < entries_.size() && is_there(id);
  }
  std::optional<std::int64_t> find(const std::string& path) const override {
    for (const Entry& entry : entries_) {
      if (entry.removed == 0 && entry.item.path == path) return entry.item.id;
    }
    return std::nullopt;
  }
  Item item(std::int64_t id) const override { return entry(id).item; }
  std::vector<std::uint8_t> thumbnail(std::int64_t id) const override {
    return entry(id).thumbnail;
  }
  GridView grid(std::int64_t id) const override { return (*entry(id).grid)[0]; }
  const float* global(std::int64_t id) const override { return grid(id).global; }

  void visit(std::int64_t first, const Visitor& visitor) const override {
    for (const Entry& entry : entries_) {
      if (entry.item.id < first || entry.removed != 0) continue;
      if (!visitor(entry.item.id, entry.item.label, (*entry.grid)[0].global)) return;
    }
  }

  std::optional<StoreChanges> changes_since(std::uint64_t revision) const override {
    if (revision >= revision_) return std::nullopt;
    StoreChanges changes{static_cast<std::int64_t>(entries_.size()), {}, {}};
    for (const Entry& entry : entries_) {
      if (entry.added > revision) {
        changes.first_new_id = entry.item.id;
        break;
      }
      if (entry.removed > revision) changes.removed.push_back(entry.item.id);
      if (entry.removed == 0 && entry.updated > revision) changes.updated.push_back(entry.item.id);
    }
    return changes;
  }

  StoreFaults verify(const Progress&) const override { return {size(), {}, {}}; }

 private:
  bool is_there(std::int64_t id) const {
    return entries_[static_cast<std::size_t>(id)].removed == 0;
  }
  const Entry& entry(std::int64_t id) const {
    if (contains(id)) return entries_[static_cast<std::size_t>(id)];
    throw Error(ErrorKind::not_found, "there is no item " + std::to_string(id));
  }

  std::vector<Entry> entries_;  // [id]
  GridFormat format_;
  std::uint64_t revision_;
  std::uint64_t birth_;
};

class DoubleStore final : public GridStore {
 public:
  explicit DoubleStore(GridFormat format) : format_(std::move(format)) {}

  const std::string& name() const override { return name_; }
  const GridFormat& format() const override { return format_; }
  std::unique_ptr<GridSnapshot> snapshot() const override {
    const std::lock_guard lock(mutex_);
    return now();
  }

  std::vector<std::int64_t> add(std::span<const NewItem> items, const GridSetView& grids,
                                Duplicates duplicates) override {
    expect_fit(format_, items.size(), grids);
    const std::lock_guard lock(mutex_);
    const std::unique_ptr<DoubleSnapshot> before = now();
    std::vector<Entry> next = entries_;
    std::vector<std::int64_t> ids;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const NewItem& item = items[i];
      expect_label(item.label, item.path);
      if (const auto there = before->find(item.path)) {
        if (duplicates == Duplicates::refuse) {
          throw Error(ErrorKind::conflict, item.path + ": is in the store already", "duplicates");
        }
        next[static_cast<std::size_t>(*there)].removed = revision_ + 1;
      }
      ids.push_back(static_cast<std::int64_t>(next.size()));
      const GridView grid = grids[i];
      next.push_back({{ids.back(), item.path, item.label,
                       checked_metadata(item.metadata, item.path), item.source},
                      item.thumbnail,
                      std::make_shared<const GridSet>(set_of({&grid, 1})),
                      revision_ + 1});
    }
    if (!items.empty()) publish(std::move(next));
    return ids;
  }

  void update(std::span<const ItemUpdate> updates) override {
    const std::lock_guard lock(mutex_);
    const std::unique_ptr<DoubleSnapshot> before = now();
    std::vector<Entry> next = entries_;
    for (const ItemUpdate& update : updates) {
      expect_there(*before, update.id, "nothing was changed");
      Entry& entry = next[static_cast<std::size_t>(update.id)];
      if (update.label) {
        expect_label(*update.label, entry.item.path);
        entry.item.label = *update.label;
      }
      if (update.metadata) {
        entry.item.metadata = checked_metadata(*update.metadata, entry.item.path);
      }
      if (update.source) entry.item.source = update.source;
      entry.updated = revision_ + 1;
    }
    if (!updates.empty()) publish(std::move(next));
  }

  void remove(std::span<const std::int64_t> ids) override {
    const std::lock_guard lock(mutex_);
    const std::unique_ptr<DoubleSnapshot> before = now();
    std::vector<Entry> next = entries_;
    for (const std::int64_t id : ids) {
      expect_there(*before, id, "nothing was removed");
      next[static_cast<std::size_t>(id)].removed = revision_ + 1;
    }
    if (!ids.empty()) publish(std::move(next));
  }

  Space space() const override { return {}; }

 private:
  std::unique_ptr<DoubleSnapshot> now() const {
    return std::make_unique<DoubleSnapshot>(entries_, format_, revision_, birth_);
  }
  static void expect_there(const DoubleSnapshot& before, std::int64_t id, const char* consequence) {
    if (before.contains(id)) return;
    throw Error(ErrorKind::not_found,
                "there is no item " + std::to_string(id) + ": " + consequence);
  }
  void publish(std::vector<Entry> next) {
    entries_ = std::move(next);
    ++revision_;
  }

  std::string name_ = "double";
  GridFormat format_;
  std::uint64_t birth_ = reinterpret_cast<std::uintptr_t>(this);
  mutable std::mutex mutex_;  // of what follows
  std::vector<Entry> entries_;
  std::uint64_t revision_ = 0;
};

}  // namespace diml::test
