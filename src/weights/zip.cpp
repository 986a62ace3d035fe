#include "zip.h"

#include <algorithm>
#include <utility>

#include "diml/error.h"

// Names and offsets are those of PKWARE's APPNOTE.TXT, section 4.3.

namespace diml::weights {
namespace {

constexpr std::uint32_t kLocalHeader = 0x04034b50;
constexpr std::uint32_t kDirectoryEntry = 0x02014b50;
constexpr std::uint32_t kEnd = 0x06054b50;
constexpr std::uint32_t kEnd64 = 0x06064b50;
constexpr std::uint32_t kEnd64Locator = 0x07064b50;

constexpr std::uint64_t kLocalHeaderBytes = 30;
constexpr std::uint64_t kDirectoryEntryBytes = 46;
constexpr std::uint64_t kEndBytes = 22;
constexpr std::uint64_t kEnd64LocatorBytes = 20;
constexpr std::uint64_t kLongestComment = 0xffff;
constexpr std::uint32_t kSeeZip64 = 0xffffffff;

constexpr std::uint16_t kZip64Extra = 1;
constexpr unsigned kEncrypted = 1;  // bit of the flags

std::uint64_t u16(Bytes bytes, std::uint64_t at) { return little_endian<std::uint16_t>(bytes, at); }
std::uint64_t u32(Bytes bytes, std::uint64_t at) { return little_endian<std::uint32_t>(bytes, at); }
std::uint64_t u64(Bytes bytes, std::uint64_t at) { return little_endian<std::uint64_t>(bytes, at); }

[[noreturn]] void fail_damaged() {
  throw Error(ErrorKind::damaged,
              "is a damaged zip archive: it is truncated or was changed, fetch it again");
}

// Sizes that do not fit 32 bits are in a block of the extra field, in this order, only the needed
// ones.
void read_zip64(Bytes extra, std::initializer_list<std::uint64_t*> fields) {
  for (std::uint64_t at = 0; at + 4 <= extra.size();) {
    const Bytes block = part(extra, at + 4, u16(extra, at + 2));
    if (u16(extra, at) == kZip64Extra) {
      std::uint64_t next = 0;
      for (std::uint64_t* field : fields) {
        if (*field != kSeeZip64) continue;
        *field = u64(block, next);
        next += 8;
      }
      return;
    }
    at += 4 + block.size();
  }
}

}  // namespace

Zip::Zip(Bytes archive) : archive_(archive) {
  const Directory place = find_directory();
  const Bytes directory = part(archive_, place.at, place.bytes);
  std::uint64_t at = 0;
  for (std::uint64_t k = 0; k < place.entries; ++k) at = read_entry(directory, at);
}

Zip::Directory Zip::find_directory() const {
  // Searched from the end: only a comment can follow the end record.
  if (archive_.size() < kEndBytes) fail_damaged();
  const std::uint64_t last = archive_.size() - kEndBytes;
  const std::uint64_t first = last - std::min(last, kLongestComment);
  std::uint64_t end = last + 1;
  while (end > first && (u32(archive_, end - 1) != kEnd ||
                         u16(archive_, end - 1 + 20) != archive_.size() - (end - 1) - kEndBytes)) {
    --end;
  }
  if (end == first) fail_damaged();
  --end;
  if (end >= kEnd64LocatorBytes && u32(archive_, end - kEnd64LocatorBytes) == kEnd64Locator) {
    const std::uint64_t end64 = u64(archive_, end - kEnd64LocatorBytes + 8);
    const Bytes record = part(archive_, end64, 56);
    if (u32(record, 0) != kEnd64) fail_damaged();
    return {u64(record, 48), u64(record, 40), u64(record, 32)};
  }
  return {u32(archive_, end + 16), u32(archive_, end + 12), u16(archive_, end + 10)};
}

// Returns where the next one starts.
std::uint64_t Zip::read_entry(Bytes directory, std::uint64_t at) {
  const Bytes fixed = part(directory, at, kDirectoryEntryBytes);
  if (u32(fixed, 0) != kDirectoryEntry) fail_damaged();
  const std::uint64_t name_bytes = u16(fixed, 28);
  const std::uint64_t extra_bytes = u16(fixed, 30);
  const std::uint64_t comment_bytes = u16(fixed, 32);
  std::string name(text_of(part(directory, at + kDirectoryEntryBytes, name_bytes)));
  const Bytes extra = part(directory, at + kDirectoryEntryBytes + name_bytes, extra_bytes);

  std::uint64_t compressed = u32(fixed, 20);
  std::uint64_t bytes = u32(fixed, 24);
  std::uint64_t header = u32(fixed, 42);
  read_zip64(extra, {&bytes, &compressed, &header});
  if ((u16(fixed, 8) & kEncrypted) != 0) {
    throw Error(ErrorKind::unsupported, "is an encrypted zip archive: write it without a password");
  }
  const bool stored = u16(fixed, 10) == 0;
  if (stored && compressed != bytes) fail_damaged();
  if (!entries_.emplace(std::move(name), Entry{header, bytes, stored}).second) fail_damaged();
  return at + kDirectoryEntryBytes + name_bytes + extra_bytes + comment_bytes;
}

Bytes Zip::file(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    throw Error(ErrorKind::damaged,
                "has no " + shown(name) + " inside: it is damaged, fetch it again");
  }
  const Entry& entry = found->second;
  if (!entry.stored) {
    throw Error(ErrorKind::unsupported,
                "is a compressed zip archive, which torch never writes: save it with torch.save");
  }
  // The local header repeats the name, and its extra field may have another length.
  const Bytes header = part(archive_, entry.header, kLocalHeaderBytes);
  if (u32(header, 0) != kLocalHeader) fail_damaged();
  const std::uint64_t data = entry.header + kLocalHeaderBytes + u16(header, 26) + u16(header, 28);
  return part(archive_, data, entry.bytes);
}

std::vector<std::string> Zip::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

}  // namespace diml::weights
