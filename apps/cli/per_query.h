#pragma once

#include <cstdint>
#include <string>

#include "base/output_file.h"
#include "diml/evaluate.h"
#include "named_images.h"

namespace diml::cli {

// One depth of re-ranking beside the plain cosine, query by query.
struct ComparedDepths {
  const RerankResult& before;
  const RerankResult& after;
};

// The plain cosine, and the deepest re-ranking. Throws where one of them was not evaluated.
ComparedDepths compared_depths(const Evaluation& evaluation);

// Throws unless the name ends in .csv or .jsonl.
void expect_per_query_name(const std::string& path);

// One line a query: docs/evaluate.md has the fields.
void write_per_query(OutputFile& file, const ComparedDepths& depths, const NamedImages& images);

}  // namespace diml::cli
