#include "engine/retrieval_protocol.h"

#include <algorithm>
#include <string>

#include "diml/error.h"

namespace diml {

RetrievalProtocol::RetrievalProtocol(std::span<const std::int64_t> labels,
                                     std::span<const Role> roles) {
  for (std::size_t image = 0; image < labels.size(); ++image) {
    const Role role = roles.empty() ? Role::both : roles[image];
    if (role != Role::query && role != Role::gallery && role != Role::both) {
      throw Error("image " + std::to_string(image) +
                  " has no role: make it a query, of the gallery or both, or leave it out");
    }
    if (labels[image] == kUnlabelled) {
      ++unlabelled;
      continue;
    }
    const auto id = static_cast<std::int64_t>(image);
    if (role != Role::query) {
      gallery.push_back(id);
      ++class_sizes[labels[image]];
    }
    if (role != Role::gallery) groups[role == Role::both ? 0 : 1].ids.push_back(id);
  }
  if (unlabelled == labels.size()) {
    throw Error("no image has a label: evaluation compares classes, so name them");
  }
  if (queries() == 0) throw Error("no image is a query: make some of them queries, or both");
  if (gallery.empty()) {
    throw Error("no image is in the gallery: put some of them there, or make them both");
  }
}

std::size_t RetrievalProtocol::relevant(std::int64_t label, bool in_gallery) const {
  const auto found = class_sizes.find(label);
  return found == class_sizes.end() ? 0 : found->second - (in_gallery ? 1 : 0);
}

std::size_t RetrievalProtocol::most_relevant(std::span<const std::int64_t> labels) const {
  std::size_t most = 0;
  for (const QueryGroup& group : groups) {
    for (const std::int64_t id : group.ids) {
      most = std::max(most, relevant(labels[static_cast<std::size_t>(id)], group.in_gallery));
    }
  }
  return most;
}

}  // namespace diml
