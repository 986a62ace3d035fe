#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "diml/dataset.h"
#include "diml/explain.h"
#include "diml/progress.h"

namespace diml {

// Does an explanation tell the truth? Judged against people's annotations of parts (beak, belly,
// left wing): where a source cell holds a part, does most of its mass go to the cell of the same
// part of the target? docs/explain.md has the definitions.

// A part that is seen, and the cell it lies in.
struct PartCell {
  std::size_t part = 0;
  std::size_t cell = 0;
};

// The parts of an image of width x height pixels that are inside the middle `crop` pixels after the
// short side was resized, with their cells.
std::vector<PartCell> cells_of_parts(std::span<const PartLocation> parts, std::size_t width,
                                     std::size_t height, std::size_t resize, std::size_t crop,
                                     GridShape shape);

struct ImagePair {
  std::size_t source = 0;
  std::size_t target = 0;
};

// `count` pairs of different images of one class, each image as often a source as any other on
// average; no pair twice while there are others. Throws where no class has two images.
std::vector<ImagePair> pairs_of_classes(std::span<const std::int64_t> labels, std::size_t count,
                                        std::uint64_t seed);

// One way to say where a part is, and how often it is right.
struct PartMethod {
  std::string name;
  std::size_t parts = 0;      // questions: parts that both images of a pair show
  double exact = 0.0;         // share of them whose cell it names
  double within_one = 0.0;    // ... or one of the eight around it
  double exact_error = 0.0;   // standard errors, with the pair as the unit: parts of one pair are
  double within_error = 0.0;  // right or wrong together
};

// Of judge_parts(), in its order.
std::vector<std::string> part_method_names();

struct PartTruthParams {
  MatchParams match;  // of the transport rows; their marginals and solver vary
  int threads = 0;
};

// grids: [images], parts: [images], of one shape. Rows: transport with cross-correlation, with
// uniform marginals, with the affine prior, by the exact solver where it is built, the nearest cell
// by cosine, the same position, the centre.
std::vector<PartMethod> judge_parts(const GridSetView& grids, GridShape shape,
                                    std::span<const std::vector<PartCell>> parts,
                                    std::span<const ImagePair> pairs, const PartTruthParams& params,
                                    const Progress& progress = {});

// Which source cells are kept.
enum class KeptCells : std::uint8_t {
  strongest,  // insertion: those that add most to the score
  weakest,    // deletion: those that are left when the strongest are taken away
  random,
};
const char* name_of(KeptCells kept);

struct CurvePoint {
  double kept = 0.0;             // share of the source's cells
  double score = 0.0;            // structural similarity to the target, mean over the pairs
  double reciprocal_rank = 0.0;  // of the target among the distractors, mean
  double first = 0.0;            // share of pairs in which the target is first
};

struct Curve {
  KeptCells kept = KeptCells::strongest;
  std::vector<CurvePoint> points;
  // Areas under score and reciprocal rank over the share of cells kept.
  double score_area = 0.0;
  double rank_area = 0.0;
};

struct CurveParams {
  MatchParams match;
  Backend backend = Backend::fastest;
  std::size_t distractors = 50;  // images of other classes, drawn for each pair
  std::size_t steps = 8;         // shares of cells that are tried
  std::uint64_t seed = 0;
  int threads = 0;
};

// Insertion and deletion: the source is left with some of its cells, matched anew, and its target
// looked for among images of other classes.
std::vector<Curve> deletion_curves(const GridSetView& grids, std::span<const std::int64_t> labels,
                                   std::span<const ImagePair> pairs, const CurveParams& params,
                                   const Progress& progress = {});

}  // namespace diml
