#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "diml/error.h"
#include "diml/learn/miner.h"

namespace diml::learn {

// "there is no loss 'margn': did you mean margin?"
std::string no_such_name(std::string_view noun, std::string_view name,
                         const std::vector<std::string>& known);

// The defaults, overridden by `given`. owner: "the loss margin", for error messages.
Numbers with_defaults(const Numbers& given, const Numbers& defaults, const std::string& owner);

// The number, which must lie in [low, high]. owner as above.
double number_between(const Numbers& numbers, const char* name, double low, double high,
                      const std::string& owner);

// The entry of a table with this name. noun: "loss".
template <typename Kind>
const Kind& kind_named(const std::vector<Kind>& kinds, std::string_view name,
                       std::string_view noun) {
  std::vector<std::string> known;
  for (const Kind& kind : kinds) {
    if (name == kind.name) return kind;
    known.emplace_back(kind.name);
  }
  throw Error(no_such_name(noun, name, known));
}

}  // namespace diml::learn
