#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "front.h"
#include "listener.h"
#include "request_threads.h"
#include "service.h"

namespace diml::server {

// Between connections and routes: the front receives whole requests, threads call their routes and
// write the answers.
class HttpServer final : private FrontOwner {
 public:
  // Starts serving. Throws if the address is not available.
  explicit HttpServer(Service& service);
  ~HttpServer() override;
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const { return listener_.port(); }
  void stop();

 private:
  // On the front's thread.
  bool is_proxy(const std::string& peer) const override;
  std::unique_ptr<Exchange> begin() override;
  bool arrived(Visit& visit) override;
  bool is_monitoring(const Visit& visit) const override;
  void late(Visit& visit) override;
  void answer(std::unique_ptr<Visit> visit) override;
  void sent(Visit& visit) override;
  std::string refusal() override;
  void count_sent_away() override;
  void lost() noexcept override;
  void note_open(std::size_t connections) override;

  // Whether the request is whole. Throws Refusal.
  bool take_request(Visit& visit);
  void take_head(Visit& visit, const std::string& text);
  void take_body(Visit& visit);

  // On a thread of its own.
  void reply(std::unique_ptr<Visit> visit);
  Reply reply_to(Exchange& exchange);
  void send(std::unique_ptr<Visit> visit);

  Service& service_;
  Listener listener_;
  RequestThreads threads_;
  Clock::time_point told_{};  // of refused connections
  std::size_t told_refused_ = 0;
  Front front_;  // the last one: it begins at once
};

}  // namespace diml::server
