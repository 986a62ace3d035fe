#include "run_folder.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/output_file.h"
#include "base/system_error.h"
#include "diml/error.h"
#include "learn/event_file.h"

namespace diml::training {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

Json line_of(const EpochReport& report, double learning_rate) {
  Json line = {{"epoch", report.epoch}};
  if (report.epoch > 0) {
    line["loss"] = report.loss;
    line["learning_rate"] = learning_rate;
  }
  for (const RerankResult& result : report.results) {
    line["results"].push_back({{"rerank", result.rerank},
                               {"p_at_1", 100.0 * result.metrics.p_at_1},
                               {"r_precision", 100.0 * result.metrics.r_precision},
                               {"map_at_r", 100.0 * result.metrics.map_at_r}});
  }
  if (!report.results.empty()) line["best"] = report.is_best;
  if (report.skipped) {
    line["bad"] = {{"replaced_draws", report.skipped->replaced_draws}};
    if (!report.results.empty()) {
      line["bad"]["judged"] = report.skipped->judged;
      line["bad"]["not_judged"] = report.skipped->not_judged;
    }
  }
  return line;
}

EpochReport report_of(const Json& line) {
  EpochReport report{.epoch = line.at("epoch"), .loss = line.value("loss", 0.0)};
  for (const Json& found : line.value("results", Json::array())) {
    RerankResult result;
    result.rerank = found.at("rerank");
    result.metrics.p_at_1 = found.at("p_at_1").get<double>() / 100.0;
    result.metrics.r_precision = found.at("r_precision").get<double>() / 100.0;
    result.metrics.map_at_r = found.at("map_at_r").get<double>() / 100.0;
    report.results.push_back(std::move(result));
  }
  report.is_best = line.value("best", false);
  if (line.contains("bad")) {
    const Json& bad = line["bad"];
    report.skipped = SkippedPhotos{bad.at("replaced_draws"), bad.value("judged", std::size_t{0}),
                                   bad.value("not_judged", std::size_t{0})};
  }
  return report;
}

// Writes a whole line or nothing, and syncs it to disk.
void append_line(const std::string& path, const std::string& line) {
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  const auto size = static_cast<ssize_t>(line.size());
  const bool written =
      file >= 0 && ::write(file, line.data(), line.size()) == size && ::fdatasync(file) == 0;
  const int why = errno;
  if (file >= 0) ::close(file);
  if (!written) throw system_error(path + ": cannot be written", why);
}

}  // namespace

class RunFolder::Events : public learn::EventFile {
  using learn::EventFile::EventFile;
};

RunFolder::RunFolder(std::string path, bool fresh) : path_(std::move(path)), fresh_(fresh) {
  if (fresh && fs::exists(config())) {
    throw Error(ErrorKind::conflict,
                path_ + ": holds a run already: resume it, or name another folder", "resume");
  }
  if (!fresh && !fs::exists(config())) {
    throw Error(ErrorKind::not_found, path_ + ": holds no run to resume: leave resume out");
  }
}

RunFolder::~RunFolder() = default;

void RunFolder::begin(const TrainConfig& config) {
  make_folder(path_ + "/last");
  events_ = std::make_unique<Events>(
      path_,
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(),
      /*append=*/!fresh_);
  if (fresh_) fs::remove(bad());
  std::ifstream known(bad());
  for (std::string line; std::getline(known, line);) bad_lines_.push_back(line);
  OutputFile file(this->config());
  file.write(to_yaml(config));
  file.commit();
}

std::vector<EpochReport> RunFolder::cut_metrics(std::size_t epochs) {
  std::vector<EpochReport> reports;
  std::ifstream before(metrics());
  OutputFile after(metrics());
  std::string line;
  while (std::getline(before, line)) {
    const Json json = Json::parse(line, nullptr, false);
    // A truncated line belongs to an epoch that is repeated.
    if (!json.is_object() || json.value("epoch", epochs) >= epochs) continue;
    after.write(line + "\n");
    reports.push_back(report_of(json));
  }
  after.commit();
  return reports;
}

void RunFolder::add_metrics(const EpochReport& report, double learning_rate) {
  append_line(metrics(), line_of(report, learning_rate).dump() + "\n");
  const auto epoch = static_cast<std::int64_t>(report.epoch);
  if (report.epoch > 0) {
    events_->scalar("loss/epoch", epoch, report.loss);
    events_->scalar("seconds/epoch", epoch, report.seconds);
  }
  for (const RerankResult& result : report.results) {
    const std::string name = "rerank_" + std::to_string(result.rerank);
    events_->scalar("p_at_1/" + name, epoch, 100.0 * result.metrics.p_at_1);
    events_->scalar("r_precision/" + name, epoch, 100.0 * result.metrics.r_precision);
    events_->scalar("map_at_r/" + name, epoch, 100.0 * result.metrics.map_at_r);
  }
  events_->flush();
}

void RunFolder::add_bad(const std::string& why) {
  if (std::find(bad_lines_.begin(), bad_lines_.end(), why) != bad_lines_.end()) return;
  append_line(bad(), why + "\n");
  bad_lines_.push_back(why);
}

void RunFolder::add_step(std::size_t step, double loss, double images_per_second) {
  events_->scalar("loss/step", static_cast<std::int64_t>(step), loss);
  events_->scalar("images_per_second", static_cast<std::int64_t>(step), images_per_second);
  // An epoch may take hours: the curves are updated within it.
  constexpr std::chrono::seconds kFlushEvery(3);
  const auto now = std::chrono::steady_clock::now();
  if (now - flushed_ < kFlushEvery) return;
  flushed_ = now;
  events_->flush();
}

}  // namespace diml::training
