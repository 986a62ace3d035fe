#include "diml/gallery.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>
#include <unordered_set>

#include "diml/error.h"
#include "records.h"

namespace diml {
namespace {

namespace fs = std::filesystem;
using gallery::Bytes;
using gallery::Cursor;
using gallery::Environment;
using gallery::ItemRecord;
using gallery::Table;
using gallery::Transaction;

std::uint64_t number_of(const Transaction& transaction, std::string_view name) {
  const auto value = transaction.find(Table::about, gallery::bytes_of(name));
  return value ? gallery::number_in(*value) : 0;
}

void set_number(Transaction& transaction, std::string_view name, std::uint64_t number) {
  transaction.put(Table::about, gallery::bytes_of(name), gallery::number_record(number));
}

void next_revision(Transaction& transaction) {
  set_number(transaction, gallery::kRevision, number_of(transaction, gallery::kRevision) + 1);
}

// Of an item whose record may be damaged: its path is then found by looking at all of them. Whether
// there was one.
bool remove_path(Transaction& transaction, std::int64_t id) {
  const std::array<std::byte, 8> wanted = gallery::key_of(id);
  const auto record = transaction.find(Table::items, wanted);
  ItemRecord item;
  if (record && gallery::decode(*record, item)) {
    const std::string key = gallery::path_key(std::string(item.path));
    const auto named = transaction.find(Table::paths, gallery::bytes_of(key));
    if (named && gallery::id_of(*named) == id) {
      return transaction.remove(Table::paths, gallery::bytes_of(key));
    }
  }
  std::string key;
  {
    Cursor cursor(transaction, Table::paths);
    while (key.empty() && cursor.next()) {
      if (gallery::id_of(cursor.value()) != id) continue;
      key.assign(reinterpret_cast<const char*>(cursor.key().data()), cursor.key().size());
    }
  }
  return !key.empty() && transaction.remove(Table::paths, gallery::bytes_of(key));
}

bool remove_item(Transaction& transaction, std::int64_t id) {
  const bool had_path = remove_path(transaction, id);
  const bool had_record = transaction.remove(Table::items, gallery::key_of(id));
  const bool had_global = transaction.remove(Table::globals, gallery::key_of(id));
  return had_path || had_record || had_global;
}

std::shared_ptr<Environment> made_environment(const std::string& folder,
                                              const GalleryFormat& format) {
  auto environment = Environment::open(folder, GalleryAccess::write, Environment::Wanted::fresh);
  gallery::Description description{format, 0};
  std::random_device device;
  // 53 bits: JSON's numbers are doubles elsewhere.
  description.birth = (static_cast<std::uint64_t>(device()) << 21) ^ device();
  const Bytes key = gallery::bytes_of(gallery::kDescription);
  Transaction transaction(environment, GalleryAccess::write);
  transaction.put(Table::about, key, gallery::encode(key, description));
  set_number(transaction, gallery::kRevision, 0);
  set_number(transaction, gallery::kNextId, 0);
  transaction.commit();
  return environment;
}

bool is_empty_or_absent(const std::string& folder) {
  std::error_code failed;
  return !fs::exists(folder, failed) || (fs::is_directory(folder, failed) && fs::is_empty(folder));
}

}  // namespace

std::string shape_text(const GalleryFormat& format) {
  const auto side =
      static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(format.cells_per_grid))));
  const std::string cells = side * side == format.cells_per_grid
                                ? std::to_string(side) + " x " + std::to_string(side)
                                : std::to_string(format.cells_per_grid);
  return cells + " x " + std::to_string(format.dim);
}

void expect_same_embedding(const GalleryFormat& format, const GalleryFormat& other,
                           const std::string& what) {
  const auto word = [](const GalleryFormat& of, const std::string& name) -> std::string {
    const auto found = of.embedding.find(name);
    return found == of.embedding.end() ? "" : found->second;
  };
  if (format.cells_per_grid != other.cells_per_grid || format.dim != other.dim) {
    const std::string grid = word(format, "grid");
    throw Error("the gallery has grids of " + shape_text(format) + ", " + what + " of " +
                shape_text(other) + ": embed it with " +
                (grid.empty() ? "the model and grid of the gallery"
                              : "--grid " + grid + " and the gallery's model, " + format.model));
  }
  if (word(format, "sha256") != word(other, "sha256")) {
    const auto known = [&](const GalleryFormat& of) {
      const std::string sha = word(of, "sha256");
      return sha.empty() ? "an unknown model" : "a model with SHA-256 " + sha.substr(0, 12);
    };
    throw Error("the gallery was embedded by " + known(format) + ", " + what + " by " +
                known(other) + ": name the gallery's own with --model" +
                (format.model.empty() ? "" : " (it was " + format.model + ")") +
                ", or build a gallery with the other");
  }
  const auto different =
      std::find_if(format.embedding.begin(), format.embedding.end(),
                   [&](const auto& one) { return word(other, one.first) != one.second; });
  if (different == format.embedding.end()) return;
  const std::string& name = different->first;
  throw Error("the gallery was embedded with " + name + " " + different->second + ", " + what +
              " with " + name + " " + word(other, name) + ": embed it with the gallery's settings");
}

Gallery::Gallery(std::shared_ptr<Environment> environment, GalleryFormat format)
    : environment_(std::move(environment)), format_(std::move(format)) {}

