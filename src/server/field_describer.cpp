#include "diml/grid_store.h"
#include "request_fields.h"
#include "schemas.h"

namespace diml::server {

void FieldDescriber::whole(const char* name, std::size_t value, Range<std::size_t> range,
                           const char* meaning) {
  fields.push_back({.name = name,
                    .schema = {{"type", "integer"},
                               {"minimum", range.least},
                               {"maximum", range.most},
                               {"default", value}},
                    .meaning = meaning});
}

void FieldDescriber::label(const char* name, const std::optional<std::string>&,
                           const char* meaning) {
  fields.push_back(
      {.name = name,
       .schema = {{"type", "string"}, {"maxLength", kLongestLabel}, {"nullable", true}},
       .meaning = meaning});
}

void FieldDescriber::number(const char* name, double value, Range<double> range,
                            const char* meaning) {
  fields.push_back({.name = name,
                    .schema = {{"type", "number"},
                               {"minimum", range.least},
                               {"maximum", range.most},
                               {"default", value}},
                    .meaning = meaning});
}

void FieldDescriber::number(const char* name, float value, Range<double> range,
                            const char* meaning) {
  number(name, static_cast<double>(value), range, meaning);
}

void FieldDescriber::words(const char* name, const char* value,
                           const std::vector<std::string>& choices, const char* meaning) {
  fields.push_back({.name = name,
                    .schema = {{"type", "string"}, {"enum", choices}, {"default", value}},
                    .meaning = meaning});
}

void FieldDescriber::text(const char* name, const std::string&, std::size_t longest,
                          const char* meaning) {
  fields.push_back(
      {.name = name, .schema = {{"type", "string"}, {"maxLength", longest}}, .meaning = meaning});
}

// In a query string, the list is one JSON text.
void FieldDescriber::conditions(const char* name, const Filter&, const char* meaning) {
  const Document one = {{"type", "string"}, {"maxLength", kLongestCondition}};
  fields.push_back({.name = name,
                    .kind = Field::Kind::list,
                    .schema = {{"type", "array"}, {"maxItems", kMostConditions}, {"items", one}},
                    .meaning = meaning});
}

void FieldDescriber::object(const char* name, const Json*, const char* meaning) {
  fields.push_back({.name = name,
                    .kind = Field::Kind::json,
                    .schema = {{"type", "object"}},
                    .meaning = meaning});
}

void FieldDescriber::subject(const char* name, const SubjectInput&, const char* file_name,
                             const char* meaning) {
  fields.push_back({.name = name,
                    .kind = Field::Kind::subject,
                    .schema = reference_to("Subject"),
                    .meaning = meaning,
                    .is_required = true,
                    .file_name = file_name});
}

void FieldDescriber::subjects(const char* name, const Json*, std::size_t most,
                              const char* meaning) {
  fields.push_back(
      {.name = name,
       .kind = Field::Kind::json,
       .schema = {{"type", "array"}, {"maxItems", most}, {"items", reference_to("Subject")}},
       .meaning = meaning,
       .is_required = true});
}

void FieldDescriber::file(const char* name, const FormPart*, const char* meaning) {
  fields.push_back({.name = name,
                    .kind = Field::Kind::file,
                    .schema = {{"type", "string"}, {"format", "binary"}},
                    .meaning = meaning,
                    .is_required = true});
}

void FieldDescriber::files(const char* name, const std::vector<const FormPart*>&, std::size_t most,
                           const char* meaning) {
  const Document one = {{"type", "string"}, {"format", "binary"}};
  fields.push_back(
      {.name = name,
       .kind = Field::Kind::file,
       .schema = {{"type", "array"}, {"minItems", 1}, {"maxItems", most}, {"items", one}},
       .meaning = meaning,
       .is_required = true});
}

void FieldDescriber::id(const char* name, std::int64_t, const char* meaning) {
  fields.push_back({.name = name,
                    .schema = {{"type", "integer"}, {"format", "int64"}},
                    .meaning = meaning,
                    .is_required = true});
}

void FieldDescriber::matrix(const char* name, const Json*, const char* meaning) {
  const Document row = {{"type", "array"}, {"items", {{"type", "number"}}}};
  fields.push_back({.name = name,
                    .kind = Field::Kind::json,
                    .schema = {{"type", "array"}, {"items", row}},
                    .meaning = meaning,
                    .is_required = true});
}

void FieldDescriber::numbers(const char* name, const Json*, const char* meaning) {
  fields.push_back({.name = name,
                    .kind = Field::Kind::json,
                    .schema = {{"type", "array"}, {"items", {{"type", "number"}}}},
                    .meaning = meaning});
}

}  // namespace diml::server
