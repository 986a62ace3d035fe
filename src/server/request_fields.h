#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diml/searcher.h"
#include "diml/server.h"
#include "input.h"
#include "refusal.h"

namespace diml::server {

// The fields of a request are listed once, in a function of its struct:
//
//   template <class Fields>
//   void list(Fields& fields) {
//     fields.whole("top", top, {1, 1000}, "Number of hits");
//   }
//
// RequestReader calls it to fill the members, FieldDescriber to describe them. The initial value of
// a member is its default. Both have the same functions.

template <class Number>
struct Range {
  Number least;
  Number most;
};

// Of a filter: every item of the gallery is compared with each value of each condition.
constexpr std::size_t kMostConditions = 32;
constexpr std::size_t kLongestCondition = 16384;

template <class Value>
struct NamedValue {
  const char* word;
  Value value;
};

// An image of the gallery, an uploaded one, or a grid of another program, as given in the input.
struct SubjectInput {
  std::string name;
  const FormPart* file = nullptr;
  std::optional<std::int64_t> id{};
  const Json* grid = nullptr;  // an object
};

// Reads the fields of an object. finish() reports errors: unknown names first, then the first
// invalid value.
class RequestReader {
 public:
  // Both must outlive it and what it fills. prefix: of names in messages, "query.".
  RequestReader(const Json& object, const std::vector<FormPart>& files, std::string prefix = "")
      : object_(object), files_(files), prefix_(std::move(prefix)) {}

  void whole(const char* name, std::size_t& value, Range<std::size_t> range, const char* meaning);
  // A word or a number; null is "": no label.
  void label(const char* name, std::optional<std::string>& value, const char* meaning);
  void number(const char* name, double& value, Range<double> range, const char* meaning);
  void number(const char* name, float& value, Range<double> range, const char* meaning);
  template <class Value>
  void choice(const char* name, Value& value, const std::vector<NamedValue<Value>>& choices,
              const char* meaning);
  void text(const char* name, std::string& value, std::size_t longest, const char* meaning);
  // A list of texts, a JSON list within text (query strings), or one condition.
  void conditions(const char* name, Filter& value, const char* meaning);
  void object(const char* name, const Json*& value, const char* meaning);
  // file_name: of the file that may be sent instead.
  void subject(const char* name, SubjectInput& value, const char* file_name, const char* meaning);
  void subjects(const char* name, const Json*& value, std::size_t most, const char* meaning);
  void file(const char* name, const FormPart*& value, const char* meaning);
  void files(const char* name, std::vector<const FormPart*>& value, std::size_t most,
             const char* meaning);
  // Of an item, in an object with no other field.
  void id(const char* name, std::int64_t& value, const char* meaning);
  void matrix(const char* name, const Json*& value, const char* meaning);
  void numbers(const char* name, const Json*& value, const char* meaning);

  // Throws Refusal.
  void finish() const;

 private:
  enum class Form { field, file };
  struct Known {
    std::string name;
    Form form;
  };
  const Json* given(const char* name);
  const FormPart* given_file(const char* name);
  void expect_known(const std::string& name, Form form) const;
  std::optional<std::int64_t> whole_number(const char* name, const Json& json);
  // The text of the field, or null. words: the allowed values.
  const std::string* word(const char* name, const std::string& words);
  void refuse(int status, const std::string& line);

  const Json& object_;
  const std::vector<FormPart>& files_;
  std::string prefix_;
  std::vector<Known> known_;
  std::optional<Refusal> first_;
};

// One field, for the OpenAPI document.
struct Field {
  enum class Kind {
    scalar,   // in the query string, in forms and in JSON
    list,     // the same; in the query string as one JSON text
    json,     // in forms and in JSON
    subject,  // the same, or a file
    file,     // in forms only
  };
  std::string name;
  Kind kind = Kind::scalar;
  nlohmann::ordered_json schema;
  std::string meaning;
  bool is_required = false;
  std::string file_name{};  // of subjects
};

class FieldDescriber {
 public:
  void whole(const char* name, std::size_t value, Range<std::size_t> range, const char* meaning);
  void label(const char* name, const std::optional<std::string>& value, const char* meaning);
  void number(const char* name, double value, Range<double> range, const char* meaning);
  void number(const char* name, float value, Range<double> range, const char* meaning);
  template <class Value>
  void choice(const char* name, Value value, const std::vector<NamedValue<Value>>& choices,
              const char* meaning);
  void text(const char* name, const std::string& value, std::size_t longest, const char* meaning);
  void conditions(const char* name, const Filter& value, const char* meaning);
  void object(const char* name, const Json* value, const char* meaning);
  void subject(const char* name, const SubjectInput& value, const char* file_name,
               const char* meaning);
  void subjects(const char* name, const Json* value, std::size_t most, const char* meaning);
  void file(const char* name, const FormPart* value, const char* meaning);
  void files(const char* name, const std::vector<const FormPart*>& value, std::size_t most,
             const char* meaning);
  void id(const char* name, std::int64_t value, const char* meaning);
  void matrix(const char* name, const Json* value, const char* meaning);
  void numbers(const char* name, const Json* value, const char* meaning);

  std::vector<Field> fields;

 private:
  void words(const char* name, const char* value, const std::vector<std::string>& choices,
             const char* meaning);
};

// An item's id among subjects: a number, or an object with an id only. Throws Refusal; none if it
// is anything else.
std::optional<std::int64_t> id_in(const Json& subject, const std::string& name);

template <class Value>
void RequestReader::choice(const char* name, Value& value,
                           const std::vector<NamedValue<Value>>& choices, const char*) {
  std::string words;
  for (const NamedValue<Value>& one : choices) {
    words += (words.empty() ? "" : ", ") + std::string(one.word);
  }
  const std::string* given = word(name, words);
  if (given == nullptr) return;
  for (const NamedValue<Value>& one : choices) {
    if (*given == one.word) {
      value = one.value;
      return;
    }
  }
  refuse(400, "'" + prefix_ + name + "' must be one of " + words);
}

template <class Value>
void FieldDescriber::choice(const char* name, Value value,
                            const std::vector<NamedValue<Value>>& choices, const char* meaning) {
  std::vector<std::string> all;
  const char* chosen = "";
  for (const NamedValue<Value>& one : choices) {
    all.emplace_back(one.word);
    if (one.value == value) chosen = one.word;
  }
  words(name, chosen, all, meaning);
}

// Reads a request from the input, which must outlive it. Throws Refusal.
template <class Request>
Request read_request(const Input& input, const ServerParams& params) {
  Request request(params);
  RequestReader reader(input.fields(), input.files());
  request.list(reader);
  reader.finish();
  return request;
}

// An object within a request.
template <class Object>
Object read_object(const Json& json, const std::string& name) {
  static const std::vector<FormPart> no_files;
  Object object;
  RequestReader reader(json, no_files, name + ".");
  object.list(reader);
  reader.finish();
  return object;
}

}  // namespace diml::server
