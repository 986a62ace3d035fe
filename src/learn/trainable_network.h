#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "diml/network.h"
#include "feature_map.h"
#include "models/model.h"

namespace diml::learn {

class FrozenNorms;

// Stochastic depth: residual branches that are left out, for each photo by itself, and the more
// often the deeper they lie. The others count for more, so that the mean stays.
struct DropPath {
  double rate = 0.0;       // of the last block's branches; it grows evenly from 0, of the first
  std::uint64_t seed = 0;  // of a step
  std::size_t first_place = 0;  // of the first photo in the whole batch
};

// A model whose arrays are trained. BatchNorm is frozen: its statistics never change; its scale and
// shift do.
class TrainableNetwork {
 public:
  // precision: of the maps. The learnt arrays and their gradients stay float32.
  TrainableNetwork(const Model& model, torch::Device device,
                   Precision precision = Precision::float32);
  ~TrainableNetwork();
  TrainableNetwork(const TrainableNetwork&) = delete;
  TrainableNetwork& operator=(const TrainableNetwork&) = delete;

  // pixels: [B, 3, H, W]. Returns the projected map, [B, D, h, w], in float32, and the projected
  // global vector where the network has one of its own.
  FeatureMap forward(const torch::Tensor& pixels, const DropPath& drop = {}) const;

  // Sets the statistics of BatchNorm to those of these images, layer by layer: random weights need
  // it once, before they are trained. Nothing to do where there is no BatchNorm.
  void calibrate(const torch::Tensor& pixels);

  // By name, as in Model::tensors; those of the projection have their own learning rate.
  const std::map<std::string, torch::Tensor>& parameters() const { return parameters_; }

  // How many parts of the network, as parts_of() counts them, lie between each parameter and the
  // map; without those of the projection.
  std::map<std::string, std::size_t> parts_behind() const;

  // The model with its current arrays.
  Model model() const;
  // Loads the arrays of a model of the same shape, in place.
  void load(const Model& model);

 private:
  torch::Tensor convolved(const Convolution& layer, const torch::Tensor& map) const;
  torch::Tensor normalised(const Convolution& layer, const torch::Tensor& map) const;
  torch::Tensor kept_branches(const DropPath& drop, std::int64_t photos) const;
  torch::Tensor array(const std::string& name) const;
  void find_branches();
  // After a change of the statistics.
  void take_statistics();

  Model shape_;                // without arrays
  Architecture architecture_;  // with its projection
  torch::Device device_;
  torch::ScalarType type_;  // of the maps
  std::map<std::string, torch::Tensor> parameters_;
  std::map<std::string, torch::Tensor> statistics_;
  std::unique_ptr<FrozenNorms> norms_;         // none where there is no BatchNorm
  std::vector<Convolution> normed_;            // convolutions with a BatchNorm
  std::map<std::string, std::size_t> place_;   // of a convolution's norm among the others
  std::map<std::string, std::size_t> branch_;  // of a layer that ends one: its place
  std::vector<double> depths_;         // of each branch, 0 for the first block, 1 for the last
  std::vector<torch::Tensor> scales_;  // of every norm
  std::vector<torch::Tensor> shifts_;
};

}  // namespace diml::learn
