#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace diml::text {

// Values as text and back. Numbers use the shortest text that is read back as the same number; the
// whole text must be the value.

template <typename T>
concept Number = (std::integral<T> || std::floating_point<T>)&&!std::same_as<T, bool>;

template <Number T>
std::string to_text(T value) {
  char text[32];  // the longest double needs 24
  return {text, std::to_chars(text, text + sizeof(text), value).ptr};
}

inline std::string to_text(bool value) { return value ? "true" : "false"; }
inline std::string to_text(const std::string& value) { return value; }

template <Number T>
std::string to_text(const std::vector<T>& values) {
  std::string text;
  for (const T value : values) {
    if (!text.empty()) text += ',';
    text += to_text(value);
  }
  return text;
}

template <Number T>
bool from_text(std::string_view text, T& value) {
  T parsed{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, parsed);
  if (error != std::errc{} || stop != end) return false;
  if constexpr (std::floating_point<T>) {
    if (!std::isfinite(parsed)) return false;
  }
  value = parsed;
  return true;
}

inline bool from_text(std::string_view text, bool& value) {
  if (text != "true" && text != "false") return false;
  value = text == "true";
  return true;
}

inline bool from_text(std::string_view text, std::string& value) {
  value = text;
  return true;
}

// Blanks around the commas are ignored; an empty text is an empty list.
template <Number T>
bool from_text(std::string_view text, std::vector<T>& values) {
  std::vector<T> parsed;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    std::string_view one = text.substr(0, comma);
    while (one.starts_with(' ')) one.remove_prefix(1);
    while (one.ends_with(' ')) one.remove_suffix(1);
    if (!from_text(one, parsed.emplace_back())) return false;
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
    if (text.empty()) return false;  // a comma with nothing after it
  }
  values = std::move(parsed);
  return true;
}

// The values that from_text accepts, for messages.
template <typename T>
const char* kind_of(const T& /*value*/) {
  if constexpr (std::same_as<T, bool>) return "true or false";
  if constexpr (std::floating_point<T>) return "a number";
  if constexpr (std::signed_integral<T>) return "a whole number";
  if constexpr (std::unsigned_integral<T>) return "a whole number of at least 0";
  return "whole numbers with commas between them";
}

}  // namespace diml::text
