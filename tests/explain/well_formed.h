#pragma once

#include <cctype>
#include <string>
#include <vector>

namespace diml::test {

// Errors of a text as XML: tags that do not nest, attributes without quotes, stray markup. Empty
// for a well-formed text. Does not support DTDs.
inline std::string fault_of_xml(const std::string& text) {
  std::vector<std::string> open;
  std::size_t roots = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t tag = text.find('<', at);
    const std::string between = text.substr(at, tag - at);
    for (std::size_t a = between.find('&'); a != std::string::npos; a = between.find('&', a + 1)) {
      const std::size_t end = between.find(';', a);
      if (end == std::string::npos || end - a > 8) return "a stray & in " + between.substr(a, 20);
    }
    if (open.empty() && between.find_first_not_of(" \n\r\t") != std::string::npos) {
      return "text outside the root: " + between.substr(0, 20);
    }
    if (tag == std::string::npos) break;
    if (text.compare(tag, 2, "<?") == 0 || text.compare(tag, 4, "<!--") == 0) {
      const char* end = text[tag + 1] == '?' ? "?>" : "-->";
      at = text.find(end, tag);
      if (at == std::string::npos) return "an unended comment";
      at += std::string(end).size();
      continue;
    }
    std::size_t end = tag + 1;
    char quote = 0;
    for (; end < text.size() && (quote != 0 || text[end] != '>'); ++end) {
      if (text[end] == '<') return "a stray <";
      if (quote == 0 && (text[end] == '"' || text[end] == '\'')) {
        if (text[end - 1] != '=') return "a stray quote";
        quote = text[end];
      } else if (text[end] == quote) {
        quote = 0;
      }
    }
    if (end == text.size()) return "an unended tag";
    std::size_t name = tag + 1;
    const bool closes = text[name] == '/';
    if (closes) ++name;
    std::size_t stop = name;
    while (std::isalnum(static_cast<unsigned char>(text[stop])) || text[stop] == ':' ||
           text[stop] == '-' || text[stop] == '_') {
      ++stop;
    }
    const std::string word = text.substr(name, stop - name);
    if (word.empty()) return "a tag without a name";
    if (closes) {
      if (open.empty() || open.back() != word) return "</" + word + "> closes nothing";
      open.pop_back();
    } else {
      if (open.empty()) ++roots;
      if (text[end - 1] != '/') open.push_back(word);
    }
    at = end + 1;
  }
  if (!open.empty()) return "<" + open.back() + "> is not closed";
  return roots == 1 ? "" : "there must be one root";
}

}  // namespace diml::test
