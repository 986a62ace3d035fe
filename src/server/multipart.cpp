#include "multipart.h"

#include <algorithm>
#include <optional>

#include "base/lower_case.h"
#include "refusal.h"

namespace diml::server {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::size_t kMostHeaderBytes = 4096;
constexpr std::size_t kLongestBoundary = 70;  // RFC 2046

[[noreturn]] void refuse(const std::string& why) { throw Refusal(400, "the form " + why); }

// name="value" or name=value after a semicolon.
std::optional<std::string> parameter(std::string_view header, const std::string& name) {
  const std::string small = lower_case(header);
  for (std::size_t at = small.find(';'); at != std::string::npos; at = small.find(';', at + 1)) {
    std::size_t from = small.find_first_not_of(" \t", at + 1);
    if (from == std::string::npos || small.compare(from, name.size() + 1, name + "=") != 0)
      continue;
    from += name.size() + 1;
    if (from < header.size() && header[from] == '"') {
      std::string value;
      for (std::size_t i = from + 1; i < header.size() && header[i] != '"'; ++i) {
        if (header[i] == '\\' && i + 1 < header.size()) ++i;
        value += header[i];
      }
      return value;
    }
    return std::string(header.substr(from, header.find_first_of("; \t", from) - from));
  }
  return std::nullopt;
}

FormPart parse_part(std::string_view part) {
  const std::size_t end = part.find("\r\n\r\n");
  if (end == std::string_view::npos || end > kMostHeaderBytes) refuse("has a part without headers");
  std::string_view headers = part.substr(0, end + kLineEnd.size());
  FormPart made;
  made.bytes = part.substr(end + 4);
  while (!headers.empty()) {
    const std::size_t stop = headers.find(kLineEnd);
    const std::string_view line = headers.substr(0, stop);
    headers.remove_prefix(stop + kLineEnd.size());
    if (!lower_case(line).starts_with("content-disposition:")) continue;
    made.name = parameter(line, "name").value_or("");
    made.filename = parameter(line, "filename").value_or("");
  }
  if (made.name.empty()) refuse("has a part without a name");
  return made;
}

}  // namespace

std::vector<FormPart> parse_form(std::string_view content_type, std::string_view body) {
  const std::string boundary = parameter(content_type, "boundary").value_or("");
  if (boundary.empty() || boundary.size() > kLongestBoundary)
    refuse("does not declare its boundary");
  const std::string opening = "--" + boundary;
  const std::string separator = "\r\n" + opening;
  if (!body.starts_with(opening)) refuse("does not begin with its boundary");
  body.remove_prefix(opening.size());
  std::vector<FormPart> parts;
  while (!body.starts_with("--")) {
    if (!body.starts_with(kLineEnd)) refuse("has an invalid boundary");
    body.remove_prefix(kLineEnd.size());
    const std::size_t end = body.find(separator);
    if (end == std::string_view::npos) refuse("is incomplete");
    if (parts.size() == kMostParts) {
      refuse("has more than " + std::to_string(kMostParts) + " parts: send them in several calls");
    }
    parts.push_back(parse_part(body.substr(0, end)));
    body.remove_prefix(end + separator.size());
  }
  return parts;
}

}  // namespace diml::server
