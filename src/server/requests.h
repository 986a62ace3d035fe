#pragma once

#include "diml/grid.h"
#include "diml/grid_store.h"
#include "diml/match.h"
#include "diml/rank.h"
#include "diml/server.h"
#include "diml/transport.h"
#include "request_fields.h"

namespace diml::server {

// What clients may send, each request with its one list of fields.

constexpr std::size_t kMostListed = 1000;
constexpr std::size_t kMostAdded = 64;  // images of one request
constexpr std::size_t kLongestPath = 4096;
constexpr std::size_t kDefaultTop = 10;
constexpr std::size_t kDefaultRerank = 100;

template <class Fields>
void list_match(Fields& fields, MatchParams& match) {
  constexpr double kLargestLambda = 10.0;
  fields.choice("marginals", match.marginals,
                {Choice<MarginalRule>{"cross_correlation", MarginalRule::cross_correlation},
                 {"uniform", MarginalRule::uniform}},
                "How cells are weighed");
  fields.number("lambda", match.transport.lambda, {kSmallestLambda, kLargestLambda},
                "Entropic regularisation");
}

template <class Fields>
void list_weights(Fields& fields, ScoreWeights& weights) {
  constexpr Range<double> kRange = {0.0, 1000.0};
  fields.number("global_weight", weights.global, kRange,
                "Of the cosine, in the sum that orders what is re-ranked");
  fields.number("structural_weight", weights.structural, kRange,
                "Of the structural similarity; one of the two weights is above 0");
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
    fields.file("image", image, "The photo: JPEG, PNG or WebP");
  }
};

struct SearchRequest {
  explicit SearchRequest(const ServerParams& params)
      : match(params.match), most_hits(params.limits.hits) {}
  static constexpr const char* kName = "SearchRequest";
  static constexpr const char* kExample = R"({"query": {"id": 0}, "top": 5})";

  SubjectInput query;
  std::size_t top = kDefaultTop;
  std::size_t rerank = kDefaultRerank;
  MatchParams match;
  ScoreWeights weights{};
  std::size_t most_hits;

  template <class Fields>
  void list(Fields& fields) {
    fields.subject("query", query, "image", "What is searched for");
    fields.whole("top", top, {1, most_hits}, "Hits that are wanted");
    fields.whole("rerank", rerank, {0, most_hits}, "Candidates that are matched structurally");
    list_match(fields, match);
    list_weights(fields, weights);
  }
};

struct RerankRequest {
  explicit RerankRequest(const ServerParams& params)
      : match(params.match), most_candidates(params.limits.candidates) {}
  static constexpr const char* kName = "RerankRequest";
  static constexpr const char* kExample = R"({"query": {"id": 0}, "candidates": [1, 2, 3]})";

  SubjectInput query;
  const Json* candidates = nullptr;
  MatchParams match;
  ScoreWeights weights{};
  std::size_t most_candidates;

  template <class Fields>
  void list(Fields& fields) {
    fields.subject("query", query, "image", "What the candidates are compared with");
    fields.subjects("candidates", candidates, most_candidates,
                    "Ids of the gallery, or grids from any other store, in that store's order");
    list_match(fields, match);
    list_weights(fields, weights);
  }
};

// The exact optimum, or the plan that search takes.
enum class Plan : std::uint8_t { entropic, exact };

struct PairRequest {
  explicit PairRequest(const ServerParams& params) : match(params.match) {}
  static constexpr const char* kName = "PairRequest";
  static constexpr const char* kExample = R"({"source": {"id": 0}, "target": {"id": 1}})";

  SubjectInput source;
  SubjectInput target;
  MatchParams match;
  Plan plan = Plan::entropic;

  template <class Fields>
  void list(Fields& fields) {
    fields.subject("source", source, "source", "The first image");
    fields.subject("target", target, "target", "The second image");
    list_match(fields, match);
    fields.choice("solver", plan,
                  {Choice<Plan>{"entropic", Plan::entropic}, {"exact", Plan::exact}},
                  "The plan that search takes, or the exact optimum");
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
  std::optional<std::int64_t> label;

  template <class Fields>
  void list(Fields& fields) {
    fields.whole("offset", offset, {0, INT32_MAX}, "How many to pass over");
    fields.whole("limit", limit, {1, kMostListed}, "How many at most");
    fields.integer("label", label, "Of this label alone");
  }
};

struct AddRequest {
  explicit AddRequest(const ServerParams&) {}
  static constexpr const char* kName = "AddRequest";
  static constexpr const char* kExample = "";

  std::vector<const FormPart*> images;
  std::string path;
  std::int64_t label = -1;
  const Json* metadata = nullptr;
  Duplicates duplicates = Duplicates::refuse;

  template <class Fields>
  void list(Fields& fields) {
    fields.files("image", images, kMostAdded, "The photos: JPEG, PNG or WebP");
    fields.text("path", path, kLongestPath,
                "What the image is to be called; else its file is. For one image alone");
    fields.integer("label", label, "Of all images that are sent");
    fields.object("metadata", metadata, "Of all images that are sent: any JSON object");
    fields.choice(
        "duplicates", duplicates,
        {Choice<Duplicates>{"refuse", Duplicates::refuse}, {"replace", Duplicates::replace}},
        "What becomes of an image whose path is taken");
  }
};

// Objects within requests.

struct ItemReference {
  static constexpr const char* kName = "ItemReference";

  std::int64_t item = -1;

  template <class Fields>
  void list(Fields& fields) {
    fields.id("id", item, "Of an image of the gallery");
  }
};

struct GridInput {
  static constexpr const char* kName = "Grid";

  const Json* cells = nullptr;
  const Json* global = nullptr;

  template <class Fields>
  void list(Fields& fields) {
    fields.matrix("cells", cells, "[cells, dimensions], of any scale");
    fields.numbers("global", global, "[dimensions]; the mean of the cells where it is left out");
  }
};

}  // namespace diml::server
