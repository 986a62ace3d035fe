#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "call.h"
#include "multipart.h"

namespace diml::server {

using Json = nlohmann::ordered_json;

// What a call says, whichever way: a JSON object, a form with files, one image and parameters in
// the address. Every getter throws Refusal with the field's name and what it may be.
class Input {
 public:
  // call must outlive it: files lie in its body.
  explicit Input(const Call& call);

  void expect_only(std::initializer_list<std::string_view> names) const;

  std::size_t whole(const std::string& name, std::size_t least, std::size_t most,
                    std::size_t otherwise) const;
  std::optional<std::int64_t> integer(const std::string& name) const;
  double number(const std::string& name, double least, double most, double otherwise) const;
  std::string text(const std::string& name, const std::string& otherwise) const;
  // One of these words.
  std::string word(const std::string& name, std::initializer_list<std::string_view> words,
                   const std::string& otherwise) const;

  const Json* field(const std::string& name) const;  // null where it is not there
  const std::vector<FormPart>& files() const { return files_; }
  const FormPart* file(const std::string& name) const;  // null where it is not there

 private:
  void read_form(const Call& call);

  Json fields_ = Json::object();
  std::vector<FormPart> files_;
};

// A JSON text of bounded depth: an object. Throws Refusal 400.
Json parse_object(std::string_view text);

// For answers: paths may be anything, JSON is UTF-8.
std::string text_of(const Json& json);

}  // namespace diml::server
