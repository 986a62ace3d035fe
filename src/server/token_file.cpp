#include <iterator>
#include <sstream>

#include "diml/error.h"
#include "diml/server.h"

namespace diml {
namespace {

[[noreturn]] void refuse_line(const std::string& file, std::size_t number, const std::string& why) {
  throw Error(file + ", line " + std::to_string(number) + ": " + why);
}

// "read NAME SECRET"
AccessToken token_in(const std::vector<std::string>& words, const std::string& file,
                     std::size_t number) {
  if (words.size() != 3) {
    refuse_line(file, number, "a line is: read NAME TOKEN, or write NAME TOKEN");
  }
  if (words[0] != "read" && words[0] != "write") {
    refuse_line(file, number, "rights are read or write");
  }
  return {words[1], words[2], words[0] == "read" ? TokenRights::read : TokenRights::write};
}

}  // namespace

std::vector<AccessToken> parse_tokens(const std::string& text, const std::string& file) {
  std::vector<AccessToken> tokens;
  std::istringstream lines(text);
  std::size_t number = 0;
  bool is_alone = false;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string::npos || line[first] == '#') continue;
    std::istringstream of_line(line);
    const std::vector<std::string> words{std::istream_iterator<std::string>(of_line), {}};
    if (is_alone || (words.size() == 1 && !tokens.empty())) {
      refuse_line(file, number, "a file has one token alone, or lines of: read NAME TOKEN");
    }
    is_alone = words.size() == 1;
    tokens.push_back(is_alone ? AccessToken{"token", words[0]} : token_in(words, file, number));
  }
  if (tokens.empty()) throw Error(file + ": holds no token");
  return tokens;
}

}  // namespace diml
