#include "engine/copy_gallery.h"

#include <algorithm>
#include <cstring>

#include "diml/error.h"

namespace diml {
namespace {

constexpr std::size_t kAtOnce = 512;  // items in memory, and in one transaction

// Some items, with everything that belongs to them.
struct Part {
  Part(const GridSnapshot& snapshot, std::span<const std::int64_t> ids)
      : items(snapshot.items(ids)),
        thumbnails(snapshot.thumbnails(ids)),
        grids(snapshot.grids(ids)) {}

  std::vector<Item> items;
  std::vector<std::vector<std::uint8_t>> thumbnails;
  std::vector<GridView> grids;
};

bool is_same(const std::optional<SourceFile>& x, const std::optional<SourceFile>& y) {
  if (!x || !y) return x.has_value() == y.has_value();
  return x->size == y->size && x->modified == y->modified && x->sha256 == y->sha256;
}

bool is_same(const GridView& x, const GridView& y) {
  return std::memcmp(x.cells, y.cells, bytes_of_grid(x.type, x.count, x.dim)) == 0 &&
         std::memcmp(x.global, y.global, x.dim * sizeof(float)) == 0;
}

// The path of the first item that differs; none where all are the same.
std::optional<std::string> difference(const Part& from, const Part& to) {
  for (std::size_t k = 0; k < from.items.size(); ++k) {
    const Item& x = from.items[k];
    const Item& y = to.items[k];
    if (x.path != y.path || x.label != y.label || x.metadata != y.metadata ||
        !is_same(x.source, y.source) || from.thumbnails[k] != to.thumbnails[k] ||
        !is_same(from.grids[k], to.grids[k])) {
      return x.path;
    }
  }
  return std::nullopt;
}

void expect_same_kind(const GridStore& from, const GridStore& to) {
  if (from.format().type != to.format().type) {
    throw Error(ErrorKind::conflict, to.name() + ": has " + name_of(to.format().type) + " cells, " +
                                         from.name() + " has " + name_of(from.format().type) +
                                         ": name a new gallery");
  }
  expect_same_embedding(from.format(), to.format(), to.name());
  expect_same_embedding(to.format(), from.format(), from.name());
}

void add(GridStore& to, Part part) {
  std::vector<NewItem> items;
  items.reserve(part.items.size());
  for (std::size_t k = 0; k < part.items.size(); ++k) {
    Item& item = part.items[k];
    items.push_back({std::move(item.path), std::move(item.label), std::move(item.metadata),
                     std::move(part.thumbnails[k]), std::move(item.source)});
  }
  to.add(items, set_of(part.grids), Duplicates::refuse);
}

}  // namespace

CopyReport copy_gallery(const GridStore& from, GridStore& to, const Progress& progress) {
  expect_same_kind(from, to);
  const std::unique_ptr<GridSnapshot> source = from.snapshot();
  const std::vector<std::int64_t> ids = source->ids();
  std::unique_ptr<GridSnapshot> before = to.snapshot();
  const std::vector<std::int64_t> there = before->ids();
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorKind::conflict, to.name() + ": is not the beginning of a copy of " +
                                         from.name() + " (" + why + "): name a new gallery");
  };
  if (there.size() > ids.size()) refuse("it has more items");
  CopyReport report{.items = ids.size()};
  report.renumbered = !ids.empty() && ids.back() + 1 != static_cast<std::int64_t>(ids.size());
  for (std::size_t first = 0; first < ids.size();) {
    if (progress.cancelled()) {
      report.cancelled = true;
      break;
    }
    const bool is_known = first < there.size();
    const std::size_t end = is_known ? there.size() : ids.size();
    const std::size_t count = std::min(kAtOnce, end - first);
    Part part(*source, std::span(ids).subspan(first, count));
    if (is_known) {
      const Part other(*before, std::span(there).subspan(first, count));
      if (const auto differing = difference(part, other)) refuse("its " + *differing + " differs");
      before->end_views();
      report.known += count;
    } else {
      before.reset();  // a long transaction would hold what others want to clean up
      add(to, std::move(part));
      report.copied += count;
    }
    source->end_views();
    first += count;
    progress(first, ids.size());
  }
  if (!report.cancelled && to.snapshot()->size() != ids.size()) {
    refuse("something else was added or removed meanwhile");
  }
  return report;
}

}  // namespace diml
