#pragma once

#include <cstdint>

#include "answer_fields.h"
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
  double mass = 1.0;
  std::string prior;
  float global_weight = 1.0F;
  float structural_weight = 1.0F;
  std::size_t top = 0;
  std::size_t rerank = 0;

  template <class Fields>
  void list(Fields& fields) const {
    fields("marginals", marginals);
    fields("lambda", lambda);
    fields("mass", mass);
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
