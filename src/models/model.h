#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "diml/embedding.h"
#include "models/architecture.h"
#include "weights/weights.h"

namespace diml {

// A trained network: its architecture, its arrays, the preprocessing of photos and its origin.
struct Model {
  std::string architecture;  // a name or a description, as make_architecture takes them
  StridePlace stride = StridePlace::in_3x3;
  double epsilon = 1e-5;  // of BatchNorm
  Preprocessing preprocessing;
  std::string provenance;
  std::optional<Calibration> calibration{};
  // Torchvision's or timm's names, float32, BatchNorm as trained; "projection.weight" [D, C] and
  // "projection.bias" [D] where there is a projection.
  std::map<std::string, Tensor> tensors;

  bool has_projection() const { return tensors.contains("projection.weight"); }
  std::size_t output_channels() const;  // D with a projection, else C
};

// .safetensors with our metadata. Throws with the remedy where it is absent: import it first.
Model load_model(const std::string& path);
void save_model(const std::string& path, const Model& model);

struct ImportParams {
  std::optional<StridePlace> stride;          // where the file does not define it
  std::optional<std::string> architecture{};  // where arrays fit several
  // The model's configuration, as timm, Hugging Face and OpenCLIP write it. Absent: what lies
  // beside the weights; "none" for no file.
  std::optional<std::string> config{};
  std::map<std::string, std::string> preprocessing;  // overrides, as in from_text
};

// Weights of other programs: residual networks under torchvision's and timm's names (.safetensors,
// .pth) and the Keras names of TensorFlow.js; transformers under the names of timm, torchvision,
// Hugging Face, OpenAI and Meta; detected by content. The arrays determine the architecture; where
// they fit several, the provenance names them. A classifier is dropped; an array that is missing,
// unexpected or of the wrong shape is refused by name.
Model import_model(const std::string& path, const ImportParams& params = {});

// With random weights, to train from or to try, deterministic from the seed. dim: of the
// projection, 0 for none.
Model make_model(std::string_view architecture, StridePlace stride, std::size_t dim,
                 std::uint64_t seed);
// Uniform within 1 / sqrt(channels), weights and bias, the initialisation of PyTorch's linear
// layers: an optimiser whose steps do not grow with the weights changes small ones faster.
void add_projection(Model& model, std::size_t dim, std::uint64_t seed);
// Of the weights that a training run of this seed begins with.
std::uint64_t starting_seed(std::uint64_t seed_of_run);

}  // namespace diml
