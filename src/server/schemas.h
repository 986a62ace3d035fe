#pragma once

#include "input.h"

namespace diml::server {

// What answers and requests are made of, for the OpenAPI document: {"Hit": {...}, ...}.
Json schemas();

// References and parameters, for the tables of routes.
Json schema_ref(const std::string& name);
Json query_parameter(const std::string& name, const std::string& type, const std::string& meaning);

// Bodies by type: an image alone, a form with these parts, a JSON object of this schema with an
// example.
Json image_content();
Json form_content(std::initializer_list<std::string_view> files,
                  std::initializer_list<std::string_view> fields);
Json json_content(const std::string& schema, Json example);
Json joined_content(std::initializer_list<Json> contents);

}  // namespace diml::server
