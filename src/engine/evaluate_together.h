#pragma once

#include "diml/evaluate.h"
#include "diml/evaluate_dataset.h"
#include "engine/process_group.h"

namespace diml {

// evaluate() by all processes of a call, which have the same grids and labels: each evaluates its
// share of the queries. The root process gets the results, bit for bit those of a single process;
// the others get none. A process whose progress is cancelled ends all of them.
Evaluation evaluate_together(ProcessGroup& processes, GridSetView grids,
                             std::span<const std::int64_t> labels,
                             const EvaluateParams& params = {}, const Progress& progress = {});

// evaluate_dataset() by all processes of a call: every process embeds its share; the root process
// evaluates and has the result, the others get an empty one. It is cancelled on all of them.
DatasetEvaluation evaluate_dataset_together(ProcessGroup& processes, Embedder& embedder,
                                            const LabelledImages& images,
                                            const EvaluateDatasetParams& params = {},
                                            const EvaluateDatasetHooks& hooks = {});

}  // namespace diml
