#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace diml {

// Labels are words. Numbers are words too: 17 is "17". No label is "", or -1 among numbers.
std::string label_word(std::int64_t number);

// The number that label_word() makes this word of; none for "pug", "017" and "-1".
std::optional<std::int64_t> label_number(const std::string& word);

// A label as people and programs write it: -1 is no label here too.
std::string given_label(const std::string& word);

// An order for people: no label, then numbers by their value, then words.
struct LabelOrder {
  bool operator()(const std::string& a, const std::string& b) const;
};

// A .npy file of labels: int64 where all of them are numbers, else words.
void write_labels(const std::string& path, std::span<const std::string> labels);

}  // namespace diml
