#include "front.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/system_error.h"
#include "diml/error.h"

namespace diml::server {
namespace {

constexpr std::uint64_t kListener = 0;
constexpr std::uint64_t kWake = 1;
constexpr int kTick = 25;                   // milliseconds between looks at the clocks
constexpr int kAcceptedAtOnce = 64;         // before others have their turn
constexpr std::size_t kFilesOfOthers = 96;  // of the gallery, of photos, of logs
constexpr std::size_t kMostRefused = 256;   // that are told why at the same time
constexpr std::size_t kMostInReserve = 32;
constexpr double kLinger = 2.0;  // seconds for a client to receive its last answer
constexpr double kRefusedLinger = 0.5;
constexpr double kReserveSeconds = 2.0;  // for a head
constexpr double kFarewell = 2.0;        // for requests that arrive while the server stops
constexpr double kLastMoment = 0.5;      // for answers, however short the grace is
constexpr double kPause = 0.02;          // where there are no files for more connections
// How much a client may still send after its last answer.
constexpr std::size_t kDropped = std::size_t{64} << 20;
// Whoever is as quick as this is not sent away for another one.
constexpr double kQuick = 1.0;

// Connections, in the reserve and refused ones included, that the system has files for.
std::size_t most_files() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
  const auto all = static_cast<std::size_t>(files.rlim_cur);
  return std::max(all - std::min(all, kFilesOfOthers), all / 4);
}

std::size_t most_connections(const ServerLimits& limits) {
  const std::size_t files = most_files();
  const std::size_t others = kMostInReserve + std::min(kMostRefused, files / 8);
  const std::size_t left = std::max(files - std::min(files, others), files / 2);
  return std::clamp<std::size_t>(left, 1, static_cast<std::size_t>(limits.connections));
}

void watch(int epoll, int operation, int socket, std::uint32_t events, std::uint64_t id) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  (void)::epoll_ctl(epoll, operation, socket, &event);
}

bool is_receiving(Visit::Stage stage) {
  return stage == Visit::Stage::idle || stage == Visit::Stage::head || stage == Visit::Stage::body;
}

}  // namespace

Front::Front(const Listener& listener, const ServerLimits& limits, FrontOwner& owner)
    : listener_(listener),
      limits_(limits),
      owner_(owner),
      most_(most_connections(limits)),
      most_of_one_(limits.connections_of_one > 0
                       ? static_cast<std::size_t>(limits.connections_of_one)
                       : std::max<std::size_t>(most_ / 2, 1)),
      most_refused_(std::min(kMostRefused, most_files() / 8)),
      events_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (events_ < 0 || wake_ < 0) throw system_error("the server cannot wait for clients", errno);
  watch(events_, EPOLL_CTL_ADD, wake_, EPOLLIN, kWake);
  watch(events_, EPOLL_CTL_ADD, listener_.socket(), 0, kListener);
  listen_for_clients(true);
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::exception&) {
    throw Error(ErrorKind::out_of_resources,
                "the system cannot start a thread for the server: allow this user more threads");
  }
}

Front::~Front() {
  stop_receiving();
  finish();
  ::close(events_);
  ::close(wake_);
}

// Where there is no memory, the connection at hand is closed, and the others go on.
template <class Call>
void Front::guarded(Call call) {
  try {
    call();
  } catch (...) {
    owner_.lost();
  }
}

void Front::run() {
  while (phase_ != Phase::finishing || !waiting_.empty()) {
    guarded([&] { wait_for_events(); });
    guarded([&] { look_at_clocks(); });
    guarded([&] { look_at_phase(); });
  }
}

void Front::wait_for_events() {
  std::array<epoll_event, 64> events{};
  const int count = ::epoll_wait(events_, events.data(), static_cast<int>(events.size()), kTick);
  for (int k = 0; k < count; ++k) {
    const std::uint64_t id = events[static_cast<std::size_t>(k)].data.u64;
    if (id == kListener) {
      guarded([&] { accept_all(); });
    } else if (id == kWake) {
      std::uint64_t times = 0;
      (void)!::read(wake_, &times, sizeof(times));
    } else if (std::unique_ptr<Visit> visit = take(id)) {
      guarded([&] { serve(std::move(visit)); });
    }
  }
  std::vector<std::unique_ptr<Visit>> returned;
  {
    const std::lock_guard lock(mutex_);
    returned.swap(returned_);
  }
  for (std::unique_ptr<Visit>& visit : returned) {
    guarded([&] { go_on(std::move(visit)); });
  }
}

