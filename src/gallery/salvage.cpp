#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "diml/error.h"
#include "gallery_writer.h"
#include "keep.h"
#include "lmdb_error.h"
#include "pages.h"
#include "records.h"

namespace diml {
namespace gallery {
namespace {

struct Found {
  Bytes record;
  bool sure = false;  // on a page that the trees refer to
};

constexpr unsigned kDeepest = 32;  // levels of a tree

// Everything in the pages of a damaged file that is whole by its own checksum.
class Ruins {
 public:
  explicit Ruins(Bytes file) : file_(file), page_size_(page_size_of(file)) {
    count_ = page_size_ == 0 ? 0 : file.size() / page_size_;
    reached_.resize(count_);
    free_.resize(count_);
  }

  void search(const Progress& progress) {
    std::vector<Meta> metas;
    std::size_t whole_metas = 0;
    for (std::size_t k = 0; k < 2 && k < count_; ++k) {
      const Meta meta = meta_at(page(k).data());
      if (meta.magic != kMagic) continue;
      ++whole_metas;
      if (meta.txn > 0) metas.push_back(meta);
    }
    // Without the other one, nobody knows whether this state is the last.
    const bool last_is_known = whole_metas == 2;
    std::sort(metas.begin(), metas.end(),
              [](const Meta& a, const Meta& b) { return a.txn > b.txn; });
    // The state before the last one is better than none.
    for (std::size_t k = 0; k < metas.size() && items_.empty(); ++k) {
      take_tree(metas[k].main.root, 0, "", k == 0 && last_is_known);
      take_free_pages(metas[k].free.root, 0);
    }
    if (!last_is_known) ++damaged_pages;
    if (damaged_pages == 0 && description_) return;
    for (std::uint64_t number = 2; number < count_; ++number) {
      if (number % 4096 == 0) progress(number, count_);
      if (reached_[number] || flags_of_page(page(number).data()) != kLeaf) continue;
      take_records(number, "", false);
    }
  }

  std::size_t pages() const { return count_; }
  const std::map<std::int64_t, Found>& items() const { return items_; }
  const std::map<std::int64_t, Found>& globals() const { return globals_; }
  const std::optional<Found>& description() const { return description_; }

  std::set<std::int64_t> broken;   // ids of records that are not whole
  std::set<std::int64_t> removed;  // by changes that are whole
  std::uint64_t next_id = 0;
  std::optional<std::size_t> items_before;
  std::size_t damaged_pages = 0;

 private:
  static std::size_t page_size_of(Bytes file) {
    for (std::size_t place = 0; place <= 65536; place = place == 0 ? 256 : 2 * place) {
      if (file.size() < place + kMetaBytes) break;
      const Meta meta = meta_at(file.data() + place);
      const std::uint32_t size = meta.free.page_size;
      if (meta.magic == kMagic && is_page_size(size) && (place == 0 || place == size)) return size;
    }
    return file.size() < 4096 ? 0 : 4096;  // LMDB's own on most machines
  }

  Bytes page(std::uint64_t number) const {
    return file_.subspan(static_cast<std::size_t>(number) * page_size_, page_size_);
  }

  // Marks a page of a tree as such; false where it cannot be one.
  bool reach(std::uint64_t number) {
    const bool fits = number >= 2 && number < count_ && !reached_[number] &&
                      number_of_page(page(number).data()) == number;
    const std::uint16_t flags = fits ? flags_of_page(page(number).data()) : 0;
    if (flags != kLeaf && flags != kBranch) {
      ++damaged_pages;
      return false;
    }
    reached_[number] = true;
    return true;
  }

  // The entries of a page that lie within it, whatever its other entries are.
  std::vector<Node> usable_nodes(std::uint64_t number) {
    const Bytes bytes = page(number);
    const bool is_leaf = flags_of_page(bytes.data()) == kLeaf;
    try {
      return nodes_of(number, bytes, is_leaf);
    } catch (const Fault&) {
      if (reached_[number]) ++damaged_pages;
    }
    std::vector<Node> nodes;
    const std::size_t lower =
        std::min<std::size_t>(at<std::uint16_t>(bytes.data(), 12), page_size_);
    for (std::size_t slot = kPageHead; slot + 2 <= lower; slot += 2) {
      const std::size_t offset = at<std::uint16_t>(bytes.data(), slot);
      if (offset < kPageHead || offset + kNodeHead > page_size_) continue;
      const std::byte* node = bytes.data() + offset;
      const std::size_t key = at<std::uint16_t>(node, 6);
      const auto flags = at<std::uint16_t>(node, 4);
      const std::uint64_t low =
          at<std::uint16_t>(node, 0) | std::uint64_t{at<std::uint16_t>(node, 2)} << 16;
      if (key > page_size_ - offset - kNodeHead) continue;
      nodes.push_back({offset, kNodeHead + key, flags,
                       is_leaf ? low : low | std::uint64_t{flags} << 32,
                       Bytes(node + kNodeHead, key)});
    }
    return nodes;
  }

