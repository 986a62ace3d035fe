#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/shown_text.h"

namespace diml {

// Names of files are bytes, texts of JSON are UTF-8. "path" is for people, with U+FFFD where a byte
// is no UTF-8; then "path_bytes" has the name in base64, and whoever reads it takes that.

inline std::string name_in_base64(const std::string& name) {
  return base64({name.begin(), name.end()});
}

template <class Json>
void put_name(Json& object, const std::string& key, const std::string& name) {
  object[key] = as_utf8(name);
  if (!is_utf8(name)) object[key + "_bytes"] = name_in_base64(name);
}

// The name under this key; none where it is not text, or its bytes are not base64.
template <class Json>
std::optional<std::string> name_in(const Json& object, const std::string& key) {
  const auto bytes = object.find(key + "_bytes");
  if (bytes != object.end()) {
    if (!bytes->is_string()) return std::nullopt;
    return bytes_of_base64(bytes->template get<std::string>());
  }
  const auto text = object.find(key);
  if (text == object.end() || !text->is_string()) return std::nullopt;
  return text->template get<std::string>();
}

// JSON that is written, whatever bytes its texts have.
template <class Json>
std::string text_of_json(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace diml
