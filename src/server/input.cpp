#include "input.h"

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "base/lower_case.h"
#include "cancellation.h"
#include "refusal.h"

namespace diml::server {
namespace {

std::string kind_of(std::string_view content_type) {
  std::string kind(content_type.substr(0, content_type.find(';')));
  while (!kind.empty() && kind.back() == ' ') kind.pop_back();
  return lower_case(kind);
}

// The bytes of a text, one after the other, for the library's parser: it cannot be cancelled, but
// it ends where its input throws.
class WatchedByte {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  WatchedByte(const char* at, const Patience& patience) : at_(at), patience_(&patience) {}

  reference operator*() const { return *at_; }
  WatchedByte& operator++() {
    constexpr std::uintptr_t kBetweenLooks = std::uintptr_t{1} << 18;  // bytes
    if (reinterpret_cast<std::uintptr_t>(++at_) % kBetweenLooks == 0) expect_patience(*patience_);
    return *this;
  }
  WatchedByte operator++(int) {
    WatchedByte before = *this;
    ++*this;
    return before;
  }
  bool operator==(const WatchedByte& other) const { return at_ == other.at_; }
  bool operator!=(const WatchedByte& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const Patience* patience_;
};

}  // namespace

JsonTree parse_object(std::string_view text, const Patience& patience) {
  // Before parsing: the library's own way to look at depth visits all elements of an array again
  // after each object in it.
  std::optional<std::string> excess;
  try {
    excess = excess_of(text, kBodyLimits, progress_of(patience));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::cancelled) expect_patience(patience);
    throw;
  }
  if (excess) throw Refusal(422, "the JSON " + *excess);
  JsonTree json;
  try {
    json = JsonTree::parse(WatchedByte(text.data(), patience),
                           WatchedByte(text.data() + text.size(), patience));
  } catch (const Json::parse_error& error) {
    throw Refusal(400, "the body is not valid JSON: at byte " + std::to_string(error.byte));
  } catch (const Json::out_of_range&) {
    throw Refusal(400, "the body has a number that is too large");
  }
  if (!json.root().is_object()) throw Refusal(400, "the body must be a JSON object, {...}");
  return json;
}

Input::Input(const Call& call) {
  const std::string kind = kind_of(call.content_type);
  if (kind == "application/json") {
    fields_ = parse_object(call.body, call.patience);
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
    if (!put(name, value)) {
      throw Refusal(400, "'" + name.substr(0, 40) + "' is both in the address and in the body");
    }
  }
}

bool Input::put(const std::string& name, Json&& value) {
  auto& fields = fields_.root().get_ref<Json::object_t&>();
  // First: a value that is not taken would be freed as the library does it.
  if (fields.contains(name)) return false;
  fields.emplace(name, std::move(value));
  return true;
}

void Input::read_form(const Call& call) {
  for (FormPart& part : parse_form(call.content_type, call.body)) {
    if (!part.filename.empty()) {
      files_.push_back(std::move(part));
      continue;
    }
    bool is_new = false;
    // A field that contains JSON, such as the query of a re-ranking.
    if (part.bytes.starts_with('{') || part.bytes.starts_with('[')) {
      JsonTree tree = parse_object("{\"value\":" + std::string(part.bytes) + "}", call.patience);
      const auto value = tree.root().find("value");
      if (value == tree.root().end()) throw Refusal(400, "the form has a field of invalid JSON");
      is_new = put(part.name, std::move(*value));
    } else {
      is_new = put(part.name, std::string(part.bytes));
    }
    if (!is_new) {
      throw Refusal(400, "'" + part.name.substr(0, 40) + "' is in the form twice");
    }
  }
}

}  // namespace diml::server
