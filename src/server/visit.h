#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "body_room.h"
#include "call.h"
#include "connection.h"
#include "guests.h"
#include "http_message.h"
#include "routes.h"

namespace diml::server {

// A request on its way in, and its answer on its way out.
struct Exchange {
  Exchange(const ServerLimits& limits, BodyRooms& rooms) : parser(limits) { room.emplace(rooms); }

  Clock::time_point start = Clock::now();  // of its first byte
  std::string id;                          // see ServedRequest, as these two
  std::string client;
  std::string token;
  Head head;
  bool is_framed = false;  // the head was understood
  RequestParser parser;
  std::optional<BodyRoom> room;  // of the body, then of an answer that is not taken at once
  std::size_t body_bytes = 0;    // as they came, with their framing
  const Route* route = nullptr;
  std::string name = "other";  // of the route, for the metrics
  Call call;
  std::optional<Reply> reply;  // where the head alone decides it
  std::exception_ptr failure;  // why it is refused

  int status = 0;
  Afterwards afterwards = Afterwards::close;
  std::string answer_head;
  std::string answer_body;
  std::size_t sent = 0;  // of both
};

// A connection and the stage of its current request. One thread at a time owns it.
struct Visit {
  Visit(std::uint64_t number, int socket, const std::string& peer)
      : id(number), party(Guests::party_of(peer)), connection(socket, peer) {}

  enum class Stage : std::uint8_t {
    idle,     // between requests
    head,     // the head of a request is arriving
    body,     // the body of a request is arriving
    sending,  // an answer that the socket did not take at once
    leaving,  // after the last answer: further input is read and dropped
  };

  enum class Place : std::uint8_t {
    guest,
    reserve,  // where all places are taken: for whoever asks how the server is
    none,     // refused
  };

  std::uint64_t id;
  std::string party;  // whose connections are counted together
  Place place = Place::none;
  Guests::Seat seat{};  // of its place
  Connection connection;
  Stage stage = Stage::idle;
  Clock::time_point since = Clock::now();  // of waiting for the client
  Clock::time_point deadline{};
  bool has_ended = false;   // the client sends nothing more
  std::size_t dropped = 0;  // bytes
  std::unique_ptr<Exchange> exchange;
};

}  // namespace diml::server
