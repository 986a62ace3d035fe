#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "diml/grid_store.h"
#include "pool.h"

namespace diml::postgres {

// A gallery as the database has it: the parameter $1 of every statement is its number.
struct GalleryRow {
  std::int64_t number = 0;
  std::uint64_t birth = 0;
  GridFormat format;
  std::int64_t shards = 0;  // 0: its rows are in this database
};

// A transaction that sees one moment. What is read of grids is kept as long as the snapshot.
class PostgresSnapshot final : public GridSnapshot {
 public:
  PostgresSnapshot(const std::shared_ptr<Pool>& pool, const GalleryRow& gallery);

  const GridFormat& format() const override { return gallery_.format; }
  std::uint64_t revision() const override { return revision_; }
  std::uint64_t birth() const override { return gallery_.birth; }
  std::size_t size() const override { return size_; }
  bool contains(std::int64_t id) const override;
  std::optional<std::int64_t> find(const std::string& path) const override;
  Item item(std::int64_t id) const override;
  std::vector<Item> items(std::span<const std::int64_t> ids) const override;
  std::vector<std::uint8_t> thumbnail(std::int64_t id) const override;
  GridView grid(std::int64_t id) const override;
  std::vector<std::vector<std::uint8_t>> thumbnails(
      std::span<const std::int64_t> ids) const override;
  std::vector<GridView> grids(std::span<const std::int64_t> ids) const override;
  void visit_some(std::span<const std::int64_t> ids, const Visitor& visitor) const override;
  StoreSummary summary() const override;
  std::optional<std::vector<std::int64_t>> admitted(const Filter& filter,
                                                    std::int64_t first) const override;
  StoredVectors about_nearest(std::span<const float> query, std::size_t depth,
                              const Filter& filter) const override;
  void end_views() const override;
  const float* global(std::int64_t id) const override;
  std::vector<std::int64_t> ids() const override;
  void visit(std::int64_t first, const Visitor& visitor) const override;
  std::optional<StoreChanges> changes_since(std::uint64_t revision) const override;
  StoreFaults verify(const Progress& progress) const override;

 private:
  struct Opened {
    Pool::Lease lease;
    std::unique_ptr<Transaction> transaction;
    Result about;
  };
  static Opened opened(const std::shared_ptr<Pool>& pool, const GalleryRow& gallery);
  PostgresSnapshot(Opened opened, const GalleryRow& gallery);

  Result ask(const char* statement, const Parameters& parameters) const;
  bool show(const Result& rows, const Visitor& visitor) const;  // whether it wants more
  Parameters of_gallery() const;
  const std::string& name() const { return lease_->address().shown; }
  // Whether a row counts: shards also have rows of a change that was not committed, and of items
  // that were removed.
  bool counts(std::int64_t id) const;
  std::vector<std::int64_t> those_that_count(std::span<const std::int64_t> ids) const;
  [[noreturn]] void refuse_damaged(std::int64_t id) const;
  [[noreturn]] void refuse_missing(std::int64_t id) const;

  GalleryRow gallery_;
  Pool::Lease lease_;
  std::unique_ptr<Transaction> transaction_;  // ends before the connection returns
  std::uint64_t revision_ = 0;
  std::size_t size_ = 0;
  std::int64_t next_id_ = 0;
  std::vector<std::int64_t> leaving_;  // ascending

  struct HeldGrid {
    std::vector<std::byte> cells;
    std::vector<float> global;
  };
  mutable std::unordered_map<std::int64_t, HeldGrid> grids_;
  mutable std::unordered_map<std::int64_t, std::vector<float>> globals_;
};

class PostgresStore final : public GridStore {
 public:
  static std::shared_ptr<PostgresStore> create(const std::string& address,
                                               const GridFormat& format);
  static std::shared_ptr<PostgresStore> open(const std::string& address, StoreAccess access);
  static bool exists(const std::string& address);
  // Whether there was one without items, which is gone now.
  static bool remove_empty(const std::string& address);

  PostgresStore(std::shared_ptr<Pool> pool, GalleryRow gallery, StoreAccess access,
                std::string caution);

  const std::string& name() const override { return pool_->address().shown; }
  std::string caution() const override { return caution_; }
  const GridFormat& format() const override { return gallery_.format; }
  std::unique_ptr<GridSnapshot> snapshot() const override;
  std::vector<std::int64_t> add(std::span<const NewItem> items, const GridSetView& grids,
                                Duplicates duplicates) override;
  void update(std::span<const ItemUpdate> updates) override;
  void remove(std::span<const std::int64_t> ids) override;
  Space space() const override;
  std::unique_ptr<ChangeListener> listen() const override;
  std::optional<StoreIndex> own_index() const override;
  StoreIndex make_own_index(const Progress& progress) override;

  const GalleryRow& row() const { return gallery_; }
  // Returns when no other process changes the gallery.
  void await_writers_turn() const;

 private:
  // The gallery's row while this transaction holds its lock, and what the transaction does to it.
  struct Change {
    std::int64_t revision = 0;  // before
    std::int64_t first_new_id = 0;
    std::int64_t items = 0;
    std::int64_t added = 0;  // ids in use from first_new_id on
    std::vector<std::int64_t> removed{};
    std::vector<std::int64_t> updated{};
    std::vector<std::int64_t> leaving{};  // of removed: their rows go with the next change
  };
  using Work = std::function<void(Connection& connection, Change& change)>;
  // In a transaction of its own, with the gallery's row locked. Where the connection is lost, all
  // is done again on a new one, unless it had been done. Returns what was done.
  Change change(const Work& work);
  void keep_index(const StoreIndex& index, std::size_t effort) const;
  void delete_rows(Connection& connection, Change& change, std::vector<std::int64_t> ids) const;
  Change change_once(Connection& connection, const Work& work, const std::string& call,
                     bool is_again) const;

  std::shared_ptr<Pool> pool_;
  GalleryRow gallery_;
  StoreAccess access_;
  std::string caution_;
};

}  // namespace diml::postgres
