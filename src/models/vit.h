#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/architecture.h"
#include "weights/weights.h"

namespace diml::vit {

// The vector that stands for the whole photo.
enum class Pool : std::uint8_t {
  token,      // the class token
  mean,       // of the places
  attention,  // a learnt query attends to all places (SigLIP)
};

// What photos are scaled to: mean and deviation of the data that a model was trained on.
enum class Photos : std::uint8_t { imagenet, half, clip };

// A vision transformer in numbers and choices.
struct Vit {
  std::size_t width = 192;
  std::size_t depth = 12;
  std::size_t heads = 3;
  std::size_t patch = 16;
  std::size_t pixels = 224;  // of the photos that the position embedding is for
  std::size_t hidden = 0;    // of the MLP; 0: four times the width
  std::size_t registers = 0;
  bool class_token = true;
  bool positions_of_all = true;  // class token and registers have positions
  bool pre_norm = false;         // CLIP: a norm before the first block, no bias of the patches
  bool layer_scale = false;
  bool swiglu = false;
  Activation activation = Activation::gelu;
  Pool pool = Pool::token;
  double epsilon = 1e-6;
  std::size_t resize = 0;  // short side of photos; 0: pixels / 0.9, as timm does
  Photos photos = Photos::imagenet;

  std::size_t hidden_width() const { return hidden == 0 ? 4 * width : hidden; }
};

// "vit:width=64,depth=2,heads=2,..." and back; a value that is the default is left out. Throws on
// words and values that make no sense.
Vit parsed(std::string_view description);
std::string description(const Vit& vit);

// Names of transformers and their descriptions, the common ones first.
struct Named {
  const char* name;
  const char* description;
};
std::vector<Named> named();

// What the arrays, under our names, say about their transformer. Throws where they are no
// transformer's.
Vit from_arrays(const std::map<std::string, Tensor>& tensors);

// Arrays under the names of timm, torchvision, Hugging Face, OpenAI's CLIP and Meta's DINO to ours,
// which are timm's. Nothing where they are no transformer's. What belongs to the classifier or to a
// text tower is left out.
std::optional<std::map<std::string, Tensor>> from_others(std::map<std::string, Tensor>& tensors);

}  // namespace diml::vit
