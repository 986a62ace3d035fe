#pragma once

#include <map>
#include <string>

#include "patience.h"

namespace diml::server {

// How many seconds of computing each client has used recently: a second that was used ten seconds
// ago counts as about a third. Not for several threads at once.
class ClientUse {
 public:
  double of(const std::string& client, Clock::time_point now = Clock::now()) const;
  void add(const std::string& client, double seconds, Clock::time_point now = Clock::now());

 private:
  struct Used {
    double seconds = 0.0;
    Clock::time_point when{};
  };
  void forget_old(Clock::time_point now);

  std::map<std::string, Used> used_;
};

}  // namespace diml::server
