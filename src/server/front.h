#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "listener.h"
#include "visit.h"

namespace diml::server {

// What the front asks and tells, on its own thread. Nothing of it may wait.
class FrontOwner {
 public:
  virtual ~FrontOwner() = default;
  // A connection may come in spite of many others of its address.
  virtual bool is_proxy(const std::string& peer) const = 0;
  // A request begins.
  virtual std::unique_ptr<Exchange> begin() = 0;
  // More has arrived, or nothing follows. Returns whether the request can be answered; sets the
  // stage and the deadline if not.
  virtual bool arrived(Visit& visit) = 0;
  // Whether a request whose head has arrived asks how the server is, which a full house may ask.
  virtual bool is_monitoring(const Visit& visit) const = 0;
  // The deadline of head or body is over: sets the failure.
  virtual void late(Visit& visit) = 0;
  // A request to be answered by another thread.
  virtual void answer(std::unique_ptr<Visit> visit) = 0;
  // The answer is sent, or the client does not take it.
  virtual void sent(Visit& visit) = 0;
  // Bytes for a client for whom there is no place; "" for none.
  virtual std::string refusal() = 0;
  virtual void count_sent_away() = 0;
  // A connection is closed because there is no memory to go on with it.
  virtual void lost() noexcept = 0;
  virtual void note_open(std::size_t connections) = 0;
};

// One thread that holds all connections that wait for their clients: for a request, for the rest of
// one, or for an answer to be received. So a slow client costs a socket and no thread. Where all
// places are taken, the address with the most connections loses the one that has waited longest.
// Where requests in progress take all places, a few more are kept for heads that ask for
// monitoring.
class Front {
 public:
  Front(const Listener& listener, const ServerLimits& limits, FrontOwner& owner);
  ~Front();
  Front(const Front&) = delete;
  Front& operator=(const Front&) = delete;

  // After an answer, from any thread: idle, sending or leaving.
  void take_back(std::unique_ptr<Visit> visit);

  // Accepts no more; returns when all requests that have begun to arrive were handed over.
  void stop_receiving();
  // Returns when all answers were sent, or given up. It accepts no connection after that.
  void finish();

 private:
  enum class Phase : std::uint8_t { open, closing, finishing };
  using Waiting = std::unordered_map<std::uint64_t, std::unique_ptr<Visit>>;

  template <class Call>
  void guarded(Call call);
  void run();
  void wait_for_events();
  void accept_all();
  std::unique_ptr<Visit> visit_of(const Listener::Arrival& arrival);
  void welcome(const Listener::Arrival& arrival);
  enum class Among : std::uint8_t { all, party, reserve };
  bool make_room(const std::string& party, Among among);
  void seat(std::unique_ptr<Visit> visit, Visit::Place place, double seconds);
  void refuse(std::unique_ptr<Visit> visit);
  void listen_for_clients(bool on);

  void serve(std::unique_ptr<Visit> visit);
  void receive(std::unique_ptr<Visit> visit);
  void go_on(std::unique_ptr<Visit> visit);
  void send_rest(std::unique_ptr<Visit> visit);
  void drop_rest(std::unique_ptr<Visit> visit);
  void overdue(std::unique_ptr<Visit> visit);
  void after_answer(std::unique_ptr<Visit> visit);

  void put(std::unique_ptr<Visit> visit);
  std::unique_ptr<Visit> take(std::uint64_t id);
  void look_at_clocks();
  void look_at_phase();

  const Listener& listener_;
  const ServerLimits& limits_;
  FrontOwner& owner_;
  std::size_t most_;
  std::size_t most_of_one_;
  std::size_t most_refused_;
  Guests guests_;
  Guests reserve_;
  Guests refused_;   // that are leaving
  int events_ = -1;  // epoll
  int wake_ = -1;
  std::uint64_t next_id_ = 2;  // 0: the listener, 1: wake_
  bool is_listening_ = false;
  Clock::time_point pause_until_{};
  Clock::time_point looked_{};
  Clock::time_point farewell_{};
  Clock::time_point ends_{};  // the grace

  std::mutex mutex_;  // guards the members below
  Waiting waiting_;
  std::vector<std::unique_ptr<Visit>> returned_;  // with the next request in hand
  std::condition_variable received_all_;
  bool has_received_all_ = false;
  std::atomic<Phase> phase_{Phase::open};
  std::thread thread_;
};

}  // namespace diml::server
