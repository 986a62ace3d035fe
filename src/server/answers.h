#pragma once

#include <cstdint>

#include "answer_fields.h"
#include "diml/explain.h"
#include "diml/gallery.h"

namespace diml::server {

// The answers to clients, each with its one list of fields.

struct ErrorAnswer {
  static constexpr const char* kName = "Error";
  std::string error;

  template <class Fields>
  void list(Fields& fields) const {
    fields("error", error, "What went wrong and what to do, in one line");
  }
};

struct HealthAnswer {
  static constexpr const char* kName = "Health";
  std::string status;

  template <class Fields>
  void list(Fields& fields) const {
    fields("status", status);
  }
};

struct ReadinessAnswer {
  static constexpr const char* kName = "Readiness";
  std::string status;
  std::string writing;
  std::string space;

  template <class Fields>
  void list(Fields& fields) const {
    fields("status", status);
    fields("writing", writing,
           "Whether changes of the gallery succeed: works, read-only, or 'fails: ' and why");
    fields("space", space,
           "Whether the gallery has room to grow: enough, or 'nearly full: ' and the remedy");
  }
};

struct EmbeddingAnswer {
  static constexpr const char* kName = "Embedding";
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::size_t dim = 0;
  std::vector<std::vector<float>> cells;
  std::vector<float> global;

  template <class Fields>
  void list(Fields& fields) const {
    fields("rows", rows);
    fields("cols", cols);
    fields("dim", dim);
    fields("cells", cells, "[cells, dimensions], row by row");
    fields("global", global, "[dimensions]");
  }
};

// Sent as it was stored, if it is still JSON. Throws Error if it is damaged.
JsonText metadata_of(const Item& item);

// Names of files are bytes: those of a path that is no UTF-8, in base64; null for any other.
std::optional<std::string> path_bytes_of(const Item& item);
constexpr const char* kPathBytes =
    "The path in base64 where it is not UTF-8, so that 'path' cannot show it; else null";

// Null without a label.
std::optional<std::string> label_of(const Item& item);

struct ItemAnswer {
  static constexpr const char* kName = "Item";
  std::int64_t id = 0;
  std::string path;
  std::optional<std::string> path_bytes;
  std::optional<std::string> label;
  JsonText metadata;

  template <class Fields>
  void list(Fields& fields) const {
    fields("id", id);
    fields("path", path);
    fields("path_bytes", path_bytes, kPathBytes);
    fields("label", label, "A word; null without a label");
    fields("metadata", metadata);
  }
};

struct ItemsAnswer {
  static constexpr const char* kName = "Items";
  std::size_t total = 0;
  std::size_t offset = 0;
  std::vector<ItemAnswer> items;

  template <class Fields>
  void list(Fields& fields) const {
    fields("total", total, "Items of the label, or all");
    fields("offset", offset);
    fields("items", items);
  }
};

struct AddedAnswer {
  static constexpr const char* kName = "Added";
  std::vector<std::int64_t> ids;
  std::size_t items = 0;

  template <class Fields>
  void list(Fields& fields) const {
    fields("ids", ids, "In the order of the images");
    fields("items", items, "Images in the gallery now");
  }
};

struct DeletedAnswer {
  static constexpr const char* kName = "Deleted";
  std::int64_t id = 0;
  std::size_t items = 0;

  template <class Fields>
  void list(Fields& fields) const {
    fields("id", id);
    fields("items", items, "Remaining images");
  }
};

struct HitAnswer {
  static constexpr const char* kName = "Hit";
  std::size_t rank = 0;
  std::size_t first_rank = 0;
  std::int64_t id = 0;
  std::string path;
  std::optional<std::string> path_bytes;
  std::optional<std::string> label;
  float global = 0.0F;
  std::optional<float> structural;
  float total = 0.0F;
  JsonText metadata;

  template <class Fields>
  void list(Fields& fields) const {
    fields("rank", rank, "After re-ranking, from 1");
    fields("first_rank", first_rank, "Before re-ranking: by the cosine, or as given");
    fields("id", id);
    fields("path", path);
    fields("path_bytes", path_bytes, kPathBytes);
    fields("label", label, "A word; null without a label");
    fields("global", global, "Cosine of the global vectors");
    fields("structural", structural,
           "Structural similarity; null for hits that were not re-ranked");
    fields("total", total, "The score that the order follows");
    fields("metadata", metadata);
  }
};

struct SearchSeconds {
  static constexpr const char* kName = "SearchSeconds";
  double embed = 0.0;
  double search = 0.0;

  template <class Fields>
  void list(Fields& fields) const {
    fields("embed", embed);
    fields("search", search);
  }
};

struct HitsAnswer {
  static constexpr const char* kName = "Hits";
  std::size_t items = 0;
  std::vector<HitAnswer> hits;
  SearchSeconds seconds;

  template <class Fields>
  void list(Fields& fields) const {
    fields("items", items, "Images that were searched: those that satisfy where");
    fields("hits", hits);
    fields("seconds", seconds);
  }
};

struct RankedAnswer {
  static constexpr const char* kName = "Ranked";
  std::size_t rank = 0;
  std::size_t first_rank = 0;
  std::optional<std::int64_t> id;
  float global = 0.0F;
  float structural = 0.0F;
  float total = 0.0F;

