#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace diml::test {

// A layer of the library, and what it may include.
struct Layer {
  std::string name;                    // its sources lie in src/NAME
  std::vector<std::string> stands_on;  // and on the layers that those stand on
  std::vector<std::string> headers;    // in include/diml, without .h; "learn/*" for a folder
};

// Bottom up, in the order of src/CMakeLists.txt; the program is the last.
const std::vector<Layer>& layers();

// The layer of a path from the repository's root; "" if it belongs to none.
std::string layer_of(const std::string& path);

bool may_include(std::string_view from, std::string_view what);

// Sources and headers below src, apps and include, from the repository's root.
std::vector<std::string> source_files();

// The quoted name after #include.
std::vector<std::string> includes_of(const std::string& file);

// The file that an #include in `file` refers to, from the repository's root; "" if there is none.
std::string resolved(const std::string& include, const std::string& file);

}  // namespace diml::test