Gallery Gallery::create(const std::string& folder, const GalleryFormat& format) {
  check_grid_shape(format.cells_per_grid, format.dim);
  std::error_code failed;
  if (fs::exists(folder + "/data.mdb", failed)) {
    throw Error(folder +
                ": is there already: 'diml index add' goes on with it; a new one needs "
                "another folder");
  }
  if (!is_empty_or_absent(folder)) {
    throw Error(folder + ": is there and is no gallery: name a folder that is empty or not there");
  }
  const bool made = fs::create_directory(folder, failed);
  if (failed) throw Error(folder + ": cannot be made: " + failed.message());
  try {
    return {made_environment(folder, format), format};
  } catch (...) {  // a full disk: what is begun is of no use
    for (const char* name : {"/data.mdb", "/lock.mdb"}) fs::remove(folder + name, failed);
    if (made) fs::remove(folder, failed);
    throw;
  }
}

Gallery Gallery::open(const std::string& folder, GalleryAccess access) {
  std::error_code failed;
  if (!fs::exists(folder + "/data.mdb", failed)) {
    throw Error(folder + ": there is no gallery: 'diml index build " + folder + "' makes one");
  }
  auto environment = Environment::open(folder, access, Environment::Wanted::existing);
  const Transaction transaction(environment, GalleryAccess::read);
  const auto record = transaction.find(Table::about, gallery::bytes_of(gallery::kDescription));
  GalleryFormat format = gallery::decode_description(record.value_or(Bytes()), folder).format;
  return {std::move(environment), std::move(format)};
}

const std::string& Gallery::folder() const { return environment_->folder(); }

std::vector<std::int64_t> Gallery::add(std::span<const NewItem> items, GridSetView grids,
                                       Duplicates duplicates) {
  if (grids.size != items.size() || grids.type != format_.type) {
    throw Error("a gallery of " + std::string(name_of(format_.type)) +
                " cells takes one grid of that type for each item");
  }
  GalleryFormat given = format_;
  given.cells_per_grid = grids.cells_per_grid;
  given.dim = grids.dim;
  expect_same_embedding(format_, given, "what is added");
  if (items.empty()) return {};

  const std::size_t cell_bytes = grids.cells_per_grid * grids.dim * size_of(grids.type);
  Transaction transaction(environment_, GalleryAccess::write);
  std::uint64_t next = number_of(transaction, gallery::kNextId);
  std::vector<std::int64_t> ids;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const NewItem& item = items[i];
    const std::string path_key = gallery::path_key(item.path);
    if (const auto there = transaction.find(Table::paths, gallery::bytes_of(path_key))) {
      if (duplicates == Duplicates::refuse) {
        throw Error(ErrorKind::conflict,
                    item.path + ": is in the gallery already: --replace takes the new one");
      }
      remove_item(transaction, gallery::id_of(*there));
    }
    const auto id = static_cast<std::int64_t>(next++);
    const std::array<std::byte, 8> key = gallery::key_of(id);
    const GridView grid = grids[i];
    const std::string metadata = gallery::checked_metadata(item.metadata, item.path);
    const ItemRecord record{{static_cast<const std::byte*>(grid.cells), cell_bytes},
                            item.path,
                            metadata,
                            std::as_bytes(std::span(item.thumbnail))};
    transaction.append(Table::items, key, gallery::encode(key, record));
    const gallery::GlobalRecord global{item.label, std::as_bytes(std::span(grid.global, grid.dim))};
    transaction.append(Table::globals, key, gallery::encode(key, global));
    transaction.put(Table::paths, gallery::bytes_of(path_key), key);
    ids.push_back(id);
  }
  set_number(transaction, gallery::kNextId, next);
  next_revision(transaction);
  transaction.commit();
  return ids;
}

void Gallery::remove(std::span<const std::int64_t> ids) {
  if (ids.empty()) return;
  Transaction transaction(environment_, GalleryAccess::write);
  std::unordered_set<std::int64_t> done;
  for (const std::int64_t id : ids) {
    if (!done.insert(id).second) continue;
    if (!remove_item(transaction, id)) {
      throw Error(ErrorKind::not_found,
                  folder() + ": has no item " + std::to_string(id) + ": nothing was removed");
    }
  }
  next_revision(transaction);
  transaction.commit();
}

Gallery::Space Gallery::space() const {
  const Transaction transaction(environment_, GalleryAccess::read);
  MDB_envinfo info;
  MDB_stat stat;
  environment_->check(mdb_env_info(environment_->get(), &info));
  environment_->check(mdb_env_stat(environment_->get(), &stat));
  std::uint64_t in_use = 2;  // the two heads of the file
  for (const MDB_dbi table :
       {MDB_dbi{0}, MDB_dbi{1}, environment_->table(Table::about),
        environment_->table(Table::items), environment_->table(Table::globals),
        environment_->table(Table::paths)}) {
    MDB_stat of_table;
    environment_->check(mdb_stat(transaction.get(), table, &of_table));
    in_use += of_table.ms_branch_pages + of_table.ms_leaf_pages + of_table.ms_overflow_pages;
  }
  const std::uint64_t pages = info.me_last_pgno + 1;
  return {pages * stat.ms_psize, (pages - std::min(pages, in_use)) * stat.ms_psize};
}

}  // namespace diml
