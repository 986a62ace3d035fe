#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json_limits.h"
#include "call.h"
#include "multipart.h"
#include "search/json_tree.h"

namespace diml::server {

// JSON of requests. Not ordered_json, which compares each new name with all names of the object.
using Json = nlohmann::json;

// The input of a call in any form: a JSON object, a form with files, or one image with parameters
// in the query string. RequestReader reads its fields.
class Input {
 public:
  // call must outlive it: files are views into its body. Throws Refusal.
  explicit Input(const Call& call);

  const Json& fields() const { return fields_.root(); }  // an object
  const std::vector<FormPart>& files() const { return files_; }

 private:
  void read_form(const Call& call);
  // False if there is one of this name. The value is taken from where it lies.
  bool put(const std::string& name, Json&& value);

  JsonTree fields_{Json::object()};
  std::vector<FormPart> files_;
};

// What a request may hold; the largest has 10,000 candidates.
constexpr JsonLimits kBodyLimits{};

// A JSON text within the limits: an object. Throws Refusal 400 or 422, and that of
// expect_patience() where the request's patience ends meanwhile.
JsonTree parse_object(std::string_view text, const Patience& patience);

}  // namespace diml::server
