#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace diml::test {

// A layer of the library, and what it may include.
struct Layer {
  std::string name;                    // its sources lie in src/NAME
  std::vector<std::string> stands_on;  // itself, what those stand on included
  std::vector<std::string> headers;    // in include/diml, without .h; "learn/*" for a folder
};

// Bottom up, in the order of src/CMakeLists.txt; the program is the last.
const std::vector<Layer>& layers();

// Of a path from the repository's root; "" where no layer owns it.
std::string layer_of(const std::string& path);

bool may_include(std::string_view from, std::string_view what);

// Sources and headers below src, apps and include, from the repository's root.
std::vector<std::string> source_files();

// What stands in quotes behind #include.
std::vector<std::string> includes_of(const std::string& file);

// The file that an #include of `file` means, from the repository's root; "" where none is found.
std::string resolved(const std::string& include, const std::string& file);

}  // namespace diml::test
