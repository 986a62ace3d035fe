#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "diml/embedding.h"
#include "diml/learn/loss.h"
#include "diml/learn/measure.h"
#include "learn/optimiser.h"
#include "learn/sampler.h"

namespace diml::training {

struct DatasetParams {
  std::string name;
  std::string root;
  bool skip_bad = false;
};

struct ModelParams {
  std::string weights = "";            // a file, or the name of fetched weights; "" for random ones
  std::string architecture = "small";  // of random weights
  std::size_t dim = 128;               // paper, section 4.2
  std::size_t resize = 0;              // short side of photos in evaluation; 0: the weights' own
  std::size_t crop = 0;                // side of what the network sees; 0: the weights' own
  double drop_path = 0.0;              // of the last block's residual branches; 0 for none
};

// RandomResizedCrop and a mirror image half of the time.
struct AugmentParams {
  double smallest_area = 0.08;
  double largest_area = 1.0;
  double smallest_ratio = 3.0 / 4.0;
  double largest_ratio = 4.0 / 3.0;
  double flip = 0.5;
};

struct ScheduleParams {
  std::string name = "none";         // none, step or cosine
  std::size_t warm_up_epochs = 0;    // rates rise linearly from 0
  std::vector<std::size_t> steps{};  // epochs at which `step` multiplies the rates by gamma
  double gamma = 0.3;
};

struct ValidationParams {
  std::size_t every = 1;  // epochs
  std::vector<std::size_t> rerank = {0, 100};
  Precision precision = Precision::float32;  // of the network that is evaluated
  std::size_t patience = 0;  // epochs without a better one that end the run; 0: no limit
  // How the best epoch is chosen. test: by P@1 on the test classes; val: by P@1 on a fifth of the
  // training classes, which are held out; last: the last epoch is the best.
  std::string select = "test";
};

// All settings of a run. They are written to config.yaml and read back from it.
struct TrainConfig {
  DatasetParams dataset{};
  ModelParams model{};
  learn::LossParams loss{};
  learn::MeasureParams measure{};
  std::size_t grid = 4;  // paper, section 4.2
  PoolingRule pooling = PoolingRule::align;
  learn::SamplerParams sampler{};
  learn::OptimiserParams optimiser{};
  double projection_rate = 0.0;  // learning rate of the projection; 0 for the backbone's
  double layer_decay = 1.0;      // of the learning rate from each block to the one before it
  double clip = 0.0;             // longest gradient; 0 for no limit
  double ema = 0.0;              // decay of averaged weights, which are then evaluated; 0 for none
  ScheduleParams schedule{};
  AugmentParams augment{};
  ValidationParams evaluate{};
  std::size_t epochs = 150;  // paper, appendix A
  std::uint64_t seed = 0;
  std::string device = "cpu";
  Precision precision = Precision::float32;
  int threads = 0;
  std::size_t cache_mb = 4096;        // of decoded images
  std::size_t checkpoint_epochs = 1;  // between checkpoints; a stop and the end also write one
  std::size_t checkpoint_steps = 0;   // also after this many steps; 0: only at the epoch's end
};

// Names with dots, as in `--set loss.margin=0.3`; values as text. The error for an unknown name has
// the nearest known one, that for an invalid value has the valid ones.
void set(TrainConfig& config, std::string_view name, std::string_view value);
// All of them, in the order in which people look for them.
std::vector<std::pair<std::string, std::string>> settings_of(const TrainConfig& config);

// YAML: nested maps become names with dots, lists are joined with commas.
void read_yaml(const std::string& path, TrainConfig& config);
std::string to_yaml(const TrainConfig& config);

// Throws where settings contradict each other or are out of range, before any work is done.
void check(const TrainConfig& config);

}  // namespace diml::training
