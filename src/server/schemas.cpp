#include "schemas.h"

namespace diml::server {
namespace {

Document with_meaning(const Field& field) {
  Document schema = field.schema;
  // Other members beside a $ref are ignored.
  if (!schema.contains("$ref")) schema["description"] = field.meaning;
  return schema;
}

bool in_json(const Field& field) { return field.kind != Field::Kind::file; }

Document object_of(Document properties, Document required) {
  Document schema = {{"type", "object"}};
  if (!required.empty()) schema["required"] = std::move(required);
  schema["properties"] = std::move(properties);
  schema["additionalProperties"] = false;
  return schema;
}

Document form_schema(const std::vector<Field>& fields) {
  const Document binary = {{"type", "string"}, {"format", "binary"}};
  Document properties = Document::object();
  Document required = Document::array();
  for (const Field& field : fields) {
    if (field.kind == Field::Kind::subject && field.file_name == field.name) {
      properties[field.name] = {{"oneOf", {binary, field.schema}}};
    } else {
      properties[field.name] = with_meaning(field);
      if (field.kind == Field::Kind::subject) properties[field.file_name] = binary;
    }
    // A subject may have one of two names.
    const bool either = field.kind == Field::Kind::subject && field.file_name != field.name;
    if (field.is_required && !either) required.push_back(field.name);
  }
  return object_of(std::move(properties), std::move(required));
}

}  // namespace

Document reference_to(const std::string& name) {
  return {{"$ref", "#/components/schemas/" + name}};
}

Document object_schema(const std::vector<Field>& fields) {
  Document properties = Document::object();
  Document required = Document::array();
  for (const Field& field : fields) {
    if (!in_json(field)) continue;
    properties[field.name] = with_meaning(field);
    if (field.is_required) required.push_back(field.name);
  }
  return object_of(std::move(properties), std::move(required));
}

Document parameters_of(const RequestInfo& request) {
  Document parameters = Document::array();
  for (const Field& field : request.fields) {
    if (field.kind != Field::Kind::scalar && field.kind != Field::Kind::list) continue;
    Document parameter = {
        {"name", field.name}, {"in", "query"}, {"required", false}, {"description", field.meaning}};
    if (field.kind == Field::Kind::list) {
      parameter["content"] = {{"application/json", {{"schema", field.schema}}}};
    } else {
      parameter["schema"] = field.schema;
    }
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

Document content_of(const RequestInfo& request) {
  bool takes_json = !request.example.empty();
  bool takes_form = false;
  bool takes_image = false;
  for (const Field& field : request.fields) {
    const std::string& file = field.kind == Field::Kind::file ? field.name : field.file_name;
    takes_form |= !file.empty();
    takes_image |= file == "image";
  }
  for (const Field& field : request.fields) {
    // With an image as the body, only fields in the query string are possible.
    takes_image &= field.kind != Field::Kind::json || !field.is_required;
  }
  Document content = Document::object();
  if (takes_json) {
    content["application/json"] = {{"schema", reference_to(request.name)},
                                   {"example", Document::parse(request.example)}};
  }
  if (takes_form) content["multipart/form-data"] = {{"schema", form_schema(request.fields)}};
  if (takes_image) {
    const Document binary = {{"schema", {{"type", "string"}, {"format", "binary"}}}};
    for (const char* type : {"image/jpeg", "image/png", "image/webp"}) content[type] = binary;
  }
  return content;
}

}  // namespace diml::server
