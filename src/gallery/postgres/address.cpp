#include "address.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "base/lower_case.h"
#include "base/shown_text.h"
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
      const int letter = lower_case(c) - 'a';
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

// A parameter's name may be written with %XX, too.
bool is_secret(std::string_view parameter) {
  const std::string name = decoded(parameter.substr(0, parameter.find('='))).value_or("password");
  return lower_case(name).find("password") != std::string::npos;
}

// HOST:PORT, or several with commas between them; each part may be empty.
bool are_hosts(std::string_view text) {
  for (const std::string_view one : split(text, ',')) {
    const std::size_t end_of_six = one.starts_with('[') ? one.find(']') : 0;
    if (end_of_six == std::string_view::npos) return false;
    const std::size_t colon = one.find(':', end_of_six);
    if (colon == std::string_view::npos) continue;
    const std::string_view port = one.substr(colon + 1);
    if (!std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; })) {
      return false;
    }
  }
  return true;
}

// UTF-8 without control characters, so that it can stand in a message and in a table.
bool is_name(const std::string& name) {
  if (name.empty() || name.size() > kLongestName || !is_utf8(name)) return false;
  return std::none_of(name.begin(), name.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < ' ' || byte == 127;
  });
}

// An address that cannot be understood, without anything that may have been meant as a password:
// all from the first colon to the last @, or else to the next name, and parameters.
std::string masked(const std::string& text) {
  const std::size_t begin = text.find("://") + 3;
  const std::size_t colon = text.find(':', begin);
  std::size_t end = text.rfind('@');
  if (end == std::string::npos || end < begin) end = std::min(text.find('/', begin), text.size());
  std::string shown = colon < end ? text.substr(0, colon) + ":***" + text.substr(end) : text;
  const std::size_t query = shown.find('?', begin);
  if (query != std::string::npos) shown.replace(query + 1, std::string::npos, "...");
  return shown;
}

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw Error(masked(text) + ": " + why +
              ": write postgres://USER@HOST:PORT/DATABASE/GALLERY, and special characters as %XX");
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
  const std::string_view before = std::string_view(text).substr(begin, query - begin);
  const std::size_t at = before.rfind('@');
  const std::size_t hosts = at == std::string_view::npos ? 0 : at + 1;
  const std::size_t path = std::min(before.find('/', hosts), before.size());
  const std::string_view user = before.substr(0, at == std::string_view::npos ? 0 : at);
  // libpq does not take an @, a / or a ? in a password, nor a word as a port: they may be a
  // password of whoever forgot that.
  if (user.find_first_of("/@") != std::string_view::npos ||
      text.find('@', query) != std::string::npos ||
      !are_hosts(before.substr(hosts, path - hosts))) {
    refuse(text, "is not a valid address");
  }
  const std::size_t colon = user.find(':');
  const auto keep_secret = [&](std::string_view secret) {
    for (const std::string& one : {std::string(secret), decoded(secret).value_or("")}) {
      if (!one.empty()) address.secrets.push_back(one);
    }
  };
  if (colon != std::string_view::npos) keep_secret(user.substr(colon + 1));
  address.shown = text.substr(0, begin) + std::string(user.substr(0, colon)) +
                  (at == std::string_view::npos ? "" : "@") + std::string(before.substr(hosts));
  std::string open_parameters;
  if (query < text.size()) {
    for (const std::string_view one : split(std::string_view(text).substr(query + 1), '&')) {
      if (one.find('=') == std::string_view::npos) refuse(text, "is not a valid address");
      if (is_secret(one)) {
        keep_secret(one.substr(one.find('=') + 1));
        continue;
      }
      open_parameters += (open_parameters.empty() ? "?" : "&") + std::string(one);
    }
  }
  address.shown += open_parameters;
  if (path == before.size()) refuse(text, "names no gallery");
  const std::vector<std::string_view> parts = split(before.substr(path + 1), '/');
  if (parts.size() != 2 || parts[1].empty()) {
    refuse(text,
           parts.size() < 2 || parts[1].empty() ? "names no gallery" : "has more than two names");
  }
  const std::optional<std::string> gallery = decoded(parts[1]);
  if (!gallery || !is_name(*gallery)) {
    refuse(text, "has no valid name of a gallery (up to " + std::to_string(kLongestName) +
                     " bytes of UTF-8, without control characters)");
  }
  address.gallery = *gallery;
  address.database = text.substr(0, begin) + std::string(before.substr(0, path + 1)) +
                     std::string(parts[0]) + text.substr(query);
  return address;
}

}  // namespace diml::postgres
