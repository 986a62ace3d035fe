#pragma once

#include <memory>
#include <string>

#include "command.h"

namespace diml::cli {

// The hits of many queries, written as they are found: a table (CSV, a row for each hit) and JSON
// Lines (a line for each query). "" for none, "-" for standard output. A file appears under its
// name when all hits are in it.
class HitFiles {
 public:
  HitFiles(const std::string& csv, const std::string& jsonl);
  ~HitFiles();
  HitFiles(const HitFiles&) = delete;
  HitFiles& operator=(const HitFiles&) = delete;

  bool any() const { return csv_ || jsonl_; }
  // query: {"query": NAME, "hits": [...]}, as in --json.
  void write(const Json& query);
  void commit();
  std::string names() const;  // "hits.csv, hits.jsonl"; without standard output

 private:
  class Output;
  std::unique_ptr<Output> csv_;
  std::unique_ptr<Output> jsonl_;
};

}  // namespace diml::cli
