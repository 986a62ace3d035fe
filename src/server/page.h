#pragma once

#include <string>
#include <string_view>

#include "call.h"

namespace diml::server {

// A file of the page, as embedded in the program.
struct PageFile {
  std::string path;  // "/app.js"
  std::string type;
  std::string_view bytes;
  std::string tag;
};

// Null if there is none.
const PageFile* find_page_file(const std::string& path);

// known_tag: the ETag that the browser already has.
Reply page_reply(const PageFile& file, const std::string& known_tag);

}  // namespace diml::server
