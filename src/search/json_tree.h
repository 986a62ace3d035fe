#pragma once

#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace diml {

// A parsed JSON text that can be freed where there is no memory. nlohmann::json frees an object or
// a list by means of another list, which it allocates in a destructor: where that fails, the
// process ends. Texts from outside are parsed into one of these.
class JsonTree {
 public:
  using Json = nlohmann::json;

  JsonTree() = default;
  explicit JsonTree(Json&& root) noexcept : root_(std::move(root)) {}
  ~JsonTree() { take_apart(root_); }
  JsonTree(JsonTree&& other) noexcept : root_(std::exchange(other.root_, Json())) {}
  JsonTree& operator=(JsonTree&& other) noexcept {
    take_apart(root_);
    root_ = std::exchange(other.root_, Json());
    return *this;
  }

  // Throws Json::parse_error and Json::out_of_range, and what the iterators throw.
  template <class Iterator>
  static JsonTree parse(Iterator first, Iterator last) {
    JsonTree tree;  // what has been built so far is freed with it, where there is an exception
    nlohmann::detail::json_sax_dom_parser<Json> builder(tree.root_, true);
    Json::sax_parse(std::move(first), std::move(last), &builder);
    return tree;
  }
  static JsonTree parse(std::string_view text) { return parse(text.begin(), text.end()); }

  // An invalid text is "discarded": is_discarded() of the root.
  static JsonTree parse_or_discard(std::string_view text) {
    JsonTree tree;
    nlohmann::detail::json_sax_dom_parser<Json> builder(tree.root_, false);
    if (!Json::sax_parse(text.begin(), text.end(), &builder)) {
      take_apart(tree.root_);
      tree.root_ = Json(Json::value_t::discarded);
    }
    return tree;
  }

  const Json& root() const { return root_; }
  // Whoever changes it moves nothing out of it but leaves, and overwrites no object and no list.
  Json& root() { return root_; }

  // Empties it from the leaves on: an empty object or list is freed without allocating. As deep as
  // the text was nested, which its limits bound.
  static void take_apart(Json& json) noexcept {
    if (json.is_array()) {
      auto& list = json.get_ref<Json::array_t&>();
      while (!list.empty()) {
        take_apart(list.back());
        list.pop_back();
      }
    } else if (json.is_object()) {
      auto& object = json.get_ref<Json::object_t&>();
      while (!object.empty()) {
        take_apart(object.begin()->second);
        object.erase(object.begin());
      }
    }
  }

 private:
  Json root_;
};

}  // namespace diml