  template <class Fields>
  void list(Fields& fields) const {
    fields("rank", rank, "After re-ranking, from 1");
    fields("first_rank", first_rank, "Position in the list of candidates, from 1");
    fields("id", id, "Null if candidates are grids");
    fields("global", global, "Cosine of the global vectors");
    fields("structural", structural, "Structural similarity");
    fields("total", total, "The score that the order follows");
  }
};

struct RerankedAnswer {
  static constexpr const char* kName = "Reranked";
  std::vector<RankedAnswer> order;
  double seconds = 0.0;

  template <class Fields>
  void list(Fields& fields) const {
    fields("order", order);
    fields("seconds", seconds);
  }
};

struct PlanParams {
  static constexpr const char* kName = "PlanParams";
  std::string marginals;
  double lambda = 0.0;
  std::string solver;
  std::string prior = "none";
  float global_weight = 1.0F;
  float structural_weight = 1.0F;

  template <class Fields>
  void list(Fields& fields) const {
    fields("marginals", marginals);
    fields("lambda", lambda);
    fields("solver", solver);
    fields("prior", prior, "What was expected of the plan: none or affine");
    fields("global_weight", global_weight);
    fields("structural_weight", structural_weight);
  }
};

struct PlanFallbacks {
  static constexpr const char* kName = "PlanFallbacks";
  bool uniform_source = false;
  bool uniform_target = false;
  bool log_domain = false;

  template <class Fields>
  void list(Fields& fields) const {
    fields("uniform_source", uniform_source);
    fields("uniform_target", uniform_target);
    fields("log_domain", log_domain);
  }
};

struct PriorAnswer {
  static constexpr const char* kName = "PriorReport";
  int rounds = 0;
  bool trusted = false;
  std::string doubt;
  std::vector<double> map;
  double support = 0.0;

  template <class Fields>
  void list(Fields& fields) const {
    fields("rounds", rounds, "How many times the plan was solved with it");
    fields("trusted", trusted,
           "Whether the prior was used; if not, the plan is the one without it");
    fields("doubt", doubt, "Why it was not used: few_cells, collapsed or scattered; else none");
    fields("map", map, "x' = m0 x + m1 y + m2, y' = m3 x + m4 y + m5, from the middle of the grid");
    fields("support", support, "How much of the flow is near the map, from 0 to 1");
  }
};

struct ComparisonAnswer {
  static constexpr const char* kName = "Comparison";
  ComparisonAnswer() = default;
  explicit ComparisonAnswer(const Explanation& why);
  double score = 0.0;
  double cosine = 0.0;
  double total = 0.0;
  PlanParams params;
  std::optional<PriorAnswer> prior;
  PlanFallbacks fallbacks;
  int iterations = 0;
  bool converged = false;

  template <class Fields>
  void list(Fields& fields) const {
    fields("score", score, "Structural similarity");
    fields("cosine", cosine, "Cosine of the global vectors");
    fields("total", total, "Their sum");
    fields("params", params);
    fields("prior", prior, "What the prior did; null without one");
    fields("fallbacks", fallbacks);
    fields("iterations", iterations);
    fields("converged", converged);
  }
};

struct PartPairAnswer {
  static constexpr const char* kName = "PartPair";
  PartPair pair;

  template <class Fields>
  void list(Fields& fields) const {
    fields("source", pair.source, "A cell, counted row by row from 0");
    fields("target", pair.target);
    fields("mass", pair.mass, "T_ij");
    fields("amplified", pair.amplified, "R_s R_t T_ij: an even flow gives 1");
    fields("similarity", pair.similarity, "S_ij");
    fields("contribution", pair.contribution, "T_ij S_ij");
    fields("share", pair.share, "Share of the score");
  }
};

struct RegionAnswer {
  static constexpr const char* kName = "Region";
  Region region;

  template <class Fields>
  void list(Fields& fields) const {
    fields("source", region.source, "Cells that lie side by side");
    fields("target", region.target, "Cells that receive most of what they send");
    fields("mass", region.mass);
    fields("similarity", region.similarity, "Mean similarity, weighted by mass");
    fields("contribution", region.contribution);
    fields("share", region.share, "Share of the score");
  }
};

struct MarginalsAnswer {
  static constexpr const char* kName = "CellWeights";
  std::vector<double> source;
  std::vector<double> target;

  template <class Fields>
  void list(Fields& fields) const {
    fields("source", source);
    fields("target", target);
  }
};

// The same as `diml explain --out x.json` writes; docs/explain.md has the meanings.
struct ExplanationAnswer {
  static constexpr const char* kName = "Explanation";
  ExplanationAnswer() = default;
  // most_pairs: how many of the strongest pairs are listed.
  ExplanationAnswer(const Explanation& why, std::size_t most_pairs);
  ComparisonAnswer summary;
  double mean_similarity = 0.0;
  GridShape source;
  GridShape target;
  MarginalsAnswer marginals;
  std::vector<std::vector<double>> similarity;
  std::vector<std::vector<double>> plan;
  std::vector<RegionAnswer> regions;
  double scattered = 0.0;
  std::vector<PartPairAnswer> pairs;
  std::vector<PartPairAnswer> weakest;
  double marginal_error = 0.0;

