// What a run writes down to go on from, and how it does.

#include "diml/error.h"
#include "trainer.h"

namespace diml::training {

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
