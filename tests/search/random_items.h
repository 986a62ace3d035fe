#pragma once

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "diml/grid_store.h"
#include "diml/searcher.h"

namespace diml::test {

// Texts and numbers that are near each other in one way or another.
class RandomItems {
 public:
  explicit RandomItems(unsigned seed) : random_(seed) {}

  std::size_t below(std::size_t count) { return random_() % count; }

  std::string text() {
    static const std::vector<std::string> kTexts = {"",
                                                    "red",
                                                    "Red",
                                                    "blue",
                                                    "20",
                                                    "20.0",
                                                    "2e1",
                                                    "-0",
                                                    "0",
                                                    "1e400",
                                                    "-1e400",
                                                    "1e-400",
                                                    "5e-324",
                                                    "0.1",
                                                    "0.10000000000000000001",
                                                    "9007199254740993",
                                                    "9007199254740993.0",
                                                    "9223372036854775807",
                                                    "9223372036854775808",
                                                    "18446744073709551615",
                                                    "18446744073709551616",
                                                    "1e19",
                                                    "1.8446744073709551615e19",
                                                    "-9223372036854775808",
                                                    "-9223372036854775809",
                                                    "+5",
                                                    " 5",
                                                    "5 ",
                                                    "0x10",
                                                    "inf",
                                                    "nan",
                                                    "NaN",
                                                    "1e",
                                                    ".5",
                                                    "5.",
                                                    ".",
                                                    "-",
                                                    "1e00005",
                                                    "true",
                                                    "false",
                                                    "null",
                                                    "2024-05-31",
                                                    "\xC3\xA9t\xC3\xA9",
                                                    "\xF0\x9F\x90\x95",
                                                    "'; DROP TABLE diml.items; --",
                                                    "a,b",
                                                    "\"",
                                                    "\\",
                                                    "$1",
                                                    "%",
                                                    "_",
                                                    std::string("\0", 1),
                                                    std::string("x\0y", 3),
                                                    "\1",
                                                    "\1\1",
                                                    "\1\2",
                                                    "\2",
                                                    "\x7F",
                                                    "1234567890123456789012345678901234567890",
                                                    "1.7976931348623157e308",
                                                    "1.7976931348623159e308",
                                                    "4503599627370496.5",
                                                    "0e99999",
                                                    "-0.0e-99999",
                                                    "1e-99999",
                                                    "1" + std::string(998, '0'),
                                                    "1" + std::string(1001, '0'),
                                                    "0." + std::string(990, '0') + "1",
                                                    "0.30000000000000004",
                                                    "0.3",
                                                    "1e22",
                                                    "1e23",
                                                    "9.5367431640625e-07",
                                                    "123456789.123456789"};
    return kTexts[below(kTexts.size())];
  }

  nlohmann::json number() {
    switch (below(6)) {
      case 0:
        return static_cast<std::int64_t>(random_());
      case 1:
        return static_cast<std::uint64_t>(random_());
      case 2: {
        const double value = std::ldexp(static_cast<double>(below(100)) - 50.0,
                                        static_cast<int>(below(2000)) - 1000);
        return std::isfinite(value) ? value : 0.5;
      }
      case 3:
        return static_cast<int>(below(5)) - 2;
      default: {
        const std::string known = text();
        const nlohmann::json json = nlohmann::json::parse(known, nullptr, false);
        return json.is_number() ? json : nlohmann::json(0.1);
      }
    }
  }

  nlohmann::json value(int depth) {
    switch (below(depth > 2 ? 5 : 8)) {
      case 0:
        return nullptr;
      case 1:
        return below(2) == 0;
      case 2:
        return number();
      case 3:
      case 4:
        return text();
      case 5: {
        nlohmann::json list = nlohmann::json::array();
        for (std::size_t k = below(4); k > 0; --k) list.push_back(value(depth + 1));
        return list;
      }
      default:
        return object(depth + 1);
    }
  }

  std::string key() {
    static const std::vector<std::string> kKeys = {
        "a",  "b",     "a.b", "a.b.c",    "b.c", "c",  "a.", ".a",     ".",
        "..", "label", "A",   "\xC3\xA9", "'",   "\"", "$1", "a'; --", std::string("z\0", 2),
        "\1"};
    return kKeys[below(kKeys.size())];
  }

  nlohmann::json object(int depth) {
    nlohmann::json json = nlohmann::json::object();
    for (std::size_t k = below(5); k > 0; --k) json[key()] = value(depth);
    return json;
  }

  std::string label() {
    if (below(8) == 0) return std::string("\xFF") + text();
    return text();
  }

  // A condition as the grammar has it.
  std::string condition() {
    static const std::vector<std::string> kSigns = {"=", "!=", "<", "<=", ">", ">="};
    const std::size_t which = below(6);
    const std::string field = which == 0 ? "label" : which == 1 ? "path" : "metadata." + key();
    switch (below(4)) {
      case 0:
        return field + (below(2) == 0 ? " exists" : " missing");
      case 1: {
        nlohmann::json list = nlohmann::json::array();
        for (std::size_t k = 1 + below(3); k > 0; --k) {
          list.push_back(below(2) == 0 ? nlohmann::json(text()) : number());
        }
        return field + " in " + list.dump();
      }
      default: {
        const std::string operand = below(2) == 0 ? nlohmann::json(text()).dump() : number().dump();
        return field + kSigns[below(kSigns.size())] + operand;
      }
    }
  }

  NewItem item(std::size_t number) {
    return {.path = label() + "/" + std::to_string(number),
            .label = label(),
            .metadata = object(0).dump()};
  }

  // One that the grammar takes, of one condition or more.
  Filter filter() {
    for (;;) {
      std::vector<std::string> texts = {condition()};
      while (below(4) == 0) texts.push_back(condition());
      try {
        Filter made(texts);
        if (below(5) == 0) made = made.with_path_part(label().substr(0, 3));
        if (below(9) == 0) made = made.with_label(label());
        return made;
      } catch (const Error&) {  // such as an empty value
      }
    }
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace diml::test
