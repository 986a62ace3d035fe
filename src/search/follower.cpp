#include "follower.h"

#include <exception>

namespace diml {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{200};  // at whether it should end

}  // namespace

Follower::Follower(const Searcher& searcher, std::unique_ptr<ChangeListener> listener)
    : searcher_(searcher), listener_(std::move(listener)), thread_([this] { follow(); }) {}

Follower::~Follower() {
  ends_ = true;
  thread_.join();
}

void Follower::follow() {
  while (!ends_) {
    try {
      if (listener_->await(kBetweenLooks)) searcher_.refresh();
    } catch (const std::exception&) {
      // The next search meets the same, and tells its caller.
      std::this_thread::sleep_for(kBetweenLooks);
    }
  }
}

}  // namespace diml
