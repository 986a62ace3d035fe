#include "json_text.h"

#include <set>

#include "diml/error.h"

namespace diml::weights {

using nlohmann::json;

namespace {

// Checks the text before the tree is built. The library's alternative, a callback during parsing,
// takes time quadratic in the length of a list.
class Looker : public json::json_sax_t {
 public:
  Looker(int most_depth, const std::string& what) : most_depth_(most_depth), what_(what) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(json::number_integer_t) override { return true; }
  bool number_unsigned(json::number_unsigned_t) override { return true; }
  bool number_float(json::number_float_t, const json::string_t&) override { return true; }
  bool string(json::string_t&) override { return true; }
  bool binary(json::binary_t&) override { return true; }

  bool start_object(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_array() override { return close(); }

  bool key(json::string_t& key) override {
    if (keys_.back().insert(key).second) return true;
    throw Error(ErrorKind::damaged, what_ + " has " + shown(key) + " twice");
  }

  bool parse_error(std::size_t byte, const std::string&, const json::exception& error) override {
    constexpr int kOutOfRange = 406;  // the library's error code
    if (error.id == kOutOfRange)
      throw Error(ErrorKind::damaged, what_ + " has a number that is out of range");
    throw Error(ErrorKind::damaged, what_ + " is not valid JSON from byte " + std::to_string(byte) +
                                        " on: it is damaged, fetch it again");
  }

 private:
  bool open() {
    if (keys_.size() == static_cast<std::size_t>(most_depth_)) {
      throw Error(ErrorKind::damaged,
                  what_ + " is nested deeper than " + std::to_string(most_depth_) + " levels");
    }
    keys_.emplace_back();
    return true;
  }

  bool close() {
    keys_.pop_back();
    return true;
  }

  int most_depth_;
  const std::string& what_;
  std::vector<std::set<std::string>> keys_;  // of the open objects and lists
};

}  // namespace

json parse_json(Bytes text, int most_depth, const std::string& what) {
  Looker looker(most_depth, what);
  json::sax_parse(text.begin(), text.end(), &looker);
  return json::parse(text.begin(), text.end());
}

const json& member(const json& object, const char* key, const std::string& what) {
  const auto found = object.find(key);  // end() if it is not an object
  if (found == object.end()) throw Error(ErrorKind::damaged, what + " has no " + key);
  return *found;
}

std::string text_member(const json& object, const char* key, const std::string& what) {
  const json& value = member(object, key, what);
  if (!value.is_string())
    throw Error(ErrorKind::damaged, what + " has a " + key + " that is not text");
  return value.get<std::string>();
}

std::vector<std::size_t> sizes_member(const json& object, const char* key,
                                      const std::string& what) {
  const json& list = member(object, key, what);
  std::vector<std::size_t> sizes;
  for (const json& value : list) {
    if (!list.is_array() || !value.is_number_unsigned()) break;
    sizes.push_back(value.get<std::size_t>());
  }
  if (!list.is_array() || sizes.size() != list.size()) {
    throw Error(ErrorKind::damaged,
                what + " has a " + key + " that is not a list of whole numbers");
  }
  return sizes;
}

}  // namespace diml::weights
