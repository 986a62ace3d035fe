#pragma once

#include <string>
#include <string_view>

#include "call.h"

namespace diml::server {

// A file of the page, as it lies in the program.
struct PageFile {
  std::string path;  // "/app.js"
  std::string type;
  std::string_view bytes;
  std::string tag;
};

// Null where there is none.
const PageFile* find_page_file(const std::string& path);

// known_tag: what the browser has already.
Reply page_reply(const PageFile& file, const std::string& known_tag);

}  // namespace diml::server