void Front::listen_for_clients(bool on) {
  is_listening_ = on;
  watch(events_, EPOLL_CTL_MOD, listener_.socket(), on ? EPOLLIN : 0U, kListener);
}

void Front::accept_all() {
  if (!is_listening_) return;
  for (int k = 0; k < kAcceptedAtOnce; ++k) {
    const Listener::Arrival arrival = listener_.accept();
    if (arrival.came == Listener::Came::nobody) return;
    if (arrival.came == Listener::Came::client) {
      welcome(arrival);
    } else if (!make_room("", Among::all) && !make_room("", Among::reserve)) {
      pause_until_ = after(kPause);
      return listen_for_clients(false);
    }
  }
}

// Owns its socket from here on, or closes it.
std::unique_ptr<Visit> Front::visit_of(const Listener::Arrival& arrival) {
  try {
    return std::make_unique<Visit>(next_id_++, arrival.socket, arrival.peer);
  } catch (const std::exception&) {
    ::close(arrival.socket);
    throw;
  }
}

void Front::welcome(const Listener::Arrival& arrival) {
  std::unique_ptr<Visit> visit = visit_of(arrival);
  const std::string& party = visit->party;
  const bool is_many = !owner_.is_proxy(arrival.peer) && guests_.of(party) >= most_of_one_;
  watch(events_, EPOLL_CTL_ADD, arrival.socket, 0, visit->id);
  if ((!is_many || make_room(party, Among::party)) &&
      (guests_.total() < most_ || make_room(party, Among::all))) {
    return seat(std::move(visit), Visit::Place::guest, limits_.idle_seconds);
  }
  if (reserve_.total() < kMostInReserve || make_room(party, Among::reserve)) {
    return seat(std::move(visit), Visit::Place::reserve, kReserveSeconds);
  }
  refuse(std::move(visit));
}

void Front::seat(std::unique_ptr<Visit> visit, Visit::Place place, double seconds) {
  Guests& guests = place == Visit::Place::guest ? guests_ : reserve_;
  visit->seat = guests.seat(visit->party);
  visit->place = place;
  visit->deadline = after(seconds);
  receive(std::move(visit));  // the request has often arrived already
}

// Closes the connection that has waited longest for its client: of this address, or of the address
// with the most of them. Not for an address that has as many itself, unless that one is slow.
bool Front::make_room(const std::string& party, Among among) {
  const Visit::Place place = among == Among::reserve ? Visit::Place::reserve : Visit::Place::guest;
  const Guests& guests = among == Among::reserve ? reserve_ : guests_;
  std::unique_ptr<Visit> leaving;
  const std::lock_guard lock(mutex_);
  auto chosen = waiting_.end();
  std::size_t most = 0;
  for (auto one = waiting_.begin(); one != waiting_.end(); ++one) {
    const Visit& visit = *one->second;
    if (visit.place != place || (among == Among::party && visit.party != party)) continue;
    const std::size_t its = among == Among::party ? 0 : guests.of(visit.party);
    if (chosen != waiting_.end() &&
        (its < most || (its == most && visit.since >= chosen->second->since))) {
      continue;
    }
    chosen = one;
    most = its;
  }
  if (chosen == waiting_.end()) return false;
  const bool is_quick = seconds_since(chosen->second->since) < kQuick;
  if (among == Among::all && is_quick && most <= guests.of(party) + 1) return false;
  leaving = std::move(chosen->second);
  waiting_.erase(chosen);
  owner_.count_sent_away();
  return true;
}

