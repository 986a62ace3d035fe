#include "base/shown_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <utility>

namespace diml {
namespace {

struct Character {
  std::uint32_t point = 0;
  std::size_t bytes = 0;  // 0: the first byte is no UTF-8
};

// The first one of a text that is not empty.
Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return {};
  std::uint32_t point = first & (0xffU >> (bytes + 1));
  for (std::size_t k = 1; k < bytes; ++k) {
    if ((byte(k) & 0xc0U) != 0x80) return {};
    point = point << 6 | (byte(k) & 0x3fU);
  }
  constexpr std::array<std::uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_half = point >= 0xd800 && point < 0xe000;  // of a pair of UTF-16
  if (point < kLeast[bytes] || point > 0x10ffff || is_half) return {};
  return {point, bytes};
}

// Moves the cursor, hides itself, or changes the direction of what follows.
bool is_hidden(std::uint32_t point) {
  constexpr std::array<std::pair<std::uint32_t, std::uint32_t>, 10> kRanges = {{
      {0x00, 0x1f},
      {0x7f, 0x9f},
      {0xad, 0xad},
      {0x61c, 0x61c},
      {0x200b, 0x200f},
      {0x2028, 0x202e},
      {0x2060, 0x206f},
      {0xfeff, 0xfeff},
      {0xfff9, 0xfffb},
      {0xe0000, 0xe007f},
  }};
  return std::any_of(kRanges.begin(), kRanges.end(), [&](const auto& range) {
    return point >= range.first && point <= range.second;
  });
}

constexpr std::array<std::pair<char, char>, 4> kLetters = {
    {{'\n', 'n'}, {'\r', 'r'}, {'\t', 't'}, {'\\', '\\'}}};

void append_escaped(std::string& text, char byte) {
  for (const auto& [meant, letter] : kLetters) {
    if (byte != meant) continue;
    text += {'\\', letter};
    return;
  }
  constexpr const char* kDigits = "0123456789ABCDEF";
  const auto value = static_cast<unsigned char>(byte);
  text += {'\\', 'x', kDigits[value / 16], kDigits[value % 16]};
}

enum class Backslash { escaped, plain };

std::string escaped(std::string_view text, Backslash backslash) {
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    const Character next = first_of(text);
    const std::size_t bytes = std::max<std::size_t>(next.bytes, 1);
    const bool is_plain = next.bytes > 0 && !is_hidden(next.point) &&
                          (next.point != '\\' || backslash == Backslash::plain);
    for (const char byte : text.substr(0, bytes)) {
      if (is_plain) {
        safe += byte;
      } else {
        append_escaped(safe, byte);
      }
    }
    text.remove_prefix(bytes);
  }
  return safe;
}

}  // namespace

std::string shown(std::string_view name) { return escaped(name, Backslash::escaped); }

std::string shown_message(std::string_view message) { return escaped(message, Backslash::plain); }

std::optional<std::string> name_of_shown(std::string_view text) {
  std::string name;
  while (!text.empty()) {
    if (text.front() != '\\') {
      name += text.front();
      text.remove_prefix(1);
      continue;
    }
    if (text.size() < 2) return std::nullopt;
    const auto letter = std::find_if(kLetters.begin(), kLetters.end(),
                                     [&](const auto& pair) { return pair.second == text[1]; });
    if (letter != kLetters.end()) {
      name += letter->first;
      text.remove_prefix(2);
      continue;
    }
    unsigned value = 0;
    if (text[1] != 'x' || text.size() < 4) return std::nullopt;
    const auto [end, error] = std::from_chars(text.data() + 2, text.data() + 4, value, 16);
    if (error != std::errc() || end != text.data() + 4) return std::nullopt;
    name += static_cast<char>(value);
    text.remove_prefix(4);
  }
  return name;
}

std::string line_of_name(const std::string& name) {
  const bool is_plain = !name.starts_with('"') && std::all_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) >= ' ' || c == '\t';
  });
  return is_plain ? name : '"' + shown(name) + '"';
}

std::string name_of_line(const std::string& line) {
  if (line.size() < 2 || line.front() != '"' || line.back() != '"') return line;
  return name_of_shown(std::string_view(line).substr(1, line.size() - 2)).value_or(line);
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = first_of(text).bytes;
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

std::string as_utf8(std::string_view text) {
  std::string whole;
  whole.reserve(text.size());
  while (!text.empty()) {
    const std::size_t bytes = first_of(text).bytes;
    whole += bytes == 0 ? std::string_view("\xef\xbf\xbd") : text.substr(0, bytes);
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return whole;
}

}  // namespace diml
