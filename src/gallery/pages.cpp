#include "pages.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system_error.h"

namespace diml::gallery {
namespace {

constexpr std::size_t kLongestKey = 511;

}  // namespace

TableRecord table_at(const std::byte* bytes) {
  return {at<std::uint32_t>(bytes, 0),  at<std::uint16_t>(bytes, 4),  at<std::uint16_t>(bytes, 6),
          at<std::uint64_t>(bytes, 8),  at<std::uint64_t>(bytes, 16), at<std::uint64_t>(bytes, 24),
          at<std::uint64_t>(bytes, 32), at<std::uint64_t>(bytes, 40)};
}

Meta meta_at(const std::byte* page) {
  const std::byte* meta = page + kPageHead;
  return {at<std::uint64_t>(page, 0),   at<std::uint16_t>(page, 10),
          at<std::uint32_t>(meta, 0),   at<std::uint32_t>(meta, 4),
          table_at(meta + 24),          table_at(meta + 24 + kTableRecord),
          at<std::uint64_t>(meta, 120), at<std::uint64_t>(meta, 128)};
}
MappedFile::MappedFile(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw system_error(path + ": cannot be opened", errno);
  struct stat found {};
  const int failed = ::fstat(file, &found);
  size_ = failed == 0 ? static_cast<std::size_t>(found.st_size) : 0;
  if (size_ > 0) map_ = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file, 0);
  const int code = errno;
  ::close(file);
  if (map_ == MAP_FAILED) throw system_error(path + ": cannot be mapped", code);
}

MappedFile::~MappedFile() {
  if (map_ != nullptr && map_ != MAP_FAILED) ::munmap(map_, size_);
}

std::string text_of(const Fault& fault) {
  return "page " + std::to_string(fault.page) + ": " + fault.what;
}

bool is_page_size(std::uint64_t size) {
  return size >= 256 && size <= 65536 && (size & (size - 1)) == 0;
}

std::vector<Node> nodes_of(std::uint64_t number, Bytes page, bool is_leaf) {
  const std::byte* bytes = page.data();
  const std::size_t page_size = page.size();
  const std::size_t lower = at<std::uint16_t>(bytes, 12);
  const std::size_t upper = at<std::uint16_t>(bytes, 14);
  if (lower < kPageHead || lower % 2 != 0 || lower > upper || upper > page_size) {
    throw Fault{number, "its bounds are wrong"};
  }
  const std::size_t most = ((page_size - kPageHead) / 2 & ~std::size_t{1}) - 2;
  std::vector<Node> nodes;
  std::vector<std::pair<std::size_t, std::size_t>> places;
  for (std::size_t k = 0; k < (lower - kPageHead) / 2; ++k) {
    const std::size_t offset = at<std::uint16_t>(bytes, kPageHead + 2 * k);
    if (offset < upper || offset % 2 != 0 || offset + kNodeHead > page_size) {
      throw Fault{number, "an entry lies outside of the page"};
    }
    const std::byte* node = bytes + offset;
    const std::size_t key_size = at<std::uint16_t>(node, 6);
    Node one{offset,
             kNodeHead + key_size,
             at<std::uint16_t>(node, 4),
             at<std::uint16_t>(node, 0) | std::uint64_t{at<std::uint16_t>(node, 2)} << 16,
             {}};
    if (is_leaf) {
      const bool large = (one.flags & kLarge) != 0;
      if (large != (one.size + one.number > most)) {
        throw Fault{number, "the size of a record is wrong"};
      }
      one.size += large ? sizeof(std::uint64_t) : static_cast<std::size_t>(one.number);
    } else {
      one.number |= std::uint64_t{one.flags} << 32;
    }
    if (key_size > kLongestKey || one.size > page_size - offset ||
        (key_size == 0 && (is_leaf || k > 0))) {
      throw Fault{number, "an entry lies outside of the page"};
    }
    one.key = Bytes(node + kNodeHead, key_size);
    places.emplace_back(offset, one.size + one.size % 2);
    nodes.push_back(one);
  }
  std::sort(places.begin(), places.end());
  std::size_t end = upper;
  for (const auto& [offset, size] : places) {
    if (offset != end) throw Fault{number, "its entries overlap or leave gaps"};
    end += size;
  }
  if (end != page_size) throw Fault{number, "its entries overlap or leave gaps"};
  return nodes;
}

}  // namespace diml::gallery
