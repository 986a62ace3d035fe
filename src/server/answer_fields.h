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

// The fields of an answer stand once, in a function of its struct:
//
//   template <class Fields>
//   void list(Fields& fields) const {
//     fields("rank", rank, "After re-ranking, from 1");
//   }
//
// AnswerWriter goes through it to write JSON, AnswerSchemas to describe it: an answer has the
// fields of its schema, all of them and no others. What may be missing is a std::optional, null in
// JSON.

// A JSON object that is sent as it was stored.
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

// JSON's way to write it, with quotes. What is no UTF-8 is replaced: paths may be anything.
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
  // The shortest text that is read as the same number again.
  template <class Number>
  void write_number(Number value) {
    if constexpr (std::is_floating_point_v<Number>) {
      if (!std::isfinite(value)) {  // JSON has no word for it
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
