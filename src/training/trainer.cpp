#include "trainer.h"

#include <cmath>

#include "base/output_file.h"
#include "base/stopwatch.h"
#include "diml/error.h"
#include "judge.h"
#include "learn/device.h"
#include "learn/tensors.h"
#include "learning_groups.h"
#include "run_plan.h"
#include "schedule.h"
#include "starting_model.h"

namespace diml::training {
namespace {

// Streams of random numbers, so that none repeats another.
constexpr std::uint64_t kAugment = 1;
constexpr std::uint64_t kStep = 2;  // 3 is starting_seed's
constexpr std::uint64_t kDrop = 4;

learn::MeasureParams measure_of(const TrainConfig& config) {
  learn::MeasureParams params = config.measure;
  params.threads = config.threads;
  return params;
}

}  // namespace

Trainer::Trainer(TrainConfig config, Ranks& ranks, RunFolder* folder, const TrainHooks& hooks)
    : config_(std::move(config)),
      ranks_(ranks),
      folder_(folder),
      hooks_(hooks),
      device_(learn::device_named(config_.device)),
      data_(load_training_data(config_)),
      start_(starting_model(config_, starting_seed(config_.seed))),
      pixels_(start_.preprocessing, device_),
      network_(std::make_unique<learn::TrainableNetwork>(start_, device_, config_.precision)),
      measure_(measure_of(config_)),
      bad_(ranks, folder, hooks) {
  config_.device = device_.str();
  config_.sampler.seed = config_.seed;
  config_.sampler.shards = ranks_.size();
  const learn::SamplerParams asked = config_.sampler;
  config_.sampler = fitted_batch(asked, data_.train.labels);
  summary_.plan = plan_of(config_, asked, data_);
  sampler_ = make_sampler(config_.sampler, data_.train.labels);
  cache_ =
      std::make_unique<ImageCache>(data_.train.paths, data_.orientation, config_.cache_mb << 20U);
  make_loss_and_optimiser();
  look_at_a_batch();
  if (config_.ema > 0.0) {
    for (const auto& [name, value] : network_->parameters()) {
      averages_[name] = value.detach().clone();
    }
  }
}

void Trainer::make_loss_and_optimiser() {
  learn::LossContext context;
  context.classes = data_.train.classes;
  context.dim = static_cast<std::int64_t>(start_.output_channels());
  if (measure_.needs_cells()) {
    context.cells = static_cast<std::int64_t>(config_.grid * config_.grid);
  }
  context.learning_rate = config_.optimiser.learning_rate;
  context.seed = config_.seed;
  loss_ = make_loss(config_.loss, context);
  for (learn::LossParameter& parameter : loss_->parameters()) {
    parameter.value.set_data(parameter.value.to(device_));
  }

  optimiser_ = std::make_unique<learn::Optimiser>(
      config_.optimiser, learning_groups(config_, *network_, loss_->parameters()));
}

// A batch as in training. Every rank uses the same.
void Trainer::look_at_a_batch() {
  const bool calibrates = config_.model.weights.empty();
  const bool unrolls =
      measure_.needs_cells() && config_.measure.plan_gradient == learn::PlanGradient::unrolled;
  if (!calibrates && !unrolls) return;
  std::vector<std::vector<std::size_t>> batches = sampler_->epoch(0);
  batches.resize(1);
  LoaderParams params = loader_params(0);
  params.first_place = 0;
  Loader loader(*cache_, std::move(batches), 0, params);
  TrainingBatch batch = loader.next();
  const torch::Tensor pixels = pixels_(batch.pixels);
  if (calibrates) network_->calibrate(pixels);
  // The loss determines the pairs that it needs: where memory is too small for them, the run ends
  // here, before hours of evaluation, and not in its first step.
  if (unrolls) {
    FeatureMap made;
    {
      const torch::NoGradGuard no_gradient;
      made = network_->forward(pixels);
    }
    const learn::Grids grids = learn::make_grids(made.map.requires_grad_(true), config_.grid,
                                                 config_.pooling, made.global);
    (*loss_)({grids, labels_of(batch), measure_, mixed_seed(config_.seed, kStep, 0)});
    const std::string& memory = measure_.unrolled_memory();
    if (hooks_.on_note && ranks_.is_root() && !memory.empty()) hooks_.on_note(memory);
  }
  batch.pixels = torch::Tensor();
  if (calibrates) calibrated_ = std::move(batch);
}

std::size_t Trainer::first_place() const {
  return ranks_.rank() * config_.sampler.batch / ranks_.size();
}

LoaderParams Trainer::loader_params(std::size_t epoch) const {
  return {.size = start_.preprocessing.crop,
          .channels = start_.preprocessing.channels,
          .augment = config_.augment,
          .seed = mixed_seed(config_.seed, kAugment, epoch),
          .first_place = first_place(),
          .threads = loader_threads(config_),
          .device = device_,
          .stand_ins = stand_ins()};
}

double Trainer::rate_at(std::size_t epoch, std::size_t step, std::size_t steps) const {
  const double progress =
      static_cast<double>(epoch - 1) + static_cast<double>(step) / static_cast<double>(steps);
  return rate_factor(config_.schedule, progress, config_.epochs);
}

torch::Tensor Trainer::labels_of(const TrainingBatch& batch) const {
  std::vector<std::int64_t> labels;
  for (const std::size_t index : batch.indices) labels.push_back(data_.train.labels[index]);
  const torch::Tensor own = torch::tensor(labels);
  return device_.is_cuda() ? own.pin_memory().to(device_, /*non_blocking=*/true) : own;
}

LateNumbers Trainer::run_step(const TrainingBatch& batch, std::size_t epoch, std::size_t step,
                              std::size_t steps) {
  const torch::Tensor labels = ranks_.all_gather(labels_of(batch));
  optimiser_->zero_gradients();
  const std::uint64_t seed = mixed_seed(config_.seed, kStep, epoch * steps + step);
  const FeatureMap made = network_->forward(
      pixels_(batch.pixels), {.rate = config_.model.drop_path,
                              .seed = mixed_seed(config_.seed, kDrop, epoch * steps + step),
                              .first_place = first_place()});
  learn::Grids grids = learn::make_grids(made.map, measure_.needs_cells() ? config_.grid : 0,
                                         config_.pooling, made.global);
  grids.globals = ranks_.all_gather(grids.globals);
  grids.norms = ranks_.all_gather(grids.norms);
  if (grids.cells.defined()) grids.cells = ranks_.all_gather(grids.cells);
  const torch::Tensor loss = (*loss_)({grids, labels, measure_, seed});
  torch::Tensor length = torch::zeros_like(loss, torch::kFloat64);
  if (loss.requires_grad()) {
    loss.backward();
    ranks_.all_reduce(network_->parameters());
    length = optimiser_->clip(config_.clip);
    optimiser_->step(rate_at(epoch, step, steps));
  }
  const torch::NoGradGuard no_gradient;
  for (auto& [name, average] : averages_) {
    average.lerp_(network_->parameters().at(name), 1.0 - config_.ema);
  }
  return LateNumbers(torch::stack({loss.detach().to(torch::kFloat64), length}));
}

void Trainer::settle(const Step& step, double images_per_second) {
  const std::vector<double> numbers = step.numbers.get();
  const double loss = numbers[0];
  if (!std::isfinite(loss)) fail_on_nan("the loss", step.batch, step.epoch, step.number);
  if (!std::isfinite(numbers[1])) fail_on_nan("the gradient", step.batch, step.epoch, step.number);
  progress_.loss_sum += loss;
  if (hooks_.on_step && ranks_.is_root()) {
    hooks_.on_step(
        {step.epoch, config_.epochs, step.number + 1, step.steps, loss, images_per_second});
  }
  if (folder_ != nullptr) {
    folder_->add_step((step.epoch - 1) * step.steps + step.number, loss, images_per_second);
  }
}

void Trainer::expect_numbers(const TrainingBatch& batch, std::size_t epoch, std::size_t step) {
  const torch::NoGradGuard no_gradient;
  const FeatureMap made = network_->forward(pixels_(batch.pixels));
  // Each rank has checked its own images: all ranks end, and one of them writes the list of the
  // batch.
  torch::Tensor is_finite = made.map.isfinite().all();
  if (made.global.defined()) is_finite = is_finite.logical_and(made.global.isfinite().all());
  const torch::Tensor finite = is_finite.view({1}).to(torch::kInt64);
  if (!ranks_.all_gather(finite).all().item<bool>()) {
    fail_on_nan("the network's output", batch, epoch, step);
  }
}

void Trainer::fail_on_nan(const std::string& what, const TrainingBatch& batch, std::size_t epoch,
                          std::size_t step) {
  // Of all ranks; `batch` has the share of this one.
  const std::vector<std::size_t> whole = sampler_->epoch(epoch).at(step);
  std::string list;
  for (const std::size_t index : whole) list += cache_->path(index) + "\n";
  std::string where;
  if (folder_ != nullptr) {
    OutputFile file(folder_->path() + "/nan_batch.txt");
    file.write(list);
    file.commit();
    where = "; all files of the batch: " + file.path() + "; the last good checkpoint is kept in " +
            folder_->path() + "/last";
  }
  throw Error(what + " is not a number in epoch " + std::to_string(epoch) + ", step " +
              std::to_string(step + 1) + ", on " + cache_->path(batch.indices.front()) + " and " +
              std::to_string(whole.size() - 1) + " more" + where +
              ": lower optimiser.learning_rate or set optimiser.clip");
}

bool Trainer::run_epoch(std::size_t epoch, EpochReport& report) {
  std::vector<std::vector<std::size_t>> batches = sampler_->epoch(epoch);
  const std::size_t steps = batches.size();
  const std::size_t images = config_.sampler.batch;
  const std::size_t own = images / ranks_.size();
  for (std::vector<std::size_t>& batch : batches) {
    batch = {batch.begin() + static_cast<std::ptrdiff_t>(ranks_.rank() * own),
             batch.begin() + static_cast<std::ptrdiff_t>((ranks_.rank() + 1) * own)};
  }
  Loader loader(*cache_, std::move(batches), progress_.steps_done, loader_params(epoch));
  const double plans_before = measure_.plan_seconds();
  const Stopwatch watch;
  Stopwatch since_settled;
  std::optional<Step> under_way;
  const auto settle_it = [&] {
    if (!under_way) return;
    const Step step = std::move(*under_way);
    under_way.reset();
    settle(step, static_cast<double>(images) / since_settled.restart());
  };
  bool stopped = false;
  while (progress_.steps_done < steps && !stopped) {
    const std::size_t number = progress_.steps_done;
    const TrainingBatch batch = loader.next();
    if (config_.dataset.skip_bad) progress_.replaced += bad_.hear(batch);
    LateNumbers numbers = run_step(batch, epoch, number, steps);
    settle_it();  // the previous step, while the device computes this one
    under_way = Step{batch, epoch, number, steps, std::move(numbers)};
    ++progress_.steps_done;
    if (!device_.is_cuda()) settle_it();
    stopped = is_cancelled();
    const bool due =
        config_.checkpoint_steps > 0 && progress_.steps_done % config_.checkpoint_steps == 0;
    if (stopped || due || progress_.steps_done == steps) {
      settle_it();
      expect_numbers(batch, epoch, number);
    }
    if (stopped || (due && progress_.steps_done < steps)) {
      save(epoch - 1, progress_.steps_done);
    }
  }
  report.seconds = watch.seconds();
  report.plan_seconds = measure_.plan_seconds() - plans_before;
  report.loss = progress_.loss_sum / static_cast<double>(steps);
  if (config_.dataset.skip_bad) {
    report.skipped = SkippedPhotos{.replaced_draws = progress_.replaced};
  }
  return stopped && progress_.steps_done < steps;
}

bool Trainer::is_cancelled() {
  const bool own = hooks_.cancelled && hooks_.cancelled();
  if (ranks_.size() == 1) return own;
  return ranks_.all_gather(torch::tensor({std::int64_t{own}})).any().item<bool>();
}

bool Trainer::gave_up() {
  if (config_.evaluate.patience == 0) return false;
  // The writing rank knows which epoch was the best.
  const bool own = progress_.epochs_done >= progress_.best_epoch + config_.evaluate.patience;
  return ranks_.all_gather(own ? "enough" : "").front() == "enough";
}

Model Trainer::current_model() const {
  Model model = network_->model();
  for (const auto& [name, average] : averages_) model.tensors[name] = learn::from_torch(average);
  model.provenance = "trained with " + config_.loss.name + " on " + config_.dataset.name +
                     ", from: " + start_.provenance;
  return model;
}

bool Trainer::judge(EpochReport& report) {
  DatasetEvaluation judged;
  try {
    judged = evaluate_model(current_model(), data_.judged, config_, ranks_, hooks_);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::cancelled) throw;
    return true;
  }
  if (ranks_.is_root()) report.results = std::move(judged.evaluations.front().results);
  if (report.skipped) {
    report.skipped->judged = judged.images;
    report.skipped->not_judged = judged.bad.size();
    bad_.name(judged.bad);
  }
  if (folder_ == nullptr) return false;
  // The last depth of re-ranking counts: a user of the model would see its results.
  const double p_at_1 = report.results.back().metrics.p_at_1;
  const bool chosen = config_.evaluate.select == "last" ? report.epoch == config_.epochs
                                                        : p_at_1 > progress_.best_p_at_1;
  if (chosen) {
    progress_.best_p_at_1 = p_at_1;
    progress_.best_epoch = report.epoch;
    report.is_best = true;
    save_best(report.epoch);
  }
  return false;
}

