#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace diml::server {

// The fields of an answer are listed once, in a function of its struct:
//
//   template <class Fields>
//   void list(Fields& fields) const {
//     fields("rank", rank, "After re-ranking, from 1");
//   }
//
// AnswerWriter calls it to write JSON, AnswerSchemas to describe it: an answer has exactly the
// fields of its schema. An optional field is a std::optional, null in JSON.

// A JSON object, sent as it was stored.
struct JsonText {
  std::string text = "{}";
};

template <class>
inline constexpr bool is_vector = false;
template <class Value>
inline constexpr bool is_vector<std::vector<Value>> = true;
template <class>
inline constexpr bool is_optional = false;
template <class Value>
inline constexpr bool is_optional<std::optional<Value>> = true;
template <class Type>
concept Listed = requires {
  Type::kName;
};

// The text as a JSON string, with quotes. Invalid UTF-8 is replaced: paths may contain any bytes.
std::string quoted(const std::string& text);

class AnswerWriter {
 public:
  explicit AnswerWriter(std::string& out) : out_(out) {}

  template <class Value>
  void operator()(const char* name, const Value& value, const char* = "") {
    if (!is_first_) out_ += ',';
    is_first_ = false;
    out_.append("\"").append(name).append("\":");
    write(value);
  }

  template <class Value>
  void write(const Value& value) {
    if constexpr (is_vector<Value>) {
      out_ += '[';
      for (std::size_t i = 0; i < value.size(); ++i) {
        if (i > 0) out_ += ',';
        write(value[i]);
      }
      out_ += ']';
    } else if constexpr (is_optional<Value>) {
      if (value) {
        write(*value);
      } else {
        out_ += "null";
      }
    } else if constexpr (Listed<Value>) {
      out_ += '{';
      AnswerWriter fields(out_);
      value.list(fields);
      out_ += '}';
    } else if constexpr (std::is_same_v<Value, bool>) {
      out_ += value ? "true" : "false";
    } else if constexpr (std::is_arithmetic_v<Value>) {
      write_number(value);
    } else if constexpr (std::is_same_v<Value, JsonText>) {
      out_ += value.text;
    } else {
      out_ += quoted(value);
    }
  }

 private:
  // The shortest text that parses to the same number.
  template <class Number>
  void write_number(Number value) {
    if constexpr (std::is_floating_point_v<Number>) {
      if (!std::isfinite(value)) {  // JSON cannot represent it
        out_ += "null";
        return;
      }
    }
    char text[32];
    out_.append(text, std::to_chars(text, text + sizeof(text), value).ptr);
  }

  std::string& out_;
  bool is_first_ = true;
};

template <Listed Answer>
std::string json_of(const Answer& answer) {
  std::string text;
  AnswerWriter(text).write(answer);
  return text;
}

}  // namespace diml::server
