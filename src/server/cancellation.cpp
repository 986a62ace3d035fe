#include "cancellation.h"

#include "refusal.h"

namespace diml::server {

void expect_patience(const Patience& patience) {
  if (patience.client_is_gone && patience.client_is_gone()) {
    throw Refusal(kGone, "the client disconnected");
  }
  if (patience.server_ends && patience.server_ends()) {
    throw Refusal(kBusy, "the server is about to stop");
  }
  if (Clock::now() >= patience.deadline) {
    throw Refusal(kBusy, "the request took longer than this server allows: ask for less at a time");
  }
}

Progress progress_of(const Patience& patience) {
  return Progress().with([&patience] { return patience.is_over(); });
}

}  // namespace diml::server
