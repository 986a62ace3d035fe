#pragma once

#include "diml/candidates.h"
#include "diml/grid.h"
#include "diml/grid_store.h"
#include "diml/match.h"
#include "diml/server.h"
#include "diml/transport.h"
#include "request_fields.h"

namespace diml::server {

// The requests of clients, each with its one list of fields.

constexpr std::size_t kMostListed = 1000;
constexpr std::size_t kMostAdded = 64;  // images of one request
constexpr std::size_t kLongestPath = 4096;
constexpr std::size_t kDefaultTop = 10;

template <class Fields>
void list_match(Fields& fields, MatchParams& match) {
  constexpr double kLargestLambda = 10.0;
  std::vector<NamedValue<MarginalRule>> rules;
  for (const MarginalRule rule : kMarginalRules) rules.push_back({name_of(rule), rule});
  fields.choice("marginals", match.marginals, rules, "Rule of the marginals: the weights of cells");
  fields.number("lambda", match.transport.lambda, {kSmallestLambda, kLargestLambda},
                "Entropic regularisation");
  fields.number("mass", match.transport.mass, {kSmallestMass, 1.0},
                "Share of the mass that is transported: below 1 the parts that match worst are "
                "left out");
  fields.choice("prior", match.prior,
                {NamedValue<Prior>{"none", Prior::none}, {"affine", Prior::affine}},
                "affine: cells that are neighbours in one image match neighbours in the other; a "
                "plan that no "
                "affine map fits stays as it is");
}

template <class Fields>
void list_where(Fields& fields, Filter& where) {
  fields.conditions("where", where,
                    "Only images that satisfy all of these conditions: label=pug, price<=20 (also "
                    "!=, <, >, >=), 'colour in red,blue', 'price exists', 'price missing'. The "
                    "field is label, path or a key of the metadata. In a query string: a JSON "
                    "list, or one condition");
}

template <class Fields>
void list_weights(Fields& fields, ScoreWeights& weights) {
  constexpr Range<double> kRange = {0.0, 1000.0};
  fields.number("global_weight", weights.global, kRange,
                "Weight of the cosine in the total of re-ranked hits");
  fields.number("structural_weight", weights.structural, kRange,
                "Weight of the structural similarity; one of the two weights must be above 0");
}

struct NoFields {
  explicit NoFields(const ServerParams&) {}
  static constexpr const char* kName = "";
  static constexpr const char* kExample = "";

  template <class Fields>
  void list(Fields&) {}
};

struct EmbedRequest {
  explicit EmbedRequest(const ServerParams&) {}
  static constexpr const char* kName = "EmbedRequest";
  static constexpr const char* kExample = "";

  const FormPart* image = nullptr;

  template <class Fields>
  void list(Fields& fields) {
    fields.file("image", image, "The photo: JPEG, PNG, WebP, GIF, BMP, TIFF, HEIC or AVIF");
  }
};

struct SearchRequest {
  explicit SearchRequest(const ServerParams& params)
      : rerank(params.rerank),
        match(params.match),
        weights(params.weights),
        most_hits(params.limits.hits) {}
  static constexpr const char* kName = "SearchRequest";
  static constexpr const char* kExample = R"({"query": {"id": 0}, "top": 5})";

  SubjectInput query;
  std::size_t top = kDefaultTop;
  std::size_t rerank;
  MatchParams match;
  ScoreWeights weights;
  Filter where{};
  std::size_t most_hits;

  template <class Fields>
  void list(Fields& fields) {
    fields.subject("query", query, "image", "The image to search for");
    fields.whole("top", top, {1, most_hits}, "Number of hits");
    fields.whole("rerank", rerank, {0, most_hits}, "Number of candidates that are re-ranked");
    list_match(fields, match);
    list_weights(fields, weights);
    list_where(fields, where);
  }
};

struct RerankRequest {
  explicit RerankRequest(const ServerParams& params)
      : match(params.match), weights(params.weights), most_candidates(params.limits.candidates) {}
  static constexpr const char* kName = "RerankRequest";
  static constexpr const char* kExample = R"({"query": {"id": 0}, "candidates": [1, 2, 3]})";

  SubjectInput query;
  const Json* candidates = nullptr;
  MatchParams match;
  ScoreWeights weights;
  std::size_t most_candidates;

