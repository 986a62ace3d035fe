#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "diml/grid_store.h"

namespace diml {

// Size and time of a file, without reading it: sha256 is "". None where there is no such file.
std::optional<SourceFile> glance_at(const std::string& path);

// The same with the hash. None where size or time differ from `glance`, before or after
// reading: the content of the hash is then not known.
std::optional<SourceFile> source_of(const std::string& path, const SourceFile& glance);

// Of bytes that were uploaded, where the file of this absolute path has the same bytes: a later
// change of the file is then noticed. None where there is no such file.
std::optional<SourceFile> source_of_bytes(const std::string& path, std::string_view bytes);

enum class FileState : std::uint8_t {
  unchanged,  // the same size and time: it was not read
  touched,    // another time, the same bytes
  changed,
  missing,
};

struct FileNow {
  FileState state = FileState::missing;
  SourceFile source{};  // with the hash where the file was touched
};

// The file is read only where its size is the same and its time is not.
FileNow compare_with_file(const SourceFile& then, const std::string& path);

}  // namespace diml
