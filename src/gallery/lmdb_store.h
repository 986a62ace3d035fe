#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "diml/grid_store.h"
#include "environment.h"
#include "records.h"

namespace diml::gallery {

class LmdbSnapshot final : public GridSnapshot {
 public:
  LmdbSnapshot(std::shared_ptr<Environment> environment, const GridFormat& format);

  const GridFormat& format() const override { return format_; }
  std::uint64_t revision() const override;
  std::uint64_t birth() const override;
  std::size_t size() const override;
  bool contains(std::int64_t id) const override;
  std::optional<std::int64_t> find(const std::string& path) const override;
  Item item(std::int64_t id) const override;
  std::vector<std::uint8_t> thumbnail(std::int64_t id) const override;
  GridView grid(std::int64_t id) const override;
  const float* global(std::int64_t id) const override;
  void visit(std::int64_t first, const Visitor& visitor) const override;
  std::optional<StoreChanges> changes_since(std::uint64_t revision) const override;
  StoreFaults verify(const Progress& progress) const override;

 private:
  Description description() const;
  Bytes item_record(std::int64_t id, Part part) const;
  Bytes global_record(std::int64_t id) const;
  // The bytes themselves if they are aligned to `alignment`, otherwise a copy.
  const std::byte* aligned(Bytes bytes, std::size_t alignment) const;
  [[noreturn]] void refuse_missing(std::int64_t id) const;

  std::shared_ptr<Environment> environment_;
  Transaction transaction_;
  GridFormat format_;
  mutable std::deque<std::vector<std::byte>> copies_;
};

class LmdbStore final : public GridStore {
 public:
  static std::shared_ptr<LmdbStore> create(const std::string& folder, const GridFormat& format);
  static std::shared_ptr<LmdbStore> open(const std::string& folder, StoreAccess access);
  LmdbStore(std::shared_ptr<Environment> environment, GridFormat format);

  const std::string& name() const override { return environment_->folder(); }
  std::string caution() const override;
  const GridFormat& format() const override { return format_; }
  std::unique_ptr<GridSnapshot> snapshot() const override;
  std::vector<std::int64_t> add(std::span<const NewItem> items, const GridSetView& grids,
                                Duplicates duplicates) override;
  void update(std::span<const ItemUpdate> updates) override;
  void remove(std::span<const std::int64_t> ids) override;
  Space space() const override;
  void await_writers_turn() const;

 private:
  void update_item(Transaction& transaction, const ItemUpdate& update) const;

  std::shared_ptr<Environment> environment_;
  GridFormat format_;
};

}  // namespace diml::gallery
