#pragma once

#include "command.h"
#include "diml/evaluate.h"
#include "engine/rerank_gain.h"

namespace diml::cli {

// The depths of an evaluation beside each other, and how sure their numbers are.
struct Comparison {
  DepthComparison depths{};
  BootstrapParams bootstrap{};
};

// The contract of `diml evaluate --json`: percentages under fixed names. A label is a word: the
// name of its class where labels are names, else its number.
Json to_json(const Evaluation& evaluation, const Comparison& comparison, bool per_class,
             const std::vector<std::string>& class_names = {}, bool labels_are_names = false);

// The same numbers for people, on standard output.
void print_table(const Evaluation& evaluation, const Comparison& comparison = {});

}  // namespace diml::cli
