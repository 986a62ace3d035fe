#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "answer_fields.h"
#include "request_fields.h"

namespace diml::server {

// The OpenAPI document and its parts, in the order of listing.
using Document = nlohmann::ordered_json;

// {"$ref": ...} to a schema of the document.
Document reference_to(const std::string& name);

// The request of a route.
struct RequestInfo {
  std::string name;     // of the schema
  std::string example;  // as JSON; "" if there is none
  std::vector<Field> fields;
};

template <class Request>
RequestInfo describe_request(const ServerParams& params) {
  FieldDescriber describer;
  Request(params).list(describer);
  return {Request::kName, Request::kExample, std::move(describer.fields)};
}

// Objects with exactly these fields.
Document object_schema(const std::vector<Field>& fields);
// OpenAPI's parameters in the query string.
Document parameters_of(const RequestInfo& request);
// Bodies by type: JSON, forms, an image as the body; null if the fields need none.
Document content_of(const RequestInfo& request);

// The schemas that answers refer to, by their names.
class AnswerSchemas {
 public:
  // The schema of a value: a plain one, or a reference to a schema that is added here.
  template <class Value>
  Document of() {
    if constexpr (is_vector<Value>) {
      return {{"type", "array"}, {"items", of<typename Value::value_type>()}};
    } else if constexpr (is_optional<Value>) {
      Document schema = of<typename Value::value_type>();
      // Members beside a $ref are ignored.
      if (schema.contains("$ref")) {
        Document one = Document::object();
        one["allOf"] = Document::array({std::move(schema)});
        schema = std::move(one);
      }
      schema["nullable"] = true;
      return schema;
    } else if constexpr (Listed<Value>) {
      put_down<Value>();
      return reference_to(Value::kName);
    } else if constexpr (std::is_same_v<Value, bool>) {
      return {{"type", "boolean"}};
    } else if constexpr (std::is_integral_v<Value>) {
      return {{"type", "integer"}};
    } else if constexpr (std::is_floating_point_v<Value>) {
      return {{"type", "number"}};
    } else if constexpr (std::is_same_v<Value, JsonText>) {
      return {{"type", "object"}};
    } else {
      static_assert(std::is_same_v<Value, std::string>);
      return {{"type", "string"}};
    }
  }

  Document all = Document::object();

 private:
  // Called by an answer's list().
  struct Properties {
    AnswerSchemas& schemas;
    Document properties = Document::object();
    Document required = Document::array();

    template <class Value>
    void operator()(const char* name, const Value&, const char* meaning = "") {
      Document schema = schemas.of<Value>();
      // Other members beside a $ref are ignored.
      if (*meaning != '\0' && !schema.contains("$ref")) schema["description"] = meaning;
      properties[name] = std::move(schema);
      required.push_back(name);
    }
  };

  template <class Answer>
  void put_down() {
    if (all.contains(Answer::kName)) return;
    all[Answer::kName] = nullptr;  // its position, before the schemas that it refers to
    Properties listed{*this};
    Answer{}.list(listed);
    all[Answer::kName] = {{"type", "object"},
                          {"required", std::move(listed.required)},
                          {"properties", std::move(listed.properties)},
                          {"additionalProperties", false}};
  }
};

}  // namespace diml::server
