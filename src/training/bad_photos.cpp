#include "bad_photos.h"

#include "base/message.h"

namespace diml::training {

std::vector<std::string> reasons_of(const TrainingBatch& batch) {
  std::vector<std::string> reasons;
  for (const BadImage& bad : batch.bad) reasons.push_back(bad.why);
  return reasons;
}

std::size_t BadPhotos::hear(const TrainingBatch& own) {
  if (ranks_.size() == 1) {
    name(reasons_of(own));
    return own.replaced;
  }
  MessageWriter message;
  message.put(std::uint64_t{own.replaced});
  for (const std::string& reason : reasons_of(own)) {
    if (ranks_.is_root() || named_.insert(reason).second) message.put(reason);
  }
  std::size_t replaced = 0;
  for (const std::string& bytes : ranks_.all_gather(message.take())) {
    MessageReader heard(bytes);
    replaced += heard.get<std::uint64_t>();
    std::vector<std::string> reasons;
    while (!heard.at_end()) reasons.push_back(heard.get<std::string>());
    name(reasons);
  }
  return replaced;
}

void BadPhotos::name(const std::vector<std::string>& reasons) {
  if (!ranks_.is_root()) return;
  for (const std::string& reason : reasons) {
    if (!named_.insert(reason).second) continue;
    if (folder_ != nullptr) folder_->add_bad(reason);
    if (hooks_.on_note) hooks_.on_note("skipped " + reason);
  }
}

}  // namespace diml::training
