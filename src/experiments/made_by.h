#pragma once

#include <string>

#include "diml/experiments.h"

namespace diml::experiments {

// What a trained network comes from.
struct Network {
  std::string dataset;
  std::string data;   // fingerprint_of() it; "" where it is not known
  std::string start;  // SHA-256 of the weights it begins with; "" for random ones
  bool trained = true;
  Settings settings{};
  Settings versions{};       // of what trains it
  std::string projection{};  // where it is not trained: "pca 128"
};

Network network_of(const Cell& cell);

// Of the network and the folder it is trained in: two that come from something else have other
// names.
std::string run_name(const Network& network);

// "pca 128" of a row that has one and is not trained, "" of any other.
std::string projection_of(const Row& row, const Settings& settings);

// What a choice makes of the row and the column that were the best.
Row chosen_row(Row row, const Choice& choice);
Column chosen_column(Column column);

// Whether a cell shows this.
bool is_made_with(const Cell& cell, Network network);
bool is_seen_by(const Cell& cell, const Look& look, Quantity quantity);
// Whether two cells differ in nothing but the seed.
bool are_alike(const Cell& one, const Cell& other);
// Whether the table, as it is now, would make the cell of this row and column so, from whatever
// weights, data and seed.
bool is_made_by(const Cell& cell, const Experiment& experiment, const Row& row,
                const Column& column);

}  // namespace diml::experiments