  template <class Fields>
  void list(Fields& fields) const {
    summary.list(fields);
    fields("mean_similarity", mean_similarity, "The score of an even flow");
    fields("rows_source", source.rows);
    fields("cols_source", source.cols);
    fields("rows_target", target.rows);
    fields("cols_target", target.cols);
    fields("marginals", marginals);
    fields("similarity", similarity, "S, [source cells, target cells]");
    fields("plan", plan, "The transport plan T, of the same shape");
    fields("regions", regions, "Few groups of cells, the largest contribution first");
    fields("scattered", scattered,
           "Contribution of the pairs in no region: with theirs, the score");
    fields("pairs", pairs, "Largest contribution first");
    fields("weakest", weakest,
           "For each source cell the pair with most of its mass, smallest contribution first");
    fields("marginal_error", marginal_error);
  }
};

struct LabelAnswer {
  static constexpr const char* kName = "Label";
  std::optional<std::string> label;
  std::size_t count = 0;

  template <class Fields>
  void list(Fields& fields) const {
    fields("label", label, "A word; null without a label");
    fields("count", count);
  }
};

struct DefaultsAnswer {
  static constexpr const char* kName = "Defaults";
  std::string marginals;
  double lambda = 0.0;
  std::string prior;
  float global_weight = 1.0F;
  float structural_weight = 1.0F;
  std::size_t top = 0;
  std::size_t rerank = 0;

  template <class Fields>
  void list(Fields& fields) const {
    fields("marginals", marginals);
    fields("lambda", lambda);
    fields("prior", prior);
    fields("global_weight", global_weight);
    fields("structural_weight", structural_weight);
    fields("top", top);
    fields("rerank", rerank);
  }
};

struct LimitsAnswer {
  static constexpr const char* kName = "Limits";
  std::size_t body_bytes = 0;
  std::size_t pixels = 0;
  std::size_t candidates = 0;
  std::size_t hits = 0;
  double work = 0.0;
  double seconds = 0.0;
  std::size_t json_depth = 0;
  std::size_t json_names = 0;
  std::size_t json_names_of_object = 0;
  std::size_t json_text_bytes = 0;
  std::size_t json_values = 0;
  std::size_t metadata_bytes = 0;
  std::size_t metadata_depth = 0;
  std::size_t metadata_names = 0;
  std::size_t metadata_text_bytes = 0;
  std::size_t metadata_values = 0;

  template <class Fields>
  void list(Fields& fields) const {
    fields("body_bytes", body_bytes);
    fields("pixels", pixels);
    fields("candidates", candidates);
    fields("hits", hits);
    fields("work", work,
           "Steps of matching of one request: pairs x cells x cells x iterations; a hundred times "
           "as many where lambda is below 0.0034");
    fields("seconds", seconds, "How long a request may wait and be computed");
    fields("json_depth", json_depth, "How deep objects and lists of a request may be nested");
    fields("json_names", json_names, "Names in all objects of a request");
    fields("json_names_of_object", json_names_of_object);
    fields("json_text_bytes", json_text_bytes, "Bytes of one text");
    fields("json_values", json_values, "Values in all objects and lists of a request");
    fields("metadata_bytes", metadata_bytes, "Bytes of the metadata of an item");
    fields("metadata_depth", metadata_depth);
    fields("metadata_names", metadata_names);
    fields("metadata_text_bytes", metadata_text_bytes);
    fields("metadata_values", metadata_values);
  }
};

struct GalleryAnswer {
  static constexpr const char* kName = "Gallery";
  std::string name;
  std::size_t items = 0;
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::size_t dim = 0;
  std::string type;
  bool photos = false;
  bool changes = false;
  bool originals = false;
  bool exact = false;
  double crop = 1.0;
  std::vector<LabelAnswer> labels;
  std::vector<std::string> marginals;
  DefaultsAnswer defaults;
  LimitsAnswer limits;
  std::string version;

  template <class Fields>
  void list(Fields& fields) const {
    fields("name", name);
    fields("items", items);
    fields("rows", rows);
    fields("cols", cols);
    fields("dim", dim);
    fields("type", type, "Type of the numbers in a grid");
    fields("photos", photos, "Whether photos can be sent");
    fields("changes", changes, "Whether the one who asks may add, change and delete images");
    fields("originals", originals, "Whether photos are shown from their files");
    fields("exact", exact, "Whether there is exact transport");
    fields("crop", crop, "Side of the network's crop over the photo's short side; 1 if unknown");
    fields("labels", labels);
    fields("marginals", marginals, "The rules of marginals");
    fields("defaults", defaults);
    fields("limits", limits);
    fields("version", version);
  }
};

}  // namespace diml::server