  template <class Fields>
  void list(Fields& fields) {
    fields.subject("query", query, "image", "The image that the candidates are compared with");
    fields.subjects("candidates", candidates, most_candidates,
                    "Ids of the gallery, or grids from any other store, in that store's order");
    list_match(fields, match);
    list_weights(fields, weights);
  }
};

// The exact optimum, or the plan that search uses.
enum class Plan : std::uint8_t { entropic, exact };

struct PairRequest {
  explicit PairRequest(const ServerParams& params) : match(params.match), weights(params.weights) {}
  static constexpr const char* kName = "PairRequest";
  static constexpr const char* kExample = R"({"source": {"id": 0}, "target": {"id": 1}})";

  SubjectInput source;
  SubjectInput target;
  MatchParams match;
  ScoreWeights weights;
  Plan plan = Plan::entropic;

  template <class Fields>
  void list(Fields& fields) {
    fields.subject("source", source, "source", "The first image");
    fields.subject("target", target, "target", "The second image");
    list_match(fields, match);
    fields.choice("solver", plan,
                  {NamedValue<Plan>{"entropic", Plan::entropic}, {"exact", Plan::exact}},
                  "The plan that search uses, or the exact optimum");
    list_weights(fields, weights);
  }
};

struct ExplainRequest : PairRequest {
  using PairRequest::PairRequest;
  static constexpr const char* kName = "ExplainRequest";

  std::size_t pairs = 64;

  template <class Fields>
  void list(Fields& fields) {
    PairRequest::list(fields);
    fields.whole("pairs", pairs, {0, kMostCells * kMostCells},
                 "How many of the strongest pairs of cells are listed");
  }
};

struct ListRequest {
  explicit ListRequest(const ServerParams&) {}
  static constexpr const char* kName = "ListRequest";
  static constexpr const char* kExample = "";

  std::size_t offset = 0;
  std::size_t limit = 50;
  std::optional<std::string> label;
  std::string path;
  Filter where{};

  template <class Fields>
  void list(Fields& fields) {
    fields.whole("offset", offset, {0, INT32_MAX}, "Number of items to skip");
    fields.whole("limit", limit, {1, kMostListed}, "Largest number of items");
    fields.label("label", label, "Only items with this label; empty: only those without one");
    fields.text("path", path, kLongestPath,
                "Only items whose path contains this, in upper or lower case");
    list_where(fields, where);
  }
};

struct AddRequest {
  explicit AddRequest(const ServerParams&) {}
  static constexpr const char* kName = "AddRequest";
  static constexpr const char* kExample = "";

  std::vector<const FormPart*> images;
  std::string path;
  std::string path_bytes;
  std::optional<std::string> label;
  const Json* metadata = nullptr;
  Duplicates duplicates = Duplicates::refuse;

  template <class Fields>
  void list(Fields& fields) {
    fields.files("image", images, kMostAdded,
                 "The photos: JPEG, PNG, WebP, GIF, BMP, TIFF, HEIC or AVIF");
    fields.text("path", path, kLongestPath,
                "Name of the image, for a single image; default: the name of its file");
    fields.text("path_bytes", path_bytes, 2 * kLongestPath,
                "The same in base64, for a name that is no UTF-8");
    fields.label("label", label, "Label of all images of the request");
    fields.object("metadata", metadata, "Metadata of all images of the request: any JSON object");
    fields.choice(
        "duplicates", duplicates,
        {NamedValue<Duplicates>{"refuse", Duplicates::refuse}, {"replace", Duplicates::replace}},
        "What to do with an image whose path already exists");
  }
};

struct UpdateRequest {
  explicit UpdateRequest(const ServerParams&) {}
  static constexpr const char* kName = "UpdateRequest";
  static constexpr const char* kExample = R"({"label": "pug", "metadata": {"price": 20}})";

  std::optional<std::string> label;
  const Json* metadata = nullptr;

  template <class Fields>
  void list(Fields& fields) {
    fields.label("label", label, "The new label; null takes it away");
    fields.object("metadata", metadata, "Any JSON object, in the place of the old one");
  }
};

// Objects within requests.

struct ItemReference {
  static constexpr const char* kName = "ItemReference";

  std::int64_t item = -1;

  template <class Fields>
  void list(Fields& fields) {
    fields.id("id", item, "Id of an image of the gallery");
  }
};

struct GridInput {
  static constexpr const char* kName = "Grid";

  const Json* cells = nullptr;
  const Json* global = nullptr;

  template <class Fields>
  void list(Fields& fields) {
    fields.matrix("cells", cells, "[cells, dimensions], of any scale");
    fields.numbers("global", global, "[dimensions]; default: the mean of the cells");
  }
};

}  // namespace diml::server
