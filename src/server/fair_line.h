#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace diml::server {

// A queue for each client, served in turn: the many requests of one client delay that client alone.
// Not for several threads at once.
template <class T>
class FairLine {
 public:
  void push(const std::string& client, T one) {
    const auto line = lines_.try_emplace(client).first;
    try {
      line->second.push_back({std::move(one), turn_++});
    } catch (...) {
      if (line->second.empty()) lines_.erase(line);
      throw;
    }
    ++size_;
  }
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  // The oldest of the client with the lowest rank; of equal ranks, of the one who has waited
  // longest. rank(client): a number, or infinity if it has to wait for longer.
  template <class Rank>
  std::optional<T> pop(Rank rank) {
    auto best = lines_.end();
    double lowest = std::numeric_limits<double>::infinity();
    for (auto line = lines_.begin(); line != lines_.end(); ++line) {
      const double its = rank(line->first);
      const bool is_better =
          its < lowest || (best != lines_.end() && its == lowest &&
                           line->second.front().turn < best->second.front().turn);
      if (!is_better) continue;
      best = line;
      lowest = its;
    }
    if (best == lines_.end()) return std::nullopt;
    T one = std::move(best->second.front().one);
    best->second.pop_front();
    if (best->second.empty()) lines_.erase(best);
    --size_;
    return one;
  }

  // Removes those of this client for which is_it holds.
  template <class IsIt>
  void remove_if(const std::string& client, IsIt is_it) {
    const auto line = lines_.find(client);
    if (line == lines_.end()) return;
    size_ -=
        std::erase_if(line->second, [&](const Waiting& waiting) { return is_it(waiting.one); });
    if (line->second.empty()) lines_.erase(line);
  }

 private:
  struct Waiting {
    T one;
    std::uint64_t turn;
  };
  std::map<std::string, std::deque<Waiting>> lines_;
  std::uint64_t turn_ = 0;
  std::size_t size_ = 0;
};

}  // namespace diml::server
