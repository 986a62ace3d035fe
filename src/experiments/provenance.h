#pragma once

#include <string>

#include "experiments/run_experiments.h"

namespace diml::experiments {

NetworkSpec network_of(const Result& result);

// Names the network and the folder of its training by a hash of the spec. Paths, devices and
// threads do not enter it.
std::string run_name(const NetworkSpec& network);

// "pca 128" for an untrained row with a projection, "" for any other.
std::string projection_of(const Row& row, const Settings& settings);

// The best row with the settings of the choice, the best column on the test classes.
Row chosen_row(Row row, const ChosenRow& choice);
Column chosen_column(Column column);

bool has_network(const Result& result, NetworkSpec network);
// By the same versions of the program, too.
bool has_protocol(const Result& result, const Protocol& protocol, MetricFamily metric_family);
bool differ_only_in_seed(const Result& one, const Result& other);
// Whether the table has these settings and this protocol today, for any weights, data and seed.
bool matches_table(const Result& result, const Experiment& experiment, const Row& row,
                   const Column& column);

}  // namespace diml::experiments
