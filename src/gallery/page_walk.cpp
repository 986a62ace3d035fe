#include "page_walk.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "pages.h"

namespace diml::gallery {
namespace {

constexpr unsigned kDeepest = 32;

int compare(Bytes a, Bytes b) {
  const int order = std::memcmp(a.data(), b.data(), std::min(a.size(), b.size()));
  if (order != 0) return order;
  return a.size() < b.size() ? -1 : a.size() > b.size() ? 1 : 0;
}

class Walker {
 public:
  Walker(Bytes file, const Meta& meta, WalkDepth depth)
      : file_(file),
        meta_(meta),
        page_size_(meta.free.page_size),
        depth_(depth),
        owned_(meta.last_page + 1) {}

  std::uint64_t run() {
    owned_[0] = owned_[1] = true;
    const std::uint64_t here = meta_.txn & 1;
    if (meta_.free.flags != kIntegerKeys || meta_.main.flags != 0) {
      throw Fault{here, "the flags of its tables are wrong"};
    }
    walk_table(meta_.main, Kind::main, here);
    for (const TableRecord& table : tables_) walk_table(table, Kind::records, meta_.main.root);
    walk_table(meta_.free, Kind::free, here);
    for (const std::uint64_t page : free_) own(page, 1, "is in use and in the list of free pages");
    const auto lost = std::count(owned_.begin(), owned_.end(), false);
    if (static_cast<std::uint64_t>(lost) != spare_) {
      const auto first = std::find(owned_.begin(), owned_.end(), false);
      if (first == owned_.end()) throw Fault{here, "the counts of its tables are wrong"};
      throw Fault{static_cast<std::uint64_t>(first - owned_.begin()),
                  "is neither in use nor in the list of free pages"};
    }
    return pages_;
  }

 private:
  enum class Kind : std::uint8_t { main, records, free };
  struct Counts {
    std::uint64_t branches = 0, leaves = 0, overflows = 0, entries = 0;
  };

  const std::byte* page(std::uint64_t number) const {
    return file_.data() + static_cast<std::size_t>(number) * page_size_;
  }

  void own(std::uint64_t first, std::uint64_t count, const char* twice) {
    if (first < 2 || first > meta_.last_page || count > meta_.last_page + 1 - first) {
      throw Fault{first, "is referred to and lies outside of the file"};
    }
    for (std::uint64_t p = first; p < first + count; ++p) {
      if (owned_[p]) throw Fault{p, twice};
      owned_[p] = true;
    }
  }

  void walk_table(const TableRecord& table, Kind kind, std::uint64_t from) {
    Counts counts;
    if (table.root != kNoPage) {
      if (table.depth == 0 || table.depth > kDeepest) throw Fault{from, "the depth is wrong"};
      visit(table.root, table.depth, kind, {}, {}, counts);
    } else if (table.depth != 0) {
      throw Fault{from, "a table has a depth and no root"};
    }
    // A large record may keep more pages than it needs; only its first page says how many.
    const bool fits = depth_ == WalkDepth::everything ? counts.overflows == table.overflows
                                                      : counts.overflows <= table.overflows;
    if (counts.branches != table.branches || counts.leaves != table.leaves || !fits ||
        counts.entries != table.entries) {
      throw Fault{from, "the counts of a table are not those of its pages"};
    }
    spare_ += table.overflows - counts.overflows;
  }

  // Keys of the page are in [low, high); empty: no bound.
  void visit(std::uint64_t number, unsigned level, Kind kind, Bytes low, Bytes high,
             Counts& counts) {
    own(number, 1, "is referred to twice");
    ++pages_;
    const std::byte* bytes = page(number);
    const bool is_leaf = level == 1;
    if (number_of_page(bytes) != number) throw Fault{number, "has another page's number"};
    if (flags_of_page(bytes) != (is_leaf ? kLeaf : kBranch)) {
      throw Fault{number, "is of another kind than its tree needs"};
    }
    ++(is_leaf ? counts.leaves : counts.branches);
    const std::vector<Node> nodes = nodes_of(number, {bytes, page_size_}, is_leaf);
    if (nodes.size() < (is_leaf || kind == Kind::free ? 1U : 2U)) {
      throw Fault{number, "has too few entries"};
    }
    check_order(number, nodes, kind, is_leaf, low, high);
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      if (is_leaf) {
        ++counts.entries;
        take_value(number, bytes, nodes[n], kind, counts);
      } else {
        visit(nodes[n].number, level - 1, kind, n == 0 ? low : nodes[n].key,
              n + 1 < nodes.size() ? nodes[n + 1].key : high, counts);
      }
    }
  }

