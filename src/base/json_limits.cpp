#include "base/json_limits.h"

#include <vector>

namespace diml {
namespace {

constexpr std::size_t kBetweenLooks = std::size_t{1} << 20;  // bytes

class Scanner {
 public:
  explicit Scanner(const JsonLimits& limits) : limits_(limits) {}

  // False once something is too much.
  bool take(char c) {
    if (in_string_) return take_in_string(c);
    switch (c) {
      case '"':
        in_string_ = true;
        string_ = 0;
        return true;
      case '[':
      case '{':
        if (names_of_.size() == limits_.depth)
          return stop("is nested deeper than " + std::to_string(limits_.depth) + " levels");
        names_of_.push_back(0);
        return count_value();
      case ']':
      case '}':
        if (!names_of_.empty()) names_of_.pop_back();
        return true;
      case ',':
        return count_value();
      case ':':
        return count_name();
      default:
        return true;
    }
  }

  const std::string& excess() const { return excess_; }

 private:
  bool take_in_string(char c) {
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      in_string_ = false;
      return true;
    }
    if (++string_ <= limits_.string) return true;
    return stop("has a text of more than " + std::to_string(limits_.string) + " bytes");
  }

  bool count_value() {
    if (++values_ <= limits_.values) return true;
    return stop("has more than " + std::to_string(limits_.values) + " values");
  }

  bool count_name() {
    if (++names_ > limits_.names)
      return stop("has more than " + std::to_string(limits_.names) + " names");
    if (names_of_.empty() || ++names_of_.back() <= limits_.names_of_object) return true;
    return stop("has an object of more than " + std::to_string(limits_.names_of_object) + " names");
  }

  bool stop(std::string why) {
    excess_ = std::move(why);
    return false;
  }

  const JsonLimits& limits_;
  bool in_string_ = false;
  bool escaped_ = false;
  std::size_t string_ = 0;  // bytes of the present one
  std::size_t names_ = 0;
  std::size_t values_ = 0;
  std::vector<std::size_t> names_of_;  // of the open objects and lists
  std::string excess_;
};

}  // namespace

std::optional<std::string> excess_of(std::string_view text, const JsonLimits& limits,
                                     const Progress& progress) {
  Scanner scanner(limits);
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!scanner.take(text[at])) return scanner.excess();
    if (at % kBetweenLooks == kBetweenLooks - 1) progress.stop_if_cancelled();
  }
  return std::nullopt;
}

}  // namespace diml
