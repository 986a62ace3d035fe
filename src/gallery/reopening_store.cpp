#include "reopening_store.h"

#include <algorithm>

#include "diml/error.h"

namespace diml::gallery {
namespace {

// A snapshot with later revisions.
class LaterSnapshot final : public GridSnapshot {
 public:
  LaterSnapshot(std::unique_ptr<GridSnapshot> snapshot, std::shared_ptr<GridStore> store,
                std::uint64_t before)
      : store_(std::move(store)), snapshot_(std::move(snapshot)), before_(before) {}

  const GridFormat& format() const override { return snapshot_->format(); }
  std::uint64_t revision() const override { return before_ + snapshot_->revision(); }
  std::uint64_t birth() const override { return snapshot_->birth(); }
  std::size_t size() const override { return snapshot_->size(); }
  bool contains(std::int64_t id) const override { return snapshot_->contains(id); }
  std::optional<std::int64_t> find(const std::string& path) const override {
    return snapshot_->find(path);
  }
  Item item(std::int64_t id) const override { return snapshot_->item(id); }
  std::vector<std::uint8_t> thumbnail(std::int64_t id) const override {
    return snapshot_->thumbnail(id);
  }
  GridView grid(std::int64_t id) const override { return snapshot_->grid(id); }
  std::vector<std::int64_t> ids() const override { return snapshot_->ids(); }
  std::vector<Item> items(std::span<const std::int64_t> ids) const override {
    return snapshot_->items(ids);
  }
  std::vector<GridView> grids(std::span<const std::int64_t> ids) const override {
    return snapshot_->grids(ids);
  }
  std::vector<std::vector<std::uint8_t>> thumbnails(
      std::span<const std::int64_t> ids) const override {
    return snapshot_->thumbnails(ids);
  }
  void visit_some(std::span<const std::int64_t> ids, const Visitor& visitor) const override {
    snapshot_->visit_some(ids, visitor);
  }
  StoreSummary summary() const override { return snapshot_->summary(); }
  std::optional<std::vector<std::int64_t>> admitted(const Filter& filter,
                                                    std::int64_t first) const override {
    return snapshot_->admitted(filter, first);
  }
  StoredVectors about_nearest(std::span<const float> query, std::size_t depth,
                              const Filter& filter) const override {
    return snapshot_->about_nearest(query, depth, filter);
  }
  void end_views() const override { snapshot_->end_views(); }
  const float* global(std::int64_t id) const override { return snapshot_->global(id); }
  void visit(std::int64_t first, const Visitor& visitor) const override {
    snapshot_->visit(first, visitor);
  }
  std::optional<StoreChanges> changes_since(std::uint64_t revision) const override {
    if (revision < before_) return std::nullopt;
    return snapshot_->changes_since(revision - before_);
  }
  StoreFaults verify(const Progress& progress) const override {
    return snapshot_->verify(progress);
  }

 private:
  std::shared_ptr<GridStore> store_;  // outlives the snapshot
  std::unique_ptr<GridSnapshot> snapshot_;
  std::uint64_t before_;
};

bool is_of_replaced(const Error& error) { return std::string_view(error.parameter()) == "reopen"; }

Error opened_again() {
  return {ErrorKind::out_of_resources,
          "the gallery's folder was replaced, or its disk failed, and it has been opened again: "
          "repeat the request",
          "reopen"};
}

}  // namespace

ReopeningStore::ReopeningStore(std::shared_ptr<GridStore> store, Open open)
    : name_(store->name()), format_(store->format()), open_(std::move(open)), current_{store, 0} {}

ReopeningStore::Current ReopeningStore::current() const {
  const std::lock_guard lock(mutex_);
  if (current_.store) return current_;
  open_again();
  throw opened_again();
}

void ReopeningStore::with_store(const std::function<void(GridStore& store)>& call) const {
  Current now = current();
  try {
    call(*now.store);
  } catch (const Error& error) {
    if (!is_of_replaced(error)) throw;
    reopen(std::move(now));
  }
}

// Where its disk failed, the old one must be closed first, by all who use it.
void ReopeningStore::reopen(Current replaced) const {
  replaced.store.reset();
  const std::lock_guard lock(mutex_);
  if (current_.opening == replaced.opening) {
    current_.store.reset();
    open_again();
  }
  throw opened_again();
}

void ReopeningStore::open_again() const {
  std::shared_ptr<GridStore> fresh;
  try {
    fresh = open_();
    expect_same_embedding(format_, fresh->format(), "the new one");
    if (fresh->format().type != format_.type) throw Error("another type of cells");
  } catch (const Error&) {
    throw Error(ErrorKind::out_of_resources,
                "the gallery's folder was moved, or its disk fails, and there is no gallery of "
                "this kind in its place: put one there, or start the server again",
                "reopen");
  }
  current_ = {std::move(fresh), latest_ + 1, current_.opening + 1};
}

std::unique_ptr<GridSnapshot> ReopeningStore::snapshot() const {
  std::unique_ptr<GridSnapshot> made;
  Current now = current();
  try {
    made = std::make_unique<LaterSnapshot>(now.store->snapshot(), now.store, now.before);
  } catch (const Error& error) {
    if (!is_of_replaced(error)) throw;
    reopen(std::move(now));
  }
  const std::uint64_t revision = made->revision();
  std::uint64_t latest = latest_;
  while (latest < revision && !latest_.compare_exchange_weak(latest, revision)) {
  }
  return made;
}

std::vector<std::int64_t> ReopeningStore::add(std::span<const NewItem> items,
                                              const GridSetView& grids, Duplicates duplicates) {
  std::vector<std::int64_t> ids;
  with_store([&](GridStore& store) { ids = store.add(items, grids, duplicates); });
  return ids;
}

void ReopeningStore::update(std::span<const ItemUpdate> updates) {
  with_store([&](GridStore& store) { store.update(updates); });
}

void ReopeningStore::remove(std::span<const std::int64_t> ids) {
  with_store([&](GridStore& store) { store.remove(ids); });
}

GridStore::Space ReopeningStore::space() const {
  Space space;
  with_store([&](GridStore& store) { space = store.space(); });
  return space;
}

// A database has no folder that is replaced.
std::unique_ptr<ChangeListener> ReopeningStore::listen() const { return current().store->listen(); }

std::optional<StoreIndex> ReopeningStore::own_index() const {
  std::optional<StoreIndex> index;
  with_store([&](GridStore& store) { index = store.own_index(); });
  return index;
}

StoreIndex ReopeningStore::make_own_index(const Progress& progress) {
  StoreIndex index;
  with_store([&](GridStore& store) { index = store.make_own_index(progress); });
  return index;
}

}  // namespace diml::gallery
