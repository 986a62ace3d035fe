#include "request_threads.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "diml/error.h"

namespace diml::server {

RequestThreads::RequestThreads(int most, Answer answer) : answer_(std::move(answer)) {
  line_of(Lane::common).most = static_cast<std::size_t>(std::max(most, 1));
  line_of(Lane::monitoring).most = 1;
  // One thread of each line for certain; the system may refuse to start more.
  try {
    for (Line& line : lines_) {
      line.threads.reserve(line.most);
      line.threads.emplace_back([this, &line] { work(line); });
    }
  } catch (const std::exception&) {
    shutdown();
    throw Error(ErrorKind::out_of_resources,
                "the system cannot start a thread for the server: allow this user more threads");
  }
}

RequestThreads::~RequestThreads() { shutdown(); }

void RequestThreads::start_thread(Line& line) {
  if (line.threads.size() >= line.most || line.visits.size() + line.busy <= line.threads.size()) {
    return;
  }
  try {
    line.threads.emplace_back([this, &line] { work(line); });
  } catch (const std::exception&) {
    // Those that run take the requests in turn.
  }
}

void RequestThreads::enqueue(Lane lane, std::unique_ptr<Visit> visit) {
  Line& line = line_of(lane);
  const std::string client = visit->exchange->call.patience.client;
  const std::lock_guard lock(mutex_);
  line.visits.push(client, std::move(visit));
  start_thread(line);
  line.arrived.notify_one();
}

// Null where no waiting client may have another thread now.
std::unique_ptr<Visit> RequestThreads::next_visit(Line& line) {
  const auto free = static_cast<double>(line.most - line.busy);
  auto visit = line.visits.pop([&](const std::string& client) {
    const auto found = line.running.find(client);
    const double its = found == line.running.end() ? 0.0 : static_cast<double>(found->second);
    const bool may = its == 0.0 || its < 2 * free;
    return may ? its : std::numeric_limits<double>::infinity();
  });
  return visit ? std::move(*visit) : nullptr;
}

void RequestThreads::work(Line& line) {
  std::unique_lock lock(mutex_);
  while (true) {
    std::unique_ptr<Visit> visit;
    line.arrived.wait(lock, [&] {
      visit = next_visit(line);
      return visit != nullptr || (closed_ && line.visits.empty());
    });
    if (visit == nullptr) return;
    auto its = line.running.end();
    try {
      its = line.running.try_emplace(visit->exchange->call.patience.client).first;
    } catch (const std::exception&) {
      continue;  // no memory: its connection is closed
    }
    ++its->second;
    ++line.busy;
    lock.unlock();
    answer_(std::move(visit));
    lock.lock();
    --line.busy;
    if (--its->second == 0) line.running.erase(its);
    // The end of a request admits one more at most, and this thread takes that one.
    if (closed_) line.arrived.notify_all();
  }
}

void RequestThreads::shutdown() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    for (Line& line : lines_) line.arrived.notify_all();
  }
  for (Line& line : lines_) {
    for (std::thread& thread : line.threads) {
      if (thread.joinable()) thread.join();
    }
  }
}

}  // namespace diml::server
