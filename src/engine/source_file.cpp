#include "engine/source_file.h"

#include <filesystem>

#include <sys/stat.h>

#include "base/sha256.h"

namespace diml {
namespace {

bool same_glance(const SourceFile& a, const SourceFile& b) {
  return a.size == b.size && a.modified == b.modified;
}

}  // namespace

std::optional<SourceFile> glance_at(const std::string& path) {
  // std::filesystem has file times of an epoch of its own; galleries are read for years.
  struct ::stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  constexpr std::int64_t kNanoseconds = 1'000'000'000;
  return SourceFile{static_cast<std::uint64_t>(status.st_size),
                    static_cast<std::int64_t>(status.st_mtim.tv_sec) * kNanoseconds +
                        static_cast<std::int64_t>(status.st_mtim.tv_nsec),
                    ""};
}

std::optional<SourceFile> source_of(const std::string& path, const SourceFile& glance) {
  SourceFile source = glance;
  source.sha256 = sha256_of_file(path);
  const std::optional<SourceFile> after = glance_at(path);
  if (!after || !same_glance(*after, glance)) return std::nullopt;
  return source;
}

std::optional<SourceFile> source_of_bytes(const std::string& path, std::string_view bytes) {
  if (!std::filesystem::path(path).is_absolute()) return std::nullopt;
  const std::optional<SourceFile> glance = glance_at(path);
  if (!glance || glance->size != bytes.size()) return std::nullopt;
  Sha256 sha;
  sha.update({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  try {
    const std::optional<SourceFile> source = source_of(path, *glance);
    return source && source->sha256 == sha.hex() ? source : std::nullopt;
  } catch (const std::exception&) {
    return std::nullopt;  // a file that may not be read is none that the item was made of
  }
}

FileNow compare_with_file(const SourceFile& then, const std::string& path) {
  const std::optional<SourceFile> now = glance_at(path);
  if (!now) return {};
  if (same_glance(*now, then)) return {FileState::unchanged, then};
  if (now->size != then.size) return {FileState::changed, *now};
  const std::optional<SourceFile> read = source_of(path, *now);
  if (!read || read->sha256 != then.sha256) return {FileState::changed, *now};
  return {FileState::touched, *read};
}

}  // namespace diml
