#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "diml/server.h"
#include "patience.h"

namespace diml::server {

// The tokens, and the clients that sent wrong ones. A client that sent many wrong ones may try one
// a second; tokens that it sent correctly before still work meanwhile. From any thread.
class Keys {
 public:
  // Throws Error where names or secrets are wrong.
  explicit Keys(std::vector<AccessToken> tokens);
  // Throws Error where there were some and none are given.
  void set(std::vector<AccessToken> tokens);
  bool any() const;

  struct Holder {
    std::string name;
    TokenRights rights = TokenRights::write;
  };
  // authorization: the header. Throws Refusal 401 or 429.
  Holder holder(const std::string& authorization, const std::string& client,
                Clock::time_point now = Clock::now());

 private:
  struct Key {
    std::string hash;  // of the secret: so that the comparison takes the same time for any length
    Holder holder;
  };
  using Ring = std::vector<Key>;
  struct Wrong {
    double count = 0.0;  // falls by one a second
    Clock::time_point when{};
  };
  static std::shared_ptr<const Ring> ring_of(const std::vector<AccessToken>& tokens);
  static const Key* key_in(const Ring& ring, const std::string& secret);
  bool is_throttled(const std::string& client, Clock::time_point now) const;
  void note_wrong(const std::string& client, Clock::time_point now);

  mutable std::mutex mutex_;
  std::shared_ptr<const Ring> ring_;
  std::map<std::string, Wrong> wrong_;
  std::set<std::string> right_;  // client and name
};

}  // namespace diml::server