void Front::refuse(std::unique_ptr<Visit> visit) {
  const std::string why = owner_.refusal();
  visit->place = Visit::Place::none;
  visit->seat.reset();
  visit->exchange.reset();
  if (refused_.total() >= most_refused_ || phase_ != Phase::open) return;
  visit->seat = refused_.seat(visit->party);
  (void)visit->connection.write(why);
  visit->connection.end_writing();
  visit->stage = Visit::Stage::leaving;
  visit->deadline = after(kRefusedLinger);
  put(std::move(visit));
}

void Front::serve(std::unique_ptr<Visit> visit) {
  switch (visit->stage) {
    case Visit::Stage::sending:
      return send_rest(std::move(visit));
    case Visit::Stage::leaving:
      return drop_rest(std::move(visit));
    default:
      return receive(std::move(visit));
  }
}

void Front::receive(std::unique_ptr<Visit> visit) {
  const Connection::Got got = visit->connection.receive();
  if (got == Connection::Got::nothing) return put(std::move(visit));
  if (got == Connection::Got::end) {
    if (visit->stage == Visit::Stage::idle) return;
    visit->has_ended = true;
  }
  go_on(std::move(visit));
}

void Front::go_on(std::unique_ptr<Visit> visit) {
  if (visit->stage == Visit::Stage::idle) {
    visit->stage = Visit::Stage::head;
    visit->since = Clock::now();
    visit->deadline = after(std::min(limits_.head_seconds, limits_.receive_seconds));
    if (visit->place == Visit::Place::reserve) {
      visit->deadline = std::min(visit->deadline, after(kReserveSeconds));
    }
    visit->exchange = owner_.begin();
  }
  const bool has_all = owner_.arrived(*visit);
  const bool has_head = has_all || visit->stage == Visit::Stage::body;
  if (visit->place == Visit::Place::reserve && has_head && !owner_.is_monitoring(*visit)) {
    return refuse(std::move(visit));
  }
  if (has_all) return owner_.answer(std::move(visit));
  put(std::move(visit));
}

void Front::send_rest(std::unique_ptr<Visit> visit) {
  Exchange& exchange = *visit->exchange;
  const std::size_t head = exchange.answer_head.size();
  const std::string_view body = exchange.answer_body;
  const std::string_view first =
      std::string_view(exchange.answer_head).substr(std::min(exchange.sent, head));
  const auto sent =
      visit->connection.write(first, body.substr(exchange.sent - std::min(exchange.sent, head)));
  exchange.sent += sent.value_or(0);
  if (sent && exchange.sent < head + body.size()) return put(std::move(visit));
  if (!sent) exchange.afterwards = Afterwards::close;
  owner_.sent(*visit);
  if (sent) after_answer(std::move(visit));
}

void Front::after_answer(std::unique_ptr<Visit> visit) {
  const bool goes_on = visit->exchange->afterwards == Afterwards::next_request;
  visit->exchange.reset();
  visit->stage = goes_on ? Visit::Stage::idle : Visit::Stage::leaving;
  if (!goes_on) visit->connection.end_writing();
  take_back(std::move(visit));
}

void Front::drop_rest(std::unique_ptr<Visit> visit) {
  const Connection::Got got = visit->connection.receive();
  const std::size_t bytes = visit->connection.unread().size();
  visit->connection.take(bytes);
  visit->dropped += bytes;
  if (got == Connection::Got::end || visit->dropped > kDropped) return;
  put(std::move(visit));
}

void Front::take_back(std::unique_ptr<Visit> visit) {
  visit->since = Clock::now();
  switch (visit->stage) {
    case Visit::Stage::idle:
      visit->deadline = after(limits_.idle_seconds);
      if (visit->connection.unread().empty()) break;
      {
        const std::lock_guard lock(mutex_);
        returned_.push_back(std::move(visit));
      }
      {
        const std::uint64_t once = 1;
        (void)!::write(wake_, &once, sizeof(once));
      }
      return;
    case Visit::Stage::sending:
      visit->deadline = after(limits_.receive_seconds);
      break;
    default:
      visit->deadline = after(kLinger);
  }
  put(std::move(visit));
}

