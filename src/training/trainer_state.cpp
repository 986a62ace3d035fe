// What a run says and saves, and how it resumes from it.

#include "diml/error.h"
#include "run_plan.h"
#include "trainer.h"

namespace diml::training {

void Trainer::tell_plan() const {
  if (!ranks_.is_root()) return;
  const TrainPlan& plan = summary_.plan;
  if (hooks_.on_plan) return hooks_.on_plan(plan);
  if (hooks_.on_note && !plan.chosen.empty()) {
    hooks_.on_note(plan.why_chosen + ", as with " + chosen_settings(plan));
  }
}

void Trainer::save_best(std::size_t epoch) const {
  Model model = current_model();
  model.provenance = "epoch " + std::to_string(epoch) + " of " + std::to_string(config_.epochs) +
                     ", best by " + summary_.plan.best_by + ", " + model.provenance;
  save_model(folder_->best(), model);
}

void Trainer::save(std::size_t epochs_done, std::size_t steps_done) {
  if (folder_ == nullptr) return;
  Checkpoint checkpoint = progress_;
  checkpoint.epochs_done = epochs_done;
  checkpoint.steps_done = steps_done;
  checkpoint.model = network_->model();
  for (const auto& [name, tensor] : optimiser_->state()) {
    checkpoint.tensors["optimiser." + name] = tensor;
  }
  for (const learn::LossParameter& parameter : loss_->parameters()) {
    checkpoint.tensors["loss." + parameter.name] = parameter.value;
  }
  for (const auto& [name, average] : averages_) checkpoint.tensors["ema." + name] = average;
  save_checkpoint(folder_->checkpoint(), checkpoint);
}

void Trainer::resume(const std::string& path) {
  Checkpoint checkpoint = load_checkpoint(path, start_);
  network_->load(checkpoint.model);
  const auto part = [&](const std::string& prefix) {
    std::map<std::string, torch::Tensor> tensors;
    for (const auto& [name, tensor] : checkpoint.tensors) {
      if (name.starts_with(prefix)) tensors[name.substr(prefix.size())] = tensor;
    }
    return tensors;
  };
  const torch::NoGradGuard no_gradient;
  optimiser_->load(part("optimiser."));
  const std::map<std::string, torch::Tensor> of_loss = part("loss.");
  for (const learn::LossParameter& parameter : loss_->parameters()) {
    const auto found = of_loss.find(parameter.name);
    if (found == of_loss.end() || found->second.sizes() != parameter.value.sizes()) {
      throw Error(ErrorKind::conflict,
                  path + ": has other " + parameter.name + " than this run needs");
    }
    torch::Tensor value = parameter.value;
    value.copy_(found->second);
  }
  const std::map<std::string, torch::Tensor> of_averages = part("ema.");
  for (auto& [name, average] : averages_) {
    if (!of_averages.contains(name))
      throw Error(ErrorKind::conflict, path + ": has no averaged weights");
    average.copy_(of_averages.at(name));
  }
  checkpoint.model = {};
  checkpoint.tensors.clear();
  progress_ = std::move(checkpoint);
  resumed_ = true;
  if (folder_ == nullptr) return;
  for (EpochReport& report : folder_->cut_metrics(progress_.epochs_done + 1)) {
    report.epochs = config_.epochs;
    if (report.epoch == 0) summary_.untrained = report;
    if (report.epoch == progress_.best_epoch) summary_.best = report;
    count(report);
  }
}

}  // namespace diml::training
