#include "item_row.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "gallery/checksum.h"
#include "gallery/records.h"

namespace diml::postgres {
namespace {

using Json = nlohmann::json;

// Every part after its size, so that no two lists of parts are the same bytes.
std::int64_t sum_of(std::int64_t id, std::initializer_list<Bytes> parts) {
  std::vector<std::byte> all;
  for (const Bytes part : parts) {
    append_number(all, static_cast<std::uint64_t>(part.size()));
    all.insert(all.end(), part.begin(), part.end());
  }
  return static_cast<std::int64_t>(gallery::checksum(all, gallery::checksum(gallery::key_of(id))));
}

void append(const Json& json, std::string& text) {
  if (json.is_object()) {
    char before = '{';
    for (const auto& [name, value] : json.items()) {
      text += before + Json(searchable_text(name)).dump() + ':';
      append(value, text);
      before = ',';
    }
    text += json.empty() ? "{}" : "}";
  } else if (json.is_array()) {
    char before = '[';
    for (const Json& value : json) {
      text += before;
      append(value, text);
      before = ',';
    }
    text += json.empty() ? "[]" : "]";
  } else if (json.is_string()) {
    text += Json(searchable_text(json.get_ref<const std::string&>())).dump();
  } else if (json.is_number_float()) {
    text += numeric_text(static_cast<long double>(json.get<double>()));
  } else {
    text += json.dump();
  }
}

}  // namespace

std::int64_t words_checksum(const Item& item) {
  return sum_of(item.id, {bytes_of(item.path), bytes_of(item.label), bytes_of(item.metadata),
                          bytes_of(gallery::text_of(item.source))});
}

std::int64_t vector_checksum(std::int64_t id, Bytes label, std::span<const float> global) {
  return sum_of(id, {label, std::as_bytes(global)});
}

std::int64_t checksum_of(std::int64_t id, Bytes part) { return sum_of(id, {part}); }

std::string searchable_text(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\0') {
      escaped += "\1\1";
    } else if (c == '\1') {
      escaped += "\1\2";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string numeric_text(long double number) {
  constexpr long double kBeyondIntegers = 18446744073709551616.0L;  // 2^64
  std::array<char, 64> text{};
  if (std::trunc(number) == number && std::abs(number) < kBeyondIntegers) {
    std::snprintf(text.data(), text.size(), "%.0Lf", number);
    return text.data();
  }
  const auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), static_cast<double>(number));
  return {text.data(), end};
}

std::string searchable_metadata(const std::string& metadata) {
  std::string text;
  append(Json::parse(metadata), text);
  return text;
}

std::string path_digest(const std::string& path) {
  const std::string hex = gallery::path_key(path);
  std::string digest;
  for (std::size_t at = 0; at < hex.size(); at += 2) {
    digest += static_cast<char>(std::stoi(hex.substr(at, 2), nullptr, 16));
  }
  return digest;
}

std::optional<Item> item_in(const Result& rows, std::size_t row, std::size_t first) {
  Item item{rows.number(row, first), rows.text(row, first + 1), rows.text(row, first + 2),
            rows.text(row, first + 3)};
  if (!rows.is_null(row, first + 4)) {
    item.source = SourceFile{static_cast<std::uint64_t>(rows.number(row, first + 4)),
                             rows.is_null(row, first + 5) ? 0 : rows.number(row, first + 5),
                             rows.text(row, first + 6)};
  }
  if (rows.number(row, first + 7) != words_checksum(item)) return std::nullopt;
  return item;
}

bool read_vector(const Result& rows, std::size_t row, std::span<float> into, std::size_t first) {
  return rows.read_floats(row, first + 2, into) &&
         rows.number(row, first + 3) ==
             vector_checksum(rows.number(row, first), rows.bytes(row, first + 1), into);
}

bool is_intact(const Result& rows, std::size_t row, std::int64_t id, std::size_t first) {
  return rows.number(row, first + 1) == checksum_of(id, rows.bytes(row, first));
}

}  // namespace diml::postgres
