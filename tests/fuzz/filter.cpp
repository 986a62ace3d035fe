// Conditions, one a line; the last line is the metadata of an item.
#include <string>
#include <vector>

#include "diml/searcher.h"
#include "fuzz/fuzz_target.h"
#include "search/item_metadata.h"

namespace {

void read(std::span<const std::uint8_t> bytes) {
  std::vector<std::string> lines(1);
  for (const std::uint8_t byte : bytes) {
    if (byte == '\n' && lines.size() < 8) {
      lines.emplace_back();
    } else {
      lines.back() += static_cast<char>(byte);
    }
  }
  diml::Item item;
  item.path = "birds/1.jpg";
  item.label = "pug";
  item.metadata = diml::checked_metadata(lines.back(), "an item");
  lines.pop_back();
  const diml::Filter filter(lines);
  (void)filter.admits(item);
  (void)filter.with_path_part("bird").with_label("pug").admits(item);
}

}  // namespace

DIML_FUZZ_TARGET(read)
