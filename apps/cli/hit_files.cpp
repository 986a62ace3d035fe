#include "hit_files.h"

#include <array>
#include <charconv>
#include <cstdio>

#include "base/csv_field.h"
#include "search/name_json.h"

namespace diml::cli {
namespace {

// In the order of the table.
constexpr std::array kColumns = {"rank",   "id",         "path",       "label",   "total",
                                 "global", "structural", "first_rank", "metadata"};

// A table has the bytes of names as they are.
std::string field_of(const Json& hit, const char* column) {
  const Json& value = hit.at(column);
  if (value.is_null()) return "";
  if (value.is_string()) return csv_field(name_in(hit, column).value());
  if (!value.is_number_float()) return csv_field(text_of_json(value));
  char text[32];  // the shortest text that is the same float again
  const auto end = std::to_chars(text, text + sizeof(text), value.get<float>()).ptr;
  return {text, end};
}

}  // namespace

// A file or standard output, written in larger pieces.
class HitFiles::Output {
 public:
  explicit Output(const std::string& path) {
    if (path != "-") file_ = std::make_unique<OutputFile>(path);
  }

  void write(const std::string& text) {
    constexpr std::size_t kPiece = 1 << 16;
    waiting_ += text;
    if (waiting_.size() >= kPiece) flush();
  }
  void commit() {
    flush();
    if (file_) file_->commit();
  }
  std::string name() const { return file_ ? file_->path() : ""; }

 private:
  void flush() {
    if (file_) {
      file_->write(waiting_);
    } else {
      std::fwrite(waiting_.data(), 1, waiting_.size(), stdout);
    }
    waiting_.clear();
  }

  std::unique_ptr<OutputFile> file_;  // null: standard output
  std::string waiting_;
};

HitFiles::HitFiles(const std::string& csv, const std::string& jsonl) {
  if (!csv.empty()) {
    csv_ = std::make_unique<Output>(csv);
    std::string head = "query";
    for (const char* column : kColumns) head += std::string(",") + column;
    csv_->write(head + "\n");
  }
  if (!jsonl.empty()) jsonl_ = std::make_unique<Output>(jsonl);
}

HitFiles::~HitFiles() = default;

void HitFiles::write(const Json& query) {
  if (jsonl_) jsonl_->write(text_of_json(query) + "\n");
  if (!csv_) return;
  const std::string name = csv_field(name_in(query, "query").value());
  for (const Json& hit : query.at("hits")) {
    std::string row = name;
    for (const char* column : kColumns) row += "," + field_of(hit, column);
    csv_->write(row + "\n");
  }
}

void HitFiles::commit() {
  if (csv_) csv_->commit();
  if (jsonl_) jsonl_->commit();
}

std::string HitFiles::names() const {
  std::string all = csv_ ? csv_->name() : "";
  const std::string lines = jsonl_ ? jsonl_->name() : "";
  if (!all.empty() && !lines.empty()) all += ", ";
  return all + lines;
}

}  // namespace diml::cli
