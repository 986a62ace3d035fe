#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "diml/searcher.h"

namespace diml::cli {

struct SheetHit {
  Hit hit;
  std::vector<std::uint8_t> thumbnail;  // JPEG, or nothing
};

struct SheetQuery {
  std::string name;
  std::vector<std::uint8_t> thumbnail;
  std::vector<SheetHit> hits;
};

// Queries and their hits as one HTML file: it contains the pictures and loads nothing.
std::string contact_sheet(const std::string& gallery, const std::vector<SheetQuery>& queries);

}  // namespace diml::cli
