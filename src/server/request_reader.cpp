#include <algorithm>
#include <charconv>
#include <cstdio>
#include <type_traits>

#include "base/label_words.h"
#include "diml/error.h"
#include "requests.h"

namespace diml::server {
namespace {

constexpr std::size_t kNameShown = 40;

// Numbers are numbers in JSON and text in forms and query strings.
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

std::string plain(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", value);
  return text;
}

}  // namespace

std::optional<std::int64_t> id_in(const Json& subject, const std::string& name) {
  if (subject.is_object() && subject.contains("id")) {
    return read_object<ItemReference>(subject, name).item;
  }
  if (!subject.is_number_integer()) return std::nullopt;
  return number_in<std::int64_t>(subject);
}

const Json* RequestReader::given(const char* name) {
  known_.push_back({name, Form::field});
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

const FormPart* RequestReader::given_file(const char* name) {
  known_.push_back({name, Form::file});
  const auto is_it = [&](const FormPart& part) { return part.name == name; };
  const auto found = std::find_if(files_.begin(), files_.end(), is_it);
  if (found == files_.end()) return nullptr;
  if (std::find_if(found + 1, files_.end(), is_it) != files_.end()) {
    refuse(400, "'" + prefix_ + name + "' is in the form twice");
  }
  return &*found;
}

void RequestReader::refuse(int status, const std::string& line) {
  if (!first_) first_.emplace(status, line);
}

void RequestReader::expect_known(const std::string& name, Form form) const {
  std::string all;
  bool is_other = false;
  for (const Known& one : known_) {
    if (one.name == name && one.form == form) return;
    is_other |= one.name == name;
    // A subject, which may be a field or a file, is listed twice.
    const bool again = &one != &known_.front() && (&one - 1)->name == one.name;
    if (!again) all += (all.empty() ? "" : ", ") + one.name;
  }
  const std::string shown = "'" + prefix_ + name.substr(0, kNameShown) + "'";
  if (is_other)
    throw Refusal(400, shown + (form == Form::file ? " is not a file" : " must be a file"));
  throw Refusal(
      400, "there is no field " + shown + ": " + (all.empty() ? "this route takes none" : all));
}

void RequestReader::finish() const {
  for (const auto& [name, value] : object_.items()) expect_known(name, Form::field);
  for (const FormPart& file : files_) expect_known(file.name, Form::file);
  if (first_) throw Refusal(*first_);
}

std::optional<std::int64_t> RequestReader::whole_number(const char* name, const Json& json) {
  const std::optional<std::int64_t> value = number_in<std::int64_t>(json);
  if (!value) refuse(400, "'" + prefix_ + name + "' must be a whole number");
  return value;
}

void RequestReader::whole(const char* name, std::size_t& value, Range<std::size_t> range,
                          const char*) {
  const Json* json = given(name);
  if (json == nullptr) return;
  const std::optional<std::int64_t> number = number_in<std::int64_t>(*json);
  if (!number || *number < static_cast<std::int64_t>(range.least) ||
      *number > static_cast<std::int64_t>(range.most)) {
    return refuse(400, "'" + prefix_ + name + "' must be a whole number from " +
                           std::to_string(range.least) + " to " + std::to_string(range.most));
  }
  value = static_cast<std::size_t>(*number);
}

void RequestReader::label(const char* name, std::optional<std::string>& value, const char*) {
  const Json* json = given(name);
  if (json == nullptr) {
    if (object_.contains(name)) value.emplace();
    return;
  }
  if (!json->is_string() && !json->is_number_integer()) {
    return refuse(400, "'" + prefix_ + name + "' must be a word, a whole number or null");
  }
  value = given_label(json->is_string() ? json->get<std::string>() : json->dump());
  if (value->size() > kLongestLabel) {
    refuse(400, "'" + prefix_ + name + "' must be a word of up to " +
                    std::to_string(kLongestLabel) + " bytes");
  }
}

void RequestReader::number(const char* name, double& value, Range<double> range, const char*) {
  const Json* json = given(name);
  if (json == nullptr) return;
  const std::optional<double> number = number_in<double>(*json);
  if (!number || !(*number >= range.least && *number <= range.most)) {
    return refuse(400, "'" + prefix_ + name + "' must be a number from " + plain(range.least) +
                           " to " + plain(range.most));
  }
  value = *number;
}

void RequestReader::number(const char* name, float& value, Range<double> range,
                           const char* meaning) {
  double wide = value;
  number(name, wide, range, meaning);
  value = static_cast<float>(wide);
}

const std::string* RequestReader::word(const char* name, const std::string& words) {
  const Json* json = given(name);
  if (json == nullptr) return nullptr;
  if (!json->is_string()) {
    refuse(400, "'" + prefix_ + name + "' must be text: one of " + words);
    return nullptr;
  }
  return &json->get_ref<const std::string&>();
}

void RequestReader::text(const char* name, std::string& value, std::size_t longest, const char*) {
  const Json* json = given(name);
  if (json == nullptr) return;
  if (!json->is_string()) return refuse(400, "'" + prefix_ + name + "' must be text");
  value = json->get<std::string>();
  if (value.size() > longest) {
    refuse(400,
           "'" + prefix_ + name + "' must be text of up to " + std::to_string(longest) + " bytes");
  }
}

void RequestReader::conditions(const char* name, Filter& value, const char*) {
  const Json* json = given(name);
  if (json == nullptr) return;
  const std::string shown = "'" + prefix_ + name + "'";
  JsonTree of_text;
  std::vector<std::string> conditions;
  if (json->is_string()) {
    const auto& text = json->get_ref<const std::string&>();
    if (!text.starts_with('[')) {
      conditions.push_back(text);
    } else if (!excess_of(text, kBodyLimits)) {
      of_text = JsonTree::parse_or_discard(text);
      json = &of_text.root();
    }
  }
  const auto is_text = [](const Json& one) { return one.is_string(); };
  if (conditions.empty() &&
      (!json->is_array() || !std::all_of(json->begin(), json->end(), is_text))) {
    return refuse(400, shown + " must be a list of conditions, such as [\"label=pug\"]");
  }
  if (json->is_array()) conditions = json->get<std::vector<std::string>>();
  const auto is_long = [](const std::string& one) { return one.size() > kLongestCondition; };
  if (conditions.size() > kMostConditions ||
      std::any_of(conditions.begin(), conditions.end(), is_long)) {
    return refuse(400, shown + " must be up to " + std::to_string(kMostConditions) +
                           " conditions of up to " + std::to_string(kLongestCondition) + " bytes");
  }
  try {
    value = Filter(conditions);
  } catch (const Error& error) {
    refuse(400, shown + ": " + error.what());
  }
}

void RequestReader::object(const char* name, const Json*& value, const char*) {
  value = given(name);
  if (value != nullptr && !value->is_object()) {
    refuse(400, "'" + prefix_ + name + "' must be a JSON object");
  }
}

void RequestReader::subject(const char* name, SubjectInput& value, const char* file_name,
                            const char*) {
  const Json* json = given(name);
  value.name = prefix_ + name;
  value.file = given_file(file_name);
  if (value.file != nullptr && json != nullptr) {
    return refuse(400, "send '" + value.name + "' once: as a file, as an id or as cells");
  }
  if (value.file != nullptr) return;
  if (json == nullptr) {
    const std::string file = std::string_view(name) == file_name
                                 ? "a file of that name"
                                 : "a file, '" + std::string(file_name) + "'";
    return refuse(
        400, "'" + value.name + "' is missing: an id of the gallery, {\"cells\": ...}, or " + file);
  }
  if (json->is_string()) {  // from a form or a query string
    value.id = whole_number(name, *json);
    return;
  }
  try {
    value.id = id_in(*json, value.name);
  } catch (const Refusal& refusal) {
    return refuse(refusal.status(), refusal.line());
  }
  if (value.id) return;
  if (!json->is_object()) return refuse(400, "'" + value.name + "' must be a whole number");
  value.grid = json;
}

void RequestReader::subjects(const char* name, const Json*& value, std::size_t most, const char*) {
  value = given(name);
  if (value == nullptr || !value->is_array()) {
    return refuse(400,
                  "'" + prefix_ + name + "' is missing: a list of ids, or of {\"cells\": ...}");
  }
  if (value->size() > most) {
    refuse(413, "more than " + std::to_string(most) + " " + name + ": send the best of them");
  }
}

void RequestReader::file(const char* name, const FormPart*& value, const char*) {
  value = given_file(name);
  if (value == nullptr) refuse(400, "the file '" + prefix_ + name + "' is missing");
}

void RequestReader::files(const char* name, std::vector<const FormPart*>& value, std::size_t most,
                          const char*) {
  known_.push_back({name, Form::file});
  for (const FormPart& part : files_) {
    if (part.name == name) value.push_back(&part);
  }
  if (value.empty()) {
    refuse(400, "the file '" + prefix_ + name + "' is missing: send a form with one, or several");
  }
  if (value.size() > most) {
    refuse(413,
           "more than " + std::to_string(most) + " files '" + name + "': send fewer at a time");
  }
}

void RequestReader::id(const char* name, std::int64_t& value, const char*) {
  const Json* json = given(name);
  if (json == nullptr || !json->is_number_integer()) {
    return refuse(400, "'" + prefix_ + name + "' must be a whole number");
  }
  value = whole_number(name, *json).value_or(-1);
}

void RequestReader::matrix(const char* name, const Json*& value, const char*) {
  value = given(name);
  if (value == nullptr || !value->is_array()) {
    refuse(400, "'" + prefix_ + name + "' must be a list of lists of numbers");
  }
}

void RequestReader::numbers(const char* name, const Json*& value, const char*) {
  value = given(name);
  if (value != nullptr && !value->is_array()) {
    refuse(400, "'" + prefix_ + name + "' must be a list of numbers");
  }
}

}  // namespace diml::server