  static bool is_before(Bytes a, Bytes b, Kind kind) {
    if (kind != Kind::free) return compare(a, b) < 0;
    return at<std::uint64_t>(a.data(), 0) < at<std::uint64_t>(b.data(), 0);
  }

  static void check_order(std::uint64_t number, const std::vector<Node>& nodes, Kind kind,
                          bool is_leaf, Bytes low, Bytes high) {
    // The first key of a branch page is not used.
    for (std::size_t n = is_leaf ? 0 : 1; n < nodes.size(); ++n) {
      const Bytes key = nodes[n].key;
      if (kind == Kind::free && key.size() != sizeof(std::uint64_t)) {
        throw Fault{number, "a key of the list of free pages has a wrong size"};
      }
      const bool first = n == (is_leaf ? 0U : 1U);
      const Bytes before = first ? low : nodes[n - 1].key;
      // A first key may be equal to the lower bound of its page.
      const bool after =
          before.empty() || (first ? !is_before(key, before, kind) : is_before(before, key, kind));
      if (!after || (!high.empty() && !is_before(key, high, kind))) {
        throw Fault{number, "its keys are not in order"};
      }
    }
  }

  void take_value(std::uint64_t number, const std::byte* bytes, const Node& node, Kind kind,
                  Counts& counts) {
    const std::byte* value = bytes + node.offset + kNodeHead + node.key.size();
    const std::uint16_t wanted = kind == Kind::main ? kSubTable : 0;
    if ((node.flags & ~kLarge) != wanted) throw Fault{number, "an entry has unknown flags"};
    if (kind == Kind::main) {
      if (node.number != kTableRecord) throw Fault{number, "the record of a table is damaged"};
      tables_.push_back(table_at(value));
      if (tables_.back().flags != 0) throw Fault{number, "the flags of a table are wrong"};
      return;
    }
    if ((node.flags & kLarge) != 0) {
      const auto first = at<std::uint64_t>(value, 0);
      std::uint64_t count = pages_for(node.number, page_size_);
      const bool reads = depth_ == WalkDepth::everything || kind == Kind::free;
      if (reads) count = overflow_pages(first, count);
      own(first, count, "is referred to twice");
      counts.overflows += count;
      value = page(first) + kPageHead;
    }
    if (kind == Kind::free) take_free(number, node, value);
  }

  std::uint64_t overflow_pages(std::uint64_t first, std::uint64_t needed) const {
    if (first < 2 || first > meta_.last_page) {
      throw Fault{first, "is referred to and lies outside of the file"};
    }
    const std::byte* head = page(first);
    const std::uint32_t count = count_of_pages(head);
    if (number_of_page(head) != first || flags_of_page(head) != kOverflow || count < needed) {
      throw Fault{first, "is not the first page of the record that refers to it"};
    }
    return count;
  }

  // A count, and that many pages in descending order.
  void take_free(std::uint64_t number, const Node& node, const std::byte* value) {
    const std::uint64_t room = node.number / sizeof(std::uint64_t);
    const std::uint64_t count = room > 0 ? at<std::uint64_t>(value, 0) : 0;
    if (room == 0 || node.number % sizeof(std::uint64_t) != 0 || count > room - 1 ||
        at<std::uint64_t>(node.key.data(), 0) > meta_.txn) {
      throw Fault{number, "an entry of the list of free pages is damaged"};
    }
    for (std::uint64_t k = 1; k <= count; ++k) {
      const auto freed = at<std::uint64_t>(value, sizeof(std::uint64_t) * k);
      if (freed < 2 || freed > meta_.last_page || (k > 1 && freed >= free_.back())) {
        throw Fault{number, "an entry of the list of free pages is damaged"};
      }
      free_.push_back(freed);
    }
  }

