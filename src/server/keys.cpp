#include "keys.h"

#include <algorithm>

#include "base/sha256.h"
#include "diml/error.h"
#include "refusal.h"

namespace diml::server {
namespace {

constexpr double kMostWrong = 10.0;
// So many clients are remembered before the quiet ones are forgotten.
constexpr std::size_t kMany = 4096;
constexpr std::string_view kScheme = "Bearer ";

std::string hash_of(const std::string& secret) {
  Sha256 hash;
  hash.update({reinterpret_cast<const std::uint8_t*>(secret.data()), secret.size()});
  return hash.hex();
}

// Both have the length of a hash.
bool same(const std::string& one, const std::string& other) {
  unsigned difference = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    difference |= static_cast<unsigned char>(one[i]) ^ static_cast<unsigned char>(other[i]);
  }
  return difference == 0;
}

bool is_visible(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

}  // namespace

std::shared_ptr<const Keys::Ring> Keys::ring_of(const std::vector<AccessToken>& tokens) {
  auto ring = std::make_shared<Ring>();
  std::set<std::string> names;
  for (const AccessToken& token : tokens) {
    if (!is_visible(token.secret) || !is_visible(token.name)) {
      throw Error("a token has visible ASCII characters only, no spaces");
    }
    if (!names.insert(token.name).second) {
      throw Error("two tokens have the name '" + token.name + "': give each its own");
    }
    ring->push_back({hash_of(token.secret), {token.name, token.rights}});
  }
  return ring;
}

Keys::Keys(std::vector<AccessToken> tokens) : ring_(ring_of(tokens)) {}

void Keys::set(std::vector<AccessToken> tokens) {
  std::shared_ptr<const Ring> fresh = ring_of(tokens);
  const std::lock_guard lock(mutex_);
  if (fresh->empty() && !ring_->empty()) {
    throw Error("without a token the server would be open to everybody: give at least one");
  }
  ring_ = std::move(fresh);
  right_.clear();
}

bool Keys::any() const {
  const std::lock_guard lock(mutex_);
  return !ring_->empty();
}

// All of them are compared, so that the time does not tell which one was nearly right.
const Keys::Key* Keys::key_in(const Ring& ring, const std::string& secret) {
  const std::string hash = hash_of(secret);
  const Key* found = nullptr;
  for (const Key& key : ring) {
    if (same(key.hash, hash)) found = &key;
  }
  return found;
}

bool Keys::is_throttled(const std::string& client, Clock::time_point now) const {
  const auto found = wrong_.find(client);
  if (found == wrong_.end()) return false;
  const double age = std::chrono::duration<double>(now - found->second.when).count();
  return found->second.count - age >= kMostWrong;
}

void Keys::note_wrong(const std::string& client, Clock::time_point now) {
  const auto age = [&](const Wrong& wrong) {
    return std::chrono::duration<double>(now - wrong.when).count();
  };
  if (wrong_.size() >= kMany) {
    std::erase_if(wrong_, [&](const auto& one) { return one.second.count <= age(one.second); });
  }
  if (wrong_.size() >= kMany) wrong_.clear();
  Wrong& wrong = wrong_[client];
  wrong.count = std::max(0.0, wrong.count - age(wrong)) + 1.0;
  wrong.when = now;
}

Keys::Holder Keys::holder(const std::string& authorization, const std::string& client,
                          Clock::time_point now) {
  std::shared_ptr<const Ring> ring;
  {
    const std::lock_guard lock(mutex_);
    ring = ring_;
  }
  const bool has_token = authorization.starts_with(kScheme);
  const Key* key = has_token ? key_in(*ring, authorization.substr(kScheme.size())) : nullptr;
  const std::lock_guard lock(mutex_);
  const std::string known = key == nullptr ? "" : client + " " + key->holder.name;
  if (has_token && is_throttled(client, now) && !right_.contains(known)) {
    throw Refusal(429, "too many wrong tokens from this address: try again in a second",
                  {{"Retry-After", "1"}});
  }
  if (key != nullptr) {
    if (right_.size() >= kMany) right_.clear();
    right_.insert(known);
    return key->holder;
  }
  if (has_token) note_wrong(client, now);
  throw Refusal(401, "this server requires a token: send the header Authorization: Bearer TOKEN");
}

}  // namespace diml::server
