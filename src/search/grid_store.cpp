// What holds for every store.

#include "diml/grid_store.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "diml/error.h"

namespace diml {
namespace {

std::string word(const GridFormat& format, const std::string& name) {
  const auto found = format.embedding.find(name);
  return found == format.embedding.end() ? "" : found->second;
}

}  // namespace

std::string shape_text(const GridFormat& format) {
  const auto side =
      static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(format.cells_per_grid))));
  const std::string cells = side * side == format.cells_per_grid
                                ? std::to_string(side) + " x " + std::to_string(side)
                                : std::to_string(format.cells_per_grid);
  return cells + " x " + std::to_string(format.dim);
}

void expect_same_embedding(const GridFormat& format, const GridFormat& other,
                           const std::string& what) {
  if (format.cells_per_grid != other.cells_per_grid || format.dim != other.dim) {
    const std::string grid = word(format, "grid");
    throw Error("the gallery has grids of " + shape_text(format) + ", " + what + " of " +
                shape_text(other) + ": embed it with " +
                (grid.empty() ? "the model and grid of the gallery"
                              : "grid " + grid + " and the gallery's model, " + format.model));
  }
  if (word(format, "sha256") != word(other, "sha256")) {
    const auto known = [&](const GridFormat& of) {
      const std::string sha = word(of, "sha256");
      return sha.empty() ? "an unknown model" : "a model with SHA-256 " + sha.substr(0, 12);
    };
    throw Error(ErrorKind::bad_input,
                "the gallery was embedded by " + known(format) + ", " + what + " by " +
                    known(other) + ": take the gallery's own model" +
                    (format.model.empty() ? "" : " (it was " + format.model + ")") +
                    ", or build a gallery with the other",
                "model");
  }
  const auto different =
      std::find_if(format.embedding.begin(), format.embedding.end(),
                   [&](const auto& one) { return word(other, one.first) != one.second; });
  if (different == format.embedding.end()) return;
  const std::string& name = different->first;
  throw Error("the gallery was embedded with " + name + " " + different->second + ", " + what +
              " with " + name + " " + word(other, name) + ": embed it with the gallery's settings");
}

void expect_fit(const GridFormat& format, std::size_t items, const GridSetView& grids) {
  if (grids.size != items || (items > 0 && grids.type != format.type)) {
    throw Error("a gallery of " + std::string(name_of(format.type)) +
                " cells takes one grid of that type for each item");
  }
  if (items == 0) return;
  GridFormat given = format;
  given.cells_per_grid = grids.cells_per_grid;
  given.dim = grids.dim;
  expect_same_embedding(format, given, "what is added");
}

void expect_label(const std::string& label, const std::string& path) {
  if (label.size() <= kLongestLabel) return;
  throw Error(path + ": its label has " + std::to_string(label.size()) + " bytes, at most " +
              std::to_string(kLongestLabel) + " are allowed: put long texts into the metadata");
}

std::vector<std::int64_t> GridSnapshot::ids() const {
  std::vector<std::int64_t> ids;
  ids.reserve(size());
  visit(0, [&](std::int64_t id, std::string_view, const void*) {
    ids.push_back(id);
    return true;
  });
  return ids;
}

std::vector<Item> GridSnapshot::items(std::span<const std::int64_t> wanted) const {
  std::vector<Item> items;
  items.reserve(wanted.size());
  for (const std::int64_t id : wanted) items.push_back(item(id));
  return items;
}

std::vector<GridView> GridSnapshot::grids(std::span<const std::int64_t> wanted) const {
  std::vector<GridView> grids;
  grids.reserve(wanted.size());
  for (const std::int64_t id : wanted) grids.push_back(grid(id));
  return grids;
}

std::vector<std::vector<std::uint8_t>> GridSnapshot::thumbnails(
    std::span<const std::int64_t> wanted) const {
  std::vector<std::vector<std::uint8_t>> thumbnails;
  thumbnails.reserve(wanted.size());
  for (const std::int64_t id : wanted) thumbnails.push_back(thumbnail(id));
  return thumbnails;
}

void GridSnapshot::visit_some(std::span<const std::int64_t> wanted, const Visitor& visitor) const {
  constexpr std::int64_t kNearBy = 64;  // ids that are passed over rather than searched for
  for (std::size_t next = 0; next < wanted.size();) {
    const std::size_t before = next;
    bool goes_on = true;
    // A round reads ids that lie close together.
    visit(wanted[next], [&](std::int64_t id, std::string_view label, const void* global) {
      while (next < wanted.size() && wanted[next] < id) ++next;
      if (next < wanted.size() && wanted[next] == id) {
        goes_on = visitor(id, label, global);
        ++next;
      }
      return goes_on && next < wanted.size() && wanted[next] - id < kNearBy;
    });
    if (!goes_on || next == before) return;
  }
}

StoreSummary GridSnapshot::summary() const {
  StoreSummary summary;
  std::set<std::string, std::less<>> labels;
  visit(0, [&](std::int64_t id, std::string_view label, const void*) {
    if (!label.empty() && !labels.contains(label)) labels.emplace(label);
    if (summary.first_id < 0) summary.first_id = id;
    summary.last_id = id;
    return true;
  });
  summary.labels = labels.size();
  return summary;
}

std::optional<std::vector<std::int64_t>> GridSnapshot::admitted(const Filter&,
                                                                std::int64_t) const {
  return std::nullopt;
}

StoredVectors GridSnapshot::about_nearest(std::span<const float>, std::size_t,
                                          const Filter&) const {
  throw Error(ErrorKind::internal, "this store has no index of its own");
}

StoreIndex GridStore::make_own_index(const Progress&) {
  throw Error(ErrorKind::unsupported,
              name() + ": only a gallery in PostgreSQL has an index of kind pgvector: make one of "
                       "kind hnsw or ivf-pq",
              "kind");
}

StoredVectors GridSnapshot::vectors(std::int64_t first, const Progress& progress) const {
  constexpr std::size_t kBetweenReports = 65536;
  const std::size_t count = size();
  const std::size_t dim = format().dim;
  StoredVectors all;
  if (first == 0) {
    all.ids.reserve(count);
    all.globals.reserve(count * dim);
  }
  visit(first, [&](std::int64_t id, std::string_view, const void* global) {
    all.globals.resize(all.globals.size() + dim);
    std::memcpy(&all.globals[all.ids.size() * dim], global, dim * sizeof(float));
    all.ids.push_back(id);
    if (all.ids.size() % kBetweenReports == 0) {
      progress(all.ids.size(), count);
      progress.stop_if_cancelled();
    }
    return true;
  });
  return all;
}

}  // namespace diml
