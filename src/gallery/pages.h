#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace diml::gallery {

using Bytes = std::span<const std::byte>;

// The layout of LMDB's files on 64-bit machines, version 1.
constexpr std::uint32_t kMagic = 0xBEEFC0DE;
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kPageHead = 16;
constexpr std::size_t kNodeHead = 8;
constexpr std::size_t kTableRecord = 48;
constexpr std::size_t kMetaBytes = kPageHead + 136;
constexpr std::uint64_t kNoPage = ~std::uint64_t{0};
constexpr std::uint16_t kBranch = 1, kLeaf = 2, kOverflow = 4, kMeta = 8;  // flags of a page
constexpr std::uint16_t kLarge = 1, kSubTable = 2;                         // flags of a node
constexpr std::uint16_t kIntegerKeys = 8;                                  // of the free list

template <class Number>
Number at(const std::byte* bytes, std::size_t offset) {
  Number number;
  std::memcpy(&number, bytes + offset, sizeof(number));
  return number;
}

inline std::uint64_t number_of_page(const std::byte* page) { return at<std::uint64_t>(page, 0); }
inline std::uint16_t flags_of_page(const std::byte* page) { return at<std::uint16_t>(page, 10); }
// Of the first page of a large record.
inline std::uint32_t count_of_pages(const std::byte* page) { return at<std::uint32_t>(page, 12); }

// The pages that a large record of so many bytes needs.
inline std::uint64_t pages_for(std::uint64_t bytes, std::size_t page_size) {
  return (kPageHead - 1 + bytes) / page_size + 1;
}

struct TableRecord {
  std::uint32_t page_size;
  std::uint16_t flags, depth;
  std::uint64_t branches, leaves, overflows, entries, root;
};
TableRecord table_at(const std::byte* bytes);

struct Meta {
  std::uint64_t number;
  std::uint16_t flags;
  std::uint32_t magic, version;
  TableRecord free, main;
  std::uint64_t last_page, txn;
};
Meta meta_at(const std::byte* page);

bool is_page_size(std::uint64_t size);

// The file, mapped for reading.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  Bytes bytes() const { return {static_cast<const std::byte*>(map_), size_}; }

 private:
  void* map_ = nullptr;
  std::size_t size_ = 0;
};

struct Fault {
  std::uint64_t page;
  const char* what;
};
std::string text_of(const Fault& fault);

// An entry of a tree page.
struct Node {
  std::size_t offset, size;
  std::uint16_t flags;
  std::uint64_t number;  // a page (branch), or the size of the value (leaf)
  Bytes key;
};

// The entries of a page, which fill its upper part without a gap. Throws Fault where they do not.
std::vector<Node> nodes_of(std::uint64_t number, Bytes page, bool is_leaf);

}  // namespace diml::gallery
