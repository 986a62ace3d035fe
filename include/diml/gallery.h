#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "diml/grid.h"
#include "diml/threads.h"

namespace diml {

namespace gallery {
class Environment;
class Transaction;
}  // namespace gallery

// What all grids of a gallery have in common.
struct GalleryFormat {
  std::size_t cells_per_grid = 0;
  std::size_t dim = 0;
  CellType type = CellType::float16;  // of the cells; globals are always float32
  // How images became grids, in words: "sha256" of the model, "grid", "pooling", "projection",
  // "resize" and so on. Empty where nobody knows: then images cannot be compared with it.
  std::map<std::string, std::string> embedding{};
  std::string model{};  // where the model lay: looked for there again, not compared
};

// "4 x 4 x 128", or "6 x 16" where the cells are no square.
std::string shape_text(const GalleryFormat& format);

// Throws, with the remedy, where what `other` describes cannot be compared with a gallery of this
// format. what: "the query", for the message.
void expect_same_embedding(const GalleryFormat& format, const GalleryFormat& other,
                           const std::string& what);

struct NewItem {
  std::string path;  // its name: no two items of a gallery have the same
  std::int64_t label = -1;
  std::string metadata{};                 // a JSON object, or ""
  std::vector<std::uint8_t> thumbnail{};  // JPEG, or nothing
};

struct GalleryItem {
  std::int64_t id = 0;
  std::string path;
  std::int64_t label = -1;
  std::string metadata;  // a JSON object, "{}" where nothing was given
};

// Copies of stored grids: unit cells and globals, as they were added.
class StoredGrids {
 public:
  StoredGrids(const GalleryFormat& format, std::size_t size);

  GridSetView view() const;
  std::byte* cells_of(std::size_t place) { return cells_.data() + place * grid_bytes_; }
  float* global_of(std::size_t place) { return globals_.data() + place * dim_; }
  std::size_t grid_bytes() const { return grid_bytes_; }

 private:
  CellType type_;
  std::size_t size_;
  std::size_t cells_per_grid_;
  std::size_t dim_;
  std::size_t grid_bytes_;
  std::vector<std::byte> cells_;
  std::vector<float> globals_;
};

// All that the first stage needs, in the order of the ids.
struct GalleryVectors {
  std::vector<std::int64_t> ids;     // ascending
  std::vector<std::int64_t> labels;  // [ids]
  std::vector<float> globals;        // [ids, dim]
};

struct GalleryLabels {
  std::vector<std::int64_t> ids;     // ascending
  std::vector<std::int64_t> labels;  // [ids]
};

// A gallery as it was at one moment, whatever is added and removed meanwhile. For one thread at a
// time. While it lives the space of what is removed is not used again: let go of it soon.
class GallerySnapshot {
 public:
  GallerySnapshot(std::shared_ptr<gallery::Environment> environment, const GalleryFormat& format);
  ~GallerySnapshot();
  GallerySnapshot(GallerySnapshot&&) noexcept;
  GallerySnapshot& operator=(GallerySnapshot&&) = delete;

  const GalleryFormat& format() const { return format_; }
  const std::string& folder() const;
  std::uint64_t revision() const;  // one more after each change
  std::uint64_t birth() const;     // of the gallery: no other has the same
  std::size_t size() const;
  std::vector<std::int64_t> ids() const;  // ascending
  bool contains(std::int64_t id) const;
  std::optional<std::int64_t> find(const std::string& path) const;

  // Throw where there is no such item, and where it is damaged.
  GalleryItem item(std::int64_t id) const;
  std::vector<std::uint8_t> thumbnail(std::int64_t id) const;
  StoredGrids grids(std::span<const std::int64_t> ids) const;
  void read_global(std::int64_t id, float* out) const;  // [dim]
  void read_cells(std::int64_t id, std::byte* out) const;

  GalleryVectors vectors(const Progress& progress = {}) const;
  GalleryLabels labels() const;

 private:
  friend class GalleryVerifier;
  std::span<const std::byte> item_record(std::int64_t id) const;
  std::span<const std::byte> global_record(std::int64_t id) const;

  std::shared_ptr<gallery::Environment> environment_;
  std::unique_ptr<gallery::Transaction> transaction_;
  GalleryFormat format_;
};

enum class GalleryAccess : std::uint8_t { read, write };
enum class Duplicates : std::uint8_t { refuse, replace };

// The durable collection: a folder with everything about its images but the files themselves. What
// add() and remove() have done outlives a killed process and a power cut, each call as a whole or
// not at all. Any number of processes and threads may read while one writes; several that write
// take turns. Copies are the same gallery.
class Gallery {
 public:
  // The folder must not be there, or be empty.
  static Gallery create(const std::string& folder, const GalleryFormat& format);
  static Gallery open(const std::string& folder, GalleryAccess access = GalleryAccess::read);

  const std::string& folder() const;
  const GalleryFormat& format() const { return format_; }
  GallerySnapshot snapshot() const { return {environment_, format_}; }

  // In one transaction. grids: [items.size()] of the gallery's shape and cell type. Returns their
  // ids, which no other item ever had or will have. An item of the same path is replaced, or all
  // are refused.
  std::vector<std::int64_t> add(std::span<const NewItem> items, GridSetView grids,
                                Duplicates duplicates = Duplicates::refuse);

  // In one transaction; throws, and removes nothing, where one of them is not there.
  void remove(std::span<const std::int64_t> ids);

  // Bytes on disk, and those of them that wait to be used again.
  struct Space {
    std::uint64_t used = 0;
    std::uint64_t free = 0;
  };
  Space space() const;

 private:
  Gallery(std::shared_ptr<gallery::Environment> environment, GalleryFormat format);

  std::shared_ptr<gallery::Environment> environment_;
  GalleryFormat format_;
};

struct GalleryFaults {
  std::size_t items = 0;              // that were looked at
  std::vector<std::int64_t> damaged;  // ascending; removing them makes the gallery whole
  std::vector<std::string> faults;    // everything that is wrong, a line each
};

// Looks at every record: checksums, sizes, and that the tables agree with each other.
GalleryFaults verify(const GallerySnapshot& snapshot, const Progress& progress = {});

}  // namespace diml
