#include "item_metadata.h"

#include "diml/error.h"
#if DIML_HAS_JSON
#include "json_tree.h"
#endif

namespace diml {

std::string checked_metadata(const std::string& text, const std::string& path) {
  if (text.empty()) return "{}";
  const std::string its = path.empty() ? "the metadata " : path + ": its metadata ";
  if (text.size() > kMostMetadataBytes) {
    throw Error(ErrorKind::out_of_resources,
                its + "has " + std::to_string(text.size()) + " bytes, at most " +
                    std::to_string(kMostMetadataBytes) +
                    " are allowed: keep long texts in a file and its name here");
  }
  if (const auto excess = excess_of(text, kMetadataLimits)) {
    throw Error(its + *excess + ": keep what searches need, and the rest in a file");
  }
#if DIML_HAS_JSON
  using Json = nlohmann::json;
  const JsonTree tree = JsonTree::parse_or_discard(text);
  const Json& json = tree.root();
  if (!json.is_object()) throw Error(its + "is not a JSON object such as {\"name\": value}");
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
#else
  return text;
#endif
}

}  // namespace diml
