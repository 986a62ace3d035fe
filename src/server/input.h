#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "call.h"
#include "multipart.h"

namespace diml::server {

// What clients send. Not ordered_json, which looks through all names of an object for each new one.
using Json = nlohmann::json;

// What a call says, whichever way: a JSON object, a form with files, one image and parameters in
// the address. RequestReader takes it apart.
class Input {
 public:
  // call must outlive it: files lie in its body. Throws Refusal.
  explicit Input(const Call& call);

  const Json& fields() const { return fields_; }  // an object
  const std::vector<FormPart>& files() const { return files_; }

 private:
  void read_form(const Call& call);

  Json fields_ = Json::object();
  std::vector<FormPart> files_;
};

// A JSON text of bounded depth: an object. Throws Refusal 400.
Json parse_object(std::string_view text);

}  // namespace diml::server