  Bytes file_;
  Meta meta_;
  std::size_t page_size_;
  WalkDepth depth_;
  std::vector<bool> owned_;  // pages that something refers to
  std::uint64_t spare_ = 0;  // pages of large records that were not looked at
  std::vector<TableRecord> tables_;
  std::vector<std::uint64_t> free_;
  std::uint64_t pages_ = 0;
};

// The last key of the list of free pages.
std::uint64_t last_freeing(Bytes file, const Meta& meta) {
  const std::size_t page_size = meta.free.page_size;
  std::uint64_t number = meta.free.root;
  for (unsigned level = meta.free.depth; level > 0 && level <= kDeepest; --level) {
    if (number < 2 || number >= file.size() / page_size) break;
    const auto nodes = nodes_of(number, file.subspan(number * page_size, page_size), level == 1);
    if (nodes.empty()) break;
    if (level > 1) {
      number = nodes.back().number;
    } else if (nodes.back().key.size() == sizeof(std::uint64_t)) {
      return at<std::uint64_t>(nodes.back().key.data(), 0);
    }
  }
  throw Fault{meta.txn & 1, "names a list of free pages that is none"};
}

// Each commit frees pages of the one before, under its own number: an earlier state whose number
// was damaged could be taken for the last one. (The other meta page may name a list of another
// commit: where a commit fails, LMDB puts the old number back and nothing else.)
void expect_own_number(Bytes file, const Meta& meta) {
  if (meta.free.root == kNoPage) return;  // nothing was freed yet
  if (last_freeing(file, meta) != meta.txn) {
    throw Fault{meta.txn & 1, "has the number of another commit than its list of free pages"};
  }
}

}  // namespace

std::optional<std::string> fault_of_head(Bytes file) {
  if (file.size() < kMetaBytes) return std::nullopt;
  const Meta first = meta_at(file.data());
  if (first.magic != kMagic || first.version != kVersion) return std::nullopt;
  const std::size_t page_size = first.free.page_size;
  if (!is_page_size(page_size)) return text_of({0, "the size of pages is wrong"});
  if (file.size() < 2 * page_size) return std::nullopt;
  const Meta second = meta_at(file.data() + page_size);
  if (second.magic != kMagic || second.version != kVersion) return std::nullopt;
  if (second.free.page_size != page_size) return text_of({1, "the size of pages is wrong"});
  for (const Meta* meta : {&first, &second}) {
    const std::uint64_t place = meta == &first ? 0 : 1;
    if (meta->number != place || meta->flags != kMeta) {
      return text_of({place, "is not the page of that number"});
    }
    if (meta->txn != 0 && (meta->txn & 1) != place) {
      return text_of({place, "has the number of a commit that another page has"});
    }
    if (meta->free.flags != kIntegerKeys && meta->txn != 0) {
      return text_of({place, "the flags of its tables are wrong"});
    }
  }
  return std::nullopt;
}

WalkResult walk_pages(Bytes file, std::uint64_t txn, WalkDepth depth) {
  WalkResult result;
  if (txn == 0) return result;  // nothing was written yet
  if (file.size() < kMetaBytes) return {WalkEnd::damaged, text_of({0, "is cut off"})};
  const std::size_t page_size = meta_at(file.data()).free.page_size;
  const std::size_t place = txn & 1;
  if (!is_page_size(page_size) || file.size() < 2 * page_size) {
    return {WalkEnd::damaged, text_of({0, "the size of pages is wrong"})};
  }
  const Meta meta = meta_at(file.data() + place * page_size);
  if (meta.txn != txn) return {WalkEnd::overtaken};
  try {
    if (meta.last_page >= file.size() / page_size) {
      throw Fault{place, "names a last page that is outside of the file"};
    }
    // Each commit writes the other meta page: the two are always one commit apart.
    const Meta other = meta_at(file.data() + (1 - place) * page_size);
    if (other.txn + 1 != txn && other.txn != txn + 1) {
      if (other.txn > txn) return {WalkEnd::overtaken};
      throw Fault{1 - place, "is not the state before or after the last commit"};
    }
    expect_own_number(file, meta);
    result.pages = Walker(file, meta, depth).run();
  } catch (const Fault& fault) {
    result.end = WalkEnd::damaged;
    result.fault = text_of(fault);
  }
  return result;
}

}  // namespace diml::gallery
