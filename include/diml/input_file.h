#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace diml {

// The whole of a regular file. Throws with the file's name.
std::vector<std::uint8_t> read_file(const std::string& path);

// Tells the system that the file will be read soon, and returns at once. What goes wrong is told by
// reading it.
void ask_for_file(const std::string& path);

}  // namespace diml