void Trainer::count(const EpochReport& report) {
  summary_.last = report;
  if (!report.skipped) return;
  const std::size_t before = summary_.skipped ? summary_.skipped->replaced_draws : 0;
  // Where an epoch is not evaluated, the last evaluation still holds.
  if (!summary_.skipped || !report.results.empty()) summary_.skipped = report.skipped;
  summary_.skipped->replaced_draws = before + report.skipped->replaced_draws;
}

TrainSummary Trainer::run() {
  tell_plan();
  if (!resumed_) {
    if (folder_ != nullptr) folder_->cut_metrics(0);  // of a run that ended before its checkpoint
    EpochReport untrained{.epoch = 0, .epochs = config_.epochs};
    if (config_.dataset.skip_bad) {
      untrained.skipped = SkippedPhotos{.replaced_draws = calibrated_.replaced};
      bad_.name(reasons_of(calibrated_));
    }
    if (judge(untrained)) {  // nothing is lost: a resumed run starts again
      summary_.cancelled = true;
      return summary_;
    }
    if (folder_ != nullptr) folder_->add_metrics(untrained, 0.0);
    if (hooks_.on_epoch && ranks_.is_root()) hooks_.on_epoch(untrained);
    summary_.untrained = summary_.best = untrained;
    count(untrained);
    save(0, 0);
    ranks_.barrier();
  }
  bool ended = gave_up();  // before it was interrupted
  for (std::size_t epoch = progress_.epochs_done + 1; epoch <= config_.epochs && !ended; ++epoch) {
    EpochReport report{.epoch = epoch, .epochs = config_.epochs};
    if (run_epoch(epoch, report)) {
      summary_.cancelled = true;
      return summary_;
    }
    const std::size_t steps = progress_.steps_done;
    const bool due = epoch % config_.evaluate.every == 0 || epoch == config_.epochs;
    if (due && judge(report)) {
      save(epoch - 1, steps);  // of this epoch only the evaluation is missing
      summary_.cancelled = true;
      return summary_;
    }
    if (folder_ != nullptr) {
      folder_->add_metrics(report, config_.optimiser.learning_rate * rate_at(epoch, 0, steps));
    }
    progress_.steps_done = 0;
    progress_.loss_sum = 0.0;
    progress_.replaced = 0;
    progress_.epochs_done = epoch;
    const bool stopped = is_cancelled();
    ended = epoch == config_.epochs || gave_up();
    // A better model has just replaced the one that the previous checkpoint refers to.
    if (stopped || ended || report.is_best || epoch % config_.checkpoint_epochs == 0) {
      save(epoch, 0);
    }
    if (hooks_.on_epoch && ranks_.is_root()) hooks_.on_epoch(report);
    count(report);
    if (report.is_best) summary_.best = report;
    ranks_.barrier();
    if (stopped) {
      summary_.cancelled = !ended;
      break;
    }
  }
  if (folder_ != nullptr) summary_.bad = folder_->all_bad();
  return summary_;
}

}  // namespace diml::training
