#pragma once

#include <functional>
#include <set>
#include <string>

#include <yaml-cpp/yaml.h>

#include "diml/error.h"

namespace diml {

// A YAML file that is one map. Messages name the file and the line.
class YamlDocument {
 public:
  // what: what the file holds, for messages: "settings".
  YamlDocument(std::string path, const std::string& text, const std::string& what)
      : path_(std::move(path)) {
    try {
      const std::vector<YAML::Node> documents = YAML::LoadAll(text);
      if (documents.size() > 1) fail(documents[1], "a second document: write " + what + " as one");
      if (!documents.empty()) root_ = documents[0];
    } catch (const YAML::Exception& error) {
      fail_at(error.mark, "is not YAML: " + error.msg);
    }
    if (!root_.IsNull() && !root_.IsMap()) {
      fail(root_, "is not a map: write one setting per line, as in 'epochs: 150'");
    }
  }

  const YAML::Node& root() const { return root_; }  // null where the file is empty

  [[noreturn]] void fail(const YAML::Node& node, const std::string& what) const {
    fail_at(node.Mark(), what);
  }
  [[noreturn]] void fail(const YAML::Node& node, const Error& error) const {
    throw with_context(error, place_of(node.Mark()));
  }

  // name, value as text (lists with commas between), the node for messages.
  using Take = std::function<void(const std::string&, const std::string&, const YAML::Node&)>;

  // Nested maps become names with dots, each of them once.
  void each_setting(const YAML::Node& map, const Take& take) const {
    std::set<std::string> seen;
    walk(map, "", 0, seen, take);
  }

  std::string text_of(const YAML::Node& node, const std::string& name) const {
    if (!node.IsSequence()) return node.IsNull() ? "" : node.Scalar();
    std::string text;
    for (const YAML::Node& one : node) {
      if (!one.IsScalar()) fail(one, name + " takes a list of plain values");
      text += (text.empty() ? "" : ",") + one.Scalar();
    }
    return text;
  }

 private:
  static constexpr int kDeepest = 8;  // a map may contain itself through an alias

  [[noreturn]] void fail_at(const YAML::Mark& mark, const std::string& what) const {
    throw Error(place_of(mark) + what);
  }

  std::string place_of(const YAML::Mark& mark) const {
    std::string place = path_;
    if (!mark.is_null()) place.append(":").append(std::to_string(mark.line + 1));
    return place.append(": ");
  }

  void walk(const YAML::Node& node, const std::string& name, int depth, std::set<std::string>& seen,
            const Take& take) const {
    if (depth > kDeepest) fail(node, "maps are nested too deeply: settings have one dot");
    if (!node.IsMap()) {
      if (name.empty()) {  // an empty document, a row without settings of its own
        if (!node.IsNull()) fail(node, "is not a map: write names and values, as in {epochs: 150}");
        return;
      }
      if (!seen.insert(name).second) fail(node, name + " is set twice: leave one of them");
      take(name, text_of(node, name), node);
      return;
    }
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) fail(entry.first, "the name of a setting must be a word");
      std::string whole = name.empty() ? "" : name + ".";
      whole += entry.first.Scalar();
      walk(entry.second, whole, depth + 1, seen, take);
    }
  }

  std::string path_;
  YAML::Node root_;
};

}  // namespace diml
