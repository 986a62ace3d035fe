#include "answers.h"

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/shown_text.h"
#include "diml/error.h"

namespace diml::server {

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::optional<std::string> path_bytes_of(const Item& item) {
  if (is_utf8(item.path)) return std::nullopt;
  return base64({item.path.begin(), item.path.end()});
}

std::optional<std::string> label_of(const Item& item) {
  if (item.label.empty()) return std::nullopt;
  return item.label;
}

JsonText metadata_of(const Item& item) {
  if (!item.metadata.starts_with('{') || !nlohmann::json::accept(item.metadata)) {
    throw Error(ErrorKind::damaged,
                "item " + std::to_string(item.id) + " is damaged: verify the gallery", "verify");
  }
  return {item.metadata};
}

}  // namespace diml::server
