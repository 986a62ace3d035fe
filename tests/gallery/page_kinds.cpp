#include "gallery/page_kinds.h"

#include "gallery/pages.h"

namespace diml::test {
namespace {

using namespace gallery;

struct Pages {
  Bytes file;
  std::size_t page_size;
  std::vector<std::string> kinds;  // [page]; "" while nothing refers to it

  Bytes page(std::uint64_t number) const { return file.subspan(number * page_size, page_size); }

  void take(const std::string& table, std::uint64_t number, unsigned level) {
    const bool is_leaf = level == 1;
    kinds[number] = (is_leaf ? "leaf of " : "branch of ") + table;
    for (const Node& node : nodes_of(number, page(number), is_leaf)) {
      if (!is_leaf) {
        take(table, node.number, level - 1);
        continue;
      }
      const std::byte* value = page(number).data() + node.offset + kNodeHead + node.key.size();
      if ((node.flags & kSubTable) != 0) {
        const TableRecord record = table_at(value);
        const std::string name(reinterpret_cast<const char*>(node.key.data()), node.key.size());
        if (record.root != kNoPage) take(name, record.root, record.depth);
      } else if ((node.flags & kLarge) != 0) {
        const auto first = at<std::uint64_t>(value, 0);
        kinds[first] = "large record: head";
        for (std::uint64_t k = 1; k < count_of_pages(page(first).data()); ++k) {
          kinds[first + k] = "large record: rest";
        }
      }
    }
  }
};

}  // namespace

std::map<std::string, std::vector<std::uint64_t>> kinds_of_pages(const std::string& file) {
  const Bytes bytes(reinterpret_cast<const std::byte*>(file.data()), file.size());
  const std::size_t page_size = meta_at(bytes.data()).free.page_size;
  const Meta first = meta_at(bytes.data());
  const Meta second = meta_at(bytes.data() + page_size);
  const Meta& meta = first.txn > second.txn ? first : second;
  Pages pages{bytes, page_size, std::vector<std::string>(file.size() / page_size)};
  pages.kinds[meta.txn & 1] = "meta: latest";
  pages.kinds[1 - (meta.txn & 1)] = "meta: before";
  if (meta.main.root != kNoPage) pages.take("tables", meta.main.root, meta.main.depth);
  if (meta.free.root != kNoPage) pages.take("free pages", meta.free.root, meta.free.depth);
  std::map<std::string, std::vector<std::uint64_t>> found;
  for (std::uint64_t page = 0; page < pages.kinds.size(); ++page) {
    const std::string& kind = pages.kinds[page];
    found[!kind.empty()            ? kind
          : page <= meta.last_page ? "free"
                                   : "behind the end"]
        .push_back(page);
  }
  return found;
}

}  // namespace diml::test
