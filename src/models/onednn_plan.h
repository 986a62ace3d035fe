#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include "models/model.h"

namespace diml::onednn {

using dnnl::memory;

// The arrays of a layer in every layout that a plan has asked for, made once for all of them.
struct LoadedLayer {
  std::vector<float> weights;  // [outputs, inputs, k, k] or [outputs, inputs]
  std::vector<float> bias;     // [outputs]
  std::vector<memory> laid_out{};
};

// A model's arrays, folded: convolutions and linear layers by name, everything else as it is.
struct LoadedModel {
  Architecture architecture;  // with its projection
  std::map<std::string, LoadedLayer> layers;
  std::map<std::string, std::vector<float>> arrays;
};
LoadedModel load(const Model& model, bool with_projection);

// A step reads one memory and writes another; in place where both are the same.
struct Step {
  dnnl::primitive primitive;  // or, where there is none, work of our own
  std::unordered_map<int, memory> arguments;
  std::function<void()> own;
};

// Where a value of the network lies.
struct Result {
  ValueShape shape;
  memory data;
};

struct Probe {
  std::size_t step = 0;  // the value is ready after it
  std::string name;
  Result value;
};

// The network for one size of input, with its activations.
struct Plan {
  memory input;
  dnnl::reorder take_in;  // from nchw to `input`
  Result map;
  dnnl::reorder give_out;  // from `map` to nhwc, where it is no list of tokens
  std::optional<Result> global;
  std::vector<Step> steps;
  std::vector<Probe> probes;
  std::vector<memory> buffers;
  std::vector<std::string> implementations;  // of convolutions and products, in oneDNN's words
};

struct PlanSize {
  std::size_t batch = 0;
  std::size_t height = 0;
  std::size_t width = 0;
  auto operator<=>(const PlanSize&) const = default;
};

// Blocked layouts chosen by the library for each layer, norms folded into kernels; bias,
// activations and sums are done while the result is still in registers. A few buffers hold all
// activations. threads: of our own work.
Plan make_plan(LoadedModel& model, const PlanSize& size, memory::data_type type, int threads,
               const dnnl::engine& engine);

// Whether an implementation of oneDNN computes directly, not through a product whose sums are
// divided among threads, and is not the slow reference implementation.
bool is_direct(const std::string& implementation);

}  // namespace diml::onednn
