#include "base/label_words.h"

#include <algorithm>
#include <charconv>
#include <tuple>
#include <vector>

#include "base/npy.h"

namespace diml {
namespace {

constexpr std::int64_t kNone = -1;

}  // namespace

std::string label_word(std::int64_t number) {
  return number == kNone ? std::string() : std::to_string(number);
}

std::optional<std::int64_t> label_number(const std::string& word) {
  if (word.empty()) return kNone;
  std::int64_t number = 0;
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, number);
  if (error != std::errc() || stop != end || label_word(number) != word) return std::nullopt;
  return number;
}

std::string given_label(const std::string& word) { return word == "-1" ? std::string() : word; }

bool LabelOrder::operator()(const std::string& a, const std::string& b) const {
  const std::optional<std::int64_t> left = label_number(a);
  const std::optional<std::int64_t> right = label_number(b);
  if (left && right) {
    return std::tuple(!a.empty(), *left) < std::tuple(!b.empty(), *right);
  }
  if (left || right) return left.has_value();
  return a < b;
}

void write_labels(const std::string& path, std::span<const std::string> labels) {
  std::vector<std::int64_t> numbers;
  std::size_t longest = 1;
  for (const std::string& label : labels) {
    longest = std::max(longest, text_length(label));
    if (const auto number = label_number(label)) numbers.push_back(*number);
  }
  const std::vector<std::size_t> shape = {labels.size()};
  OutputFile file(path);
  if (numbers.size() == labels.size()) {
    file.write(npy_header(ArrayType::int64, shape));
    file.write(numbers.data(), numbers.size() * sizeof(std::int64_t));
  } else {
    file.write(npy_text_header(longest, shape));
    for (const std::string& label : labels) file.write(npy_text(label, longest));
  }
  file.commit();
}

}  // namespace diml
