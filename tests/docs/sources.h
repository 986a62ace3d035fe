#pragma once

#include <string>
#include <vector>

#include "tables.h"

namespace diml::experiments {

// The source of a number in the text. In Markdown it follows the number as a comment:
//
//   61.13<!--= main/Margin/baseline/p_at_1 -->
//
// A source is a sum or difference (" + ", " - ") of
//   main/Margin/baseline/p_at_1          a number of a table: the mean over its seeds
//   paper:main/Margin/baseline/p_at_1    what the paper prints there
//   deviation:main/Margin/baseline/p_at_1  the standard deviation over the seeds
//   gain:main/p_at_1                     the mean over the rows of the last column less the first
//   paper_gain:main/p_at_1               the same of the paper's numbers
//   gaining:main/p_at_1                  how many rows gain
//   best:ms/blended/0,1/100/0            P@1 of CUB's curves (loss, measure, seeds): of the epoch
//                                        that is best with K = 100, what K = 0 gives; mean of seeds
//   file:benchmarks/results/h200.json#/a/0/b   a number of a JSON file, by its JSON pointer
class Sources {
 public:
  explicit Sources(std::string repository);

  // Throws Error if a source is unknown.
  double value(const std::string& source) const;

 private:
  double term(const std::string& text) const;
  const Line& line(const std::vector<std::string>& path) const;
  const ResultTable& table(const std::string& name) const;
  double curve(const std::vector<std::string>& path) const;

  std::string repository_;
  std::vector<ResultTable> tables_;
};

}  // namespace diml::experiments