  // Nothing where it lies outside of the file.
  std::optional<Bytes> value_of(std::uint64_t number, const Node& node) const {
    const std::size_t begin = node.offset + kNodeHead + node.key.size();
    if ((node.flags & kLarge) == 0) {
      if (node.number > page_size_ - begin) return std::nullopt;
      return page(number).subspan(begin, node.number);
    }
    if (page_size_ - begin < sizeof(std::uint64_t)) return std::nullopt;
    const auto first = at<std::uint64_t>(page(number).data(), begin);
    if (first < 2 || first >= count_) return std::nullopt;
    const std::size_t place = static_cast<std::size_t>(first) * page_size_ + kPageHead;
    if (node.number > file_.size() - place) return std::nullopt;
    return file_.subspan(place, node.number);
  }

  // table: its name; "" for that of all tables.
  void take_tree(std::uint64_t root, unsigned depth, const std::string& table, bool sure) {
    if (root == kNoPage || depth > kDeepest || !reach(root)) return;
    const bool is_leaf = flags_of_page(page(root).data()) == kLeaf;
    if (is_leaf && !table.empty()) return take_records(root, table, sure);
    for (const Node& node : usable_nodes(root)) {
      if (!is_leaf) {
        take_tree(node.number, depth + 1, table, sure);
        continue;
      }
      const auto value = value_of(root, node);
      if ((node.flags & kSubTable) == 0 || !value || value->size() != kTableRecord) continue;
      const TableRecord record = table_at(value->data());
      const std::string name(reinterpret_cast<const char*>(node.key.data()), node.key.size());
      if (name == "globals" && sure) items_before = record.entries;
      take_tree(record.root, depth + 1, name, sure);
    }
  }

  void take_free_pages(std::uint64_t root, unsigned depth) {
    if (root == kNoPage || depth > kDeepest || !reach(root)) return;
    const bool is_leaf = flags_of_page(page(root).data()) == kLeaf;
    for (const Node& node : usable_nodes(root)) {
      if (!is_leaf) {
        take_free_pages(node.number, depth + 1);
        continue;
      }
      const auto value = value_of(root, node);
      for (std::size_t k = 8; value && k + 8 <= value->size(); k += 8) {
        const auto free = at<std::uint64_t>(value->data(), k);
        if (free < count_) free_[free] = true;
      }
    }
  }

  // table: "" where it is not known.
  void take_records(std::uint64_t number, const std::string& table, bool sure) {
    const bool of_items = table == "items" || table == "globals";
    for (const Node& node : usable_nodes(number)) {
      if ((node.flags & kSubTable) != 0) continue;
      // Free pages hold what was removed or changed; the description never changes.
      if (free_[number] && !is(node.key, kDescription)) continue;
      const auto value = value_of(number, node);
      const bool kept = value && take(node.key, *value, sure);
      if (!kept && of_items && node.key.size() == sizeof(std::int64_t)) {
        broken.insert(id_of(node.key));
      }
    }
  }

  static bool is(Bytes key, std::string_view name) {
    const Bytes bytes = bytes_of(name);
    return std::equal(key.begin(), key.end(), bytes.begin(), bytes.end());
  }

  // Whether the record is whole.
  bool take(Bytes key, Bytes record, bool sure) {
    const auto keep = [&](std::map<std::int64_t, Found>& where) {
      Found& known = where[id_of(key)];
      if (known.record.empty() || (sure && !known.sure)) known = {record, sure};
      return true;
    };
    if (is(key, kDescription)) {
      if (!is_intact(Table::about, key, record)) return false;
      if (!description_ || (sure && !description_->sure)) description_ = {record, sure};
      return true;
    }
    if (is(key, kNextId)) {
      next_id = std::max(next_id, decode_number(kNextId, record).value_or(0));
      return true;
    }
    if (key.size() != sizeof(std::int64_t) || is(key, kRevision)) return true;
    ItemRecord item;
    if (decode(record, item) && is_intact(Table::items, key, record)) return keep(items_);
    if (has_quick_checksum(Table::globals, record) || !has_quick_checksum(Table::items, record)) {
      if (is_intact(Table::globals, key, record)) return keep(globals_);
    }
    return take_change(key, record);
  }

