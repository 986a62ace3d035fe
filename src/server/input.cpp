#include "input.h"

#include <algorithm>
#include <charconv>
#include <cmath>

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

// Numbers come as such in JSON and as text in forms and addresses.
template <class Number>
std::optional<Number> number_in(const Json& field) {
  if constexpr (std::is_integral_v<Number>) {
    if (field.is_number_unsigned() && field.get<std::uint64_t>() > INT64_MAX) return std::nullopt;
    if (field.is_number_integer()) return field.get<Number>();
  } else {
    if (field.is_number()) return field.get<Number>();
  }
  if (!field.is_string()) return std::nullopt;
  const auto& text = field.get_ref<const std::string&>();
  Number value{};
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return value;
}

std::string listed(std::initializer_list<std::string_view> names) {
  std::string all;
  for (const std::string_view name : names) {
    if (!all.empty()) all += ", ";
    all += name;
  }
  return all;
}

std::string plain(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", value);
  return text;
}

}  // namespace

std::string error_json(const std::string& line) { return text_of({{"error", line}}); }

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json parse_object(std::string_view text) {
  const auto guard = [](int depth, Json::parse_event_t, Json&) {
    if (depth > kDeepest) throw Refusal(400, "the JSON is nested too deeply");
    return true;
  };
  Json json;
  try {
    json = Json::parse(text, guard);
  } catch (const Json::parse_error& error) {
    throw Refusal(400, "the body is no JSON: at byte " + std::to_string(error.byte));
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
    if (!fields_.contains(name)) fields_[name] = value;
  }
}

void Input::read_form(const Call& call) {
  for (FormPart& part : parse_form(call.content_type, call.body)) {
    if (!part.filename.empty()) {
      files_.push_back(std::move(part));
      continue;
    }
    // A field that holds JSON, as the query of a re-ranking does.
    if (part.bytes.starts_with('{') || part.bytes.starts_with('[')) {
      fields_[part.name] = parse_object("{\"value\":" + std::string(part.bytes) + "}")["value"];
    } else {
      fields_[part.name] = std::string(part.bytes);
    }
  }
}

void Input::expect_only(std::initializer_list<std::string_view> names) const {
  const auto known = [&](std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const auto& [name, value] : fields_.items()) {
    if (!known(name)) {
      throw Refusal(400, "there is no field '" + name.substr(0, 40) + "': " + listed(names));
    }
  }
  for (const FormPart& file : files_) {
    if (!known(file.name)) {
      throw Refusal(400, "no file '" + file.name.substr(0, 40) + "' is wanted: " + listed(names));
    }
  }
}

const Json* Input::field(const std::string& name) const {
  const auto found = fields_.find(name);
  return found == fields_.end() || found->is_null() ? nullptr : &*found;
}

const FormPart* Input::file(const std::string& name) const {
  const auto found = std::find_if(files_.begin(), files_.end(),
                                  [&](const FormPart& part) { return part.name == name; });
  return found == files_.end() ? nullptr : &*found;
}

std::size_t Input::whole(const std::string& name, std::size_t least, std::size_t most,
                         std::size_t otherwise) const {
  const Json* given = field(name);
  if (given == nullptr) return otherwise;
  const std::optional<std::int64_t> value = number_in<std::int64_t>(*given);
  if (!value || *value < static_cast<std::int64_t>(least) ||
      *value > static_cast<std::int64_t>(most)) {
    throw Refusal(400, "'" + name + "' must be a whole number from " + std::to_string(least) +
                           " to " + std::to_string(most));
  }
  return static_cast<std::size_t>(*value);
}

std::optional<std::int64_t> Input::integer(const std::string& name) const {
  const Json* given = field(name);
  if (given == nullptr) return std::nullopt;
  const std::optional<std::int64_t> value = number_in<std::int64_t>(*given);
  if (!value) throw Refusal(400, "'" + name + "' must be a whole number");
  return value;
}

double Input::number(const std::string& name, double least, double most, double otherwise) const {
  const Json* given = field(name);
  if (given == nullptr) return otherwise;
  const std::optional<double> value = number_in<double>(*given);
  if (!value || !(*value >= least && *value <= most)) {
    throw Refusal(400,
                  "'" + name + "' must be a number from " + plain(least) + " to " + plain(most));
  }
  return *value;
}

std::string Input::text(const std::string& name, const std::string& otherwise) const {
  const Json* given = field(name);
  if (given == nullptr) return otherwise;
  if (!given->is_string()) throw Refusal(400, "'" + name + "' must be text");
  return given->get<std::string>();
}

std::string Input::word(const std::string& name, std::initializer_list<std::string_view> words,
                        const std::string& otherwise) const {
  std::string given = field(name) == nullptr ? otherwise : text(name, "");
  if (std::find(words.begin(), words.end(), given) == words.end()) {
    throw Refusal(400, "'" + name + "' must be one of " + listed(words));
  }
  return given;
}

}  // namespace diml::server