// EPOLLONESHOT: the socket gives one event, and no more until it is put again.
void Front::put(std::unique_ptr<Visit> visit) {
  const std::uint64_t id = visit->id;
  const int socket = visit->connection.socket();
  const std::uint32_t events = visit->stage == Visit::Stage::sending ? EPOLLOUT : EPOLLIN;
  const std::lock_guard lock(mutex_);
  waiting_.emplace(id, std::move(visit));
  watch(events_, EPOLL_CTL_MOD, socket, events | EPOLLONESHOT, id);
}

std::unique_ptr<Visit> Front::take(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return nullptr;
  std::unique_ptr<Visit> visit = std::move(found->second);
  waiting_.erase(found);
  return visit;
}

void Front::overdue(std::unique_ptr<Visit> visit) {
  switch (visit->stage) {
    case Visit::Stage::head:
    case Visit::Stage::body:
      if (visit->place == Visit::Place::reserve) return;  // no thread for it
      owner_.late(*visit);
      return owner_.answer(std::move(visit));
    case Visit::Stage::sending:
      return owner_.sent(*visit);
    default:  // it is closed
      return;
  }
}

void Front::look_at_clocks() {
  const Clock::time_point now = Clock::now();
  if (now - looked_ < std::chrono::milliseconds(kTick)) return;
  looked_ = now;
  owner_.note_open(guests_.total());
  if (!is_listening_ && phase_ == Phase::open && now >= pause_until_) listen_for_clients(true);
  std::vector<std::unique_ptr<Visit>> late;
  {
    const std::lock_guard lock(mutex_);
    for (auto one = waiting_.begin(); one != waiting_.end();) {
      const Visit& visit = *one->second;
      Clock::time_point deadline = visit.deadline;
      const bool lingers = visit.stage == Visit::Stage::leaving;
      if (phase_ == Phase::finishing) deadline = lingers ? now : std::min(deadline, farewell_);
      if (phase_ == Phase::closing && is_receiving(visit.stage)) {
        deadline = std::min(deadline, farewell_);
      }
      if (now < deadline) {
        ++one;
        continue;
      }
      late.push_back(std::move(one->second));
      one = waiting_.erase(one);
    }
  }
  for (std::unique_ptr<Visit>& visit : late) {
    guarded([&] { overdue(std::move(visit)); });
  }
}

// While the server stops: what has arrived is still taken, idle connections are closed.
void Front::look_at_phase() {
  if (phase_ == Phase::open) return;
  if (is_listening_) listen_for_clients(false);
  std::vector<std::unique_ptr<Visit>> idle;
  {
    const std::lock_guard lock(mutex_);
    for (auto one = waiting_.begin(); one != waiting_.end();) {
      if (one->second->stage != Visit::Stage::idle) {
        ++one;
        continue;
      }
      idle.push_back(std::move(one->second));
      one = waiting_.erase(one);
    }
  }
  for (std::unique_ptr<Visit>& visit : idle) {
    guarded([&] {
      if (visit->connection.receive() == Connection::Got::bytes) go_on(std::move(visit));
    });
  }
  const std::lock_guard lock(mutex_);
  const bool nothing_arrives = std::none_of(waiting_.begin(), waiting_.end(), [](const auto& one) {
    return is_receiving(one.second->stage);
  });
  if (!nothing_arrives || !returned_.empty()) return;
  has_received_all_ = true;
  received_all_.notify_all();
}

void Front::stop_receiving() {
  std::unique_lock lock(mutex_);
  if (phase_ == Phase::open) {
    phase_ = Phase::closing;
    farewell_ = after(std::min(kFarewell, limits_.stop_seconds));
    ends_ = after(limits_.stop_seconds);
  }
  received_all_.wait(lock, [&] { return has_received_all_; });
}

void Front::finish() {
  {
    const std::lock_guard lock(mutex_);
    if (phase_ != Phase::finishing)
      farewell_ = std::max(after(kLastMoment), std::min(after(kFarewell), ends_));
    phase_ = Phase::finishing;
  }
  if (thread_.joinable()) thread_.join();
}

}  // namespace diml::server
