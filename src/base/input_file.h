#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace diml {

// The whole of a regular file. Throws with the file's name.
std::vector<std::uint8_t> read_file(const std::string& path);

// The lines of a text file, without the CR of lines that end in CR LF. Throws with the file's name.
std::vector<std::string> read_lines(const std::string& path);

// The names of a list, see base/shown_text.h: one in each line.
std::vector<std::string> read_names(const std::string& path);

// Prefetches the file: tells the system that it will be read soon, and returns at once. Errors are
// reported when the file is read.
void ask_for_file(const std::string& path);

}  // namespace diml
