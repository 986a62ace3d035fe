#include "input.h"

#include "refusal.h"

namespace diml::server {
namespace {

constexpr int kDeepest = 16;

std::string kind_of(std::string_view content_type) {
  std::string kind(content_type.substr(0, content_type.find(';')));
  while (!kind.empty() && kind.back() == ' ') kind.pop_back();
  for (char& c : kind) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return kind;
}

// Before it is parsed: the library's own way to look at the depth goes through all elements of an
// array again after each object in it.
void expect_shallow(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\') {
      ++i;
    } else if (c == '"') {
      in_string = !in_string;
    } else if (!in_string && (c == '[' || c == '{')) {
      if (++depth > kDeepest) throw Refusal(400, "the JSON is nested too deeply");
    } else if (!in_string && (c == ']' || c == '}')) {
      --depth;
    }
  }
}

}  // namespace

Json parse_object(std::string_view text) {
  expect_shallow(text);
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error& error) {
    throw Refusal(400, "the body is no JSON: at byte " + std::to_string(error.byte));
  } catch (const Json::out_of_range&) {
    throw Refusal(400, "the body has a number that is too large");
  }
  if (!json.is_object()) throw Refusal(400, "the body must be a JSON object, {...}");
  return json;
}

Input::Input(const Call& call) {
  const std::string kind = kind_of(call.content_type);
  if (kind == "application/json") {
    fields_ = parse_object(call.body);
  } else if (kind == "multipart/form-data") {
    read_form(call);
  } else if (kind.starts_with("image/")) {
    files_.push_back({"image", "", call.body});
  } else if (!call.body.empty()) {
    throw Refusal(415,
                  "send application/json, multipart/form-data or an image (image/jpeg, image/png, "
                  "image/webp), and say which in Content-Type");
  }
  for (const auto& [name, value] : call.query) {
    if (!fields_.emplace(name, value).second) {
      throw Refusal(400, "'" + name.substr(0, 40) + "' stands in the address and in the body");
    }
  }
}

void Input::read_form(const Call& call) {
  for (FormPart& part : parse_form(call.content_type, call.body)) {
    if (!part.filename.empty()) {
      files_.push_back(std::move(part));
      continue;
    }
    Json value = std::string(part.bytes);
    // A field that holds JSON, as the query of a re-ranking does.
    if (part.bytes.starts_with('{') || part.bytes.starts_with('[')) {
      value = parse_object("{\"value\":" + std::string(part.bytes) + "}")["value"];
    }
    if (!fields_.emplace(part.name, std::move(value)).second) {
      throw Refusal(400, "'" + part.name.substr(0, 40) + "' stands in the form twice");
    }
  }
}

}  // namespace diml::server