  bool take_change(Bytes key, Bytes record) {
    const auto numbers = decode_numbers(key, record);
    if (numbers && !numbers->empty() && numbers->front() > 0) {
      next_id = std::max(next_id, static_cast<std::uint64_t>(numbers->front()));
    }
    for (std::size_t k = 1; numbers && k < numbers->size(); ++k) {
      if ((*numbers)[k] >= 0) removed.insert((*numbers)[k]);
    }
    return numbers.has_value();
  }

  Bytes file_;
  std::size_t page_size_;
  std::uint64_t count_ = 0;
  std::vector<bool> reached_;  // pages that the trees refer to
  std::vector<bool> free_;     // and those that are free
  std::map<std::int64_t, Found> items_, globals_;
  std::optional<Found> description_;
};

// An item of which everything is whole.
struct Whole {
  ItemRecord item;
  GlobalRecord global;
  bool sure;
};

std::map<std::int64_t, Whole> whole_items(Ruins& ruins, const GridFormat& format) {
  const std::size_t cell_bytes = bytes_of_grid(format.type, format.cells_per_grid, format.dim);
  std::map<std::int64_t, Whole> whole;
  for (const auto& [id, found] : ruins.items()) {
    const auto other = ruins.globals().find(id);
    Whole one{};
    if (other == ruins.globals().end() || !decode(found.record, one.item) ||
        one.item.cells.size() != cell_bytes ||
        !decode(other->second.record, format.dim, one.global)) {
      ruins.broken.insert(id);
      continue;
    }
    one.sure = found.sure && other->second.sure;
    if (one.sure || !ruins.removed.contains(id)) whole.emplace(id, one);
  }
  for (const auto& [id, found] : ruins.globals()) {
    if (found.sure && !ruins.items().contains(id)) ruins.broken.insert(id);
  }
  // A path is there once: the later item has replaced the earlier one.
  std::map<std::string_view, std::int64_t> of_path;
  for (const bool sure : {true, false}) {
    for (auto one = whole.rbegin(); one != whole.rend(); ++one) {
      if (one->second.sure == sure) of_path.try_emplace(one->second.item.path, one->first);
    }
  }
  std::erase_if(whole,
                [&](const auto& one) { return of_path.at(one.second.item.path) != one.first; });
  return whole;
}

}  // namespace
}  // namespace gallery

using namespace gallery;

Salvage salvage_gallery(const std::string& folder, const std::string& to,
                        const Progress& progress) {
  expect_folders({folder, to});
  const MappedFile file(folder + "/data.mdb");
  Ruins ruins(file.bytes());
  ruins.search(progress);
  if (!ruins.description()) {
    throw Error(ErrorKind::damaged,
                folder +
                    ": nothing says which grids it holds, so none can be taken out: build the "
                    "gallery again");
  }
  Description description = decode_description(ruins.description()->record, folder);
  description.birth = new_birth();
  const auto whole = whole_items(ruins, description.format);
  Salvage result;
  result.items = whole.size();
  result.items_before = ruins.items_before;
  result.pages = ruins.pages();
  result.damaged_pages = ruins.damaged_pages;
  const Workshop workshop(to);
  {
    GalleryWriter writer(workshop.gallery(), description);
    std::size_t done = 0;
    for (const auto& [id, one] : whole) {
      writer.add(id, one.item, one.global);
      if (!one.sure) ++result.unsure;
      progress(++done, whole.size());
    }
    const auto after = whole.empty() ? 0 : static_cast<std::uint64_t>(whole.rbegin()->first) + 1;
    writer.finish(0, std::max(ruins.next_id, after));
  }
  for (const std::int64_t id : ruins.broken) result.damaged += whole.contains(id) ? 0 : 1;
  (void)workshop.verified(to, {});
  workshop.put_in_place();
  return result;
}

}  // namespace diml
