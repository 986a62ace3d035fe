#include "json_text.h"

#include <set>

#include "diml/error.h"

namespace diml::weights {

using nlohmann::json;

json parse_json(Bytes text, int most_depth, const std::string& what) {
  using Event = json::parse_event_t;
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  const auto look = [&](int depth, Event event, json& parsed) {
    if (depth > most_depth) {
      throw Error(what + " is nested deeper than " + std::to_string(most_depth) + " levels");
    }
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event == Event::key && !keys.back().insert(parsed.get<std::string>()).second) {
      throw Error(what + " has " + shown(parsed.get<std::string>()) + " twice");
    }
    return true;
  };
  try {
    return json::parse(text.begin(), text.end(), look);
  } catch (const json::parse_error& error) {
    throw Error(what + " is no JSON from byte " + std::to_string(error.byte) +
                " on: it is damaged, fetch it again");
  } catch (const json::exception&) {
    throw Error(what + " has a number that is out of range");
  }
}

const json& member(const json& object, const char* key, const std::string& what) {
  const auto found = object.find(key);  // end() for what is no object
  if (found == object.end()) throw Error(what + " has no " + key);
  return *found;
}

std::string text_member(const json& object, const char* key, const std::string& what) {
  const json& value = member(object, key, what);
  if (!value.is_string()) throw Error(what + " has a " + key + " that is no text");
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
    throw Error(what + " has a " + key + " that is no list of whole numbers");
  }
  return sizes;
}

}  // namespace diml::weights
