#include "per_query.h"

#include <algorithm>
#include <cstdio>

#include "base/csv_field.h"
#include "command.h"
#include "diml/error.h"
#include "engine/rerank_gain.h"
#include "search/name_json.h"

namespace diml::cli {
namespace {

constexpr double kPercent = 100.0;
constexpr std::size_t kWrittenAtOnce = std::size_t{1} << 20;  // bytes

bool is_csv(const std::string& path) { return path.ends_with(".csv"); }

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g", kPercent * value);
  return text;
}

constexpr const char* kHeading =
    "image,path,label,change,first_right_before,first_right_after,p_at_1_before,p_at_1_after,"
    "r_precision_before,r_precision_after,average_precision_before,average_precision_after,"
    "nearest_before,nearest_before_path,nearest_before_label,nearest_after,nearest_after_path,"
    "nearest_after_label\r\n";

std::string csv_line(const QueryResult& before, const QueryResult& after,
                     const NamedImages& images) {
  const auto rank = [](const QueryResult& query) {
    return query.first_right == 0 ? std::string() : std::to_string(query.first_right);
  };
  std::string line = std::to_string(before.image) + "," + csv_field(images.path_of(before.image)) +
                     "," + csv_field(images.label_of(before.image)) + "," +
                     name_of(change_of(before, after)) + "," + rank(before) + "," + rank(after);
  line += "," + number(before.p_at_1) + "," + number(after.p_at_1);
  line += "," + number(before.r_precision) + "," + number(after.r_precision);
  line += "," + number(before.average_precision) + "," + number(after.average_precision);
  for (const QueryResult* query : {&before, &after}) {
    line += "," + std::to_string(query->nearest) + "," + csv_field(images.path_of(query->nearest)) +
            "," + csv_field(images.label_of(query->nearest));
  }
  return line + "\r\n";
}

Json image_json(std::int64_t image, const NamedImages& images) {
  const std::string path = images.path_of(image);
  const std::string label = images.label_of(image);
  Json json = {{"image", image}, {"path", nullptr}};
  if (!path.empty()) put_name(json, "path", path);
  json["label"] = nullptr;
  if (!label.empty()) put_name(json, "label", label);
  return json;
}

Json found_json(const QueryResult& query, const NamedImages& images) {
  Json nearest = image_json(query.nearest, images);
  nearest["total"] = query.nearest_total;
  return {{"first_right", query.first_right == 0 ? Json() : Json(query.first_right)},
          {"p_at_1", kPercent * query.p_at_1},
          {"r_precision", kPercent * query.r_precision},
          {"average_precision", kPercent * query.average_precision},
          {"nearest", std::move(nearest)}};
}

std::string json_line(const QueryResult& before, const QueryResult& after,
                      const NamedImages& images) {
  Json line = image_json(before.image, images);
  line["change"] = name_of(change_of(before, after));
  line["before"] = found_json(before, images);
  line["after"] = found_json(after, images);
  return text_of_json(line) + "\n";
}

}  // namespace

ComparedDepths compared_depths(const Evaluation& evaluation) {
  const auto [least, most] =
      std::minmax_element(evaluation.results.begin(), evaluation.results.end(),
                          [](const auto& x, const auto& y) { return x.rerank < y.rerank; });
  if (least->rerank != 0 || most->rerank == 0) {
    throw Error(
        "queries are compared before and after re-ranking: both are wanted, such as --rerank "
        "0,100");
  }
  return {*least, *most};
}

void expect_per_query_name(const std::string& path) {
  if (path.empty() || is_csv(path) || path.ends_with(".jsonl")) return;
  throw Error(path + ": --per-query writes .csv or .jsonl: end the name in one of them");
}

void write_per_query(OutputFile& file, const ComparedDepths& depths, const NamedImages& images) {
  const bool csv = is_csv(file.path());
  std::string text = csv ? kHeading : "";
  for (std::size_t q = 0; q < depths.before.queries.size(); ++q) {
    const QueryResult& before = depths.before.queries[q];
    const QueryResult& after = depths.after.queries[q];
    text += csv ? csv_line(before, after, images) : json_line(before, after, images);
    if (text.size() < kWrittenAtOnce) continue;
    file.write(text);
    text.clear();
  }
  file.write(text);
  file.commit();
}

}  // namespace diml::cli
