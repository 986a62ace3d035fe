#include "address.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string_view>
#include <vector>

#include "diml/error.h"

namespace diml::postgres {
namespace {

constexpr std::array<std::string_view, 2> kSchemes = {"postgres://", "postgresql://"};
constexpr std::size_t kLongestName = 200;  // bytes of a gallery's name

std::optional<std::string> decoded(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      plain += text[at];
      continue;
    }
    const auto digit = [&](std::size_t place) {
      const char c = place < text.size() ? text[place] : ' ';
      if (c >= '0' && c <= '9') return c - '0';
      const int letter = std::tolower(static_cast<unsigned char>(c)) - 'a';
      return letter >= 0 && letter < 6 ? letter + 10 : -1;
    };
    const int high = digit(at + 1);
    const int low = digit(at + 2);
    if (high < 0 || low < 0) return std::nullopt;
    plain += static_cast<char>(16 * high + low);
    at += 2;
  }
  return plain;
}

std::vector<std::string_view> split(std::string_view text, char between) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(between, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool is_secret(std::string_view parameter) {
  return parameter.starts_with("password=") || parameter.starts_with("sslpassword=");
}

// UTF-8 without control characters, so that it can stand in a message and in a table.
bool is_name(const std::string& name) {
  if (name.empty() || name.size() > kLongestName) return false;
  std::size_t following = 0;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (following > 0) {
      if ((byte & 0xC0) != 0x80) return false;
      --following;
    } else if (byte < ' ' || byte == 127 || (byte >= 0x80 && byte < 0xC2) || byte > 0xF4) {
      return false;
    } else {
      following = byte < 0x80 ? 0 : byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
    }
  }
  return following == 0;
}

[[noreturn]] void refuse(const std::string& shown, const std::string& why) {
  throw Error(shown + ": " + why + ": write postgres://USER@HOST:PORT/DATABASE/GALLERY");
}

}  // namespace

bool is_address(const std::string& name) {
  return std::any_of(kSchemes.begin(), kSchemes.end(),
                     [&](std::string_view scheme) { return name.starts_with(scheme); });
}

Address address_from(const std::string& text) {
  Address address;
  const std::size_t begin = text.find("://") + 3;
  const std::size_t query = std::min(text.find('?', begin), text.size());
  // A password may have an @ of its own, which libpq does not take either; no part of it is shown.
  const std::string_view before = std::string_view(text).substr(begin, query - begin);
  const std::size_t at = before.rfind('@');
  const std::size_t path = std::min(before.find('/', at == std::string_view::npos ? 0 : at),
                                    before.size());
  const std::string_view user =
      at == std::string_view::npos ? std::string_view() : before.substr(0, at);
  const std::size_t colon = user.find(':');
  if (colon != std::string_view::npos) {
    address.password = decoded(user.substr(colon + 1)).value_or("");
  }
  address.shown = text.substr(0, begin) + std::string(user.substr(0, colon)) +
                  (at == std::string_view::npos ? "" : "@");
  const std::size_t host = at == std::string_view::npos ? 0 : at + 1;
  address.shown += before.substr(host);
  std::string open_parameters;
  if (query < text.size()) {
    for (const std::string_view one : split(std::string_view(text).substr(query + 1), '&')) {
      if (is_secret(one)) {
        address.password = decoded(one.substr(one.find('=') + 1)).value_or("");
        continue;
      }
      open_parameters += (open_parameters.empty() ? "?" : "&") + std::string(one);
    }
  }
  address.shown += open_parameters;
  if (path == before.size()) refuse(address.shown, "names no gallery");
  const std::vector<std::string_view> parts = split(before.substr(path + 1), '/');
  if (parts.size() != 2 || parts[1].empty()) {
    refuse(address.shown, parts.size() < 2 || parts[1].empty() ? "names no gallery"
                                                               : "has more than two names");
  }
  const std::optional<std::string> gallery = decoded(parts[1]);
  if (!gallery || !is_name(*gallery)) {
    refuse(address.shown, "has no valid name of a gallery (up to " + std::to_string(kLongestName) +
                              " bytes of UTF-8, without control characters)");
  }
  address.gallery = *gallery;
  address.database = text.substr(0, begin) + std::string(before.substr(0, path + 1)) +
                     std::string(parts[0]) + text.substr(query);
  return address;
}

}  // namespace diml::postgres
