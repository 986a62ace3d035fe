#include "models/onednn_network.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "base/amx.h"
#include "base/threads.h"
#include "diml/error.h"
#include "fold.h"
#include "onednn_versions.h"

namespace diml {
namespace {

using dnnl::memory;
using Dims = memory::dims;
using Tag = memory::format_tag;

memory::dim dim(std::size_t value) { return static_cast<memory::dim>(value); }

memory::data_type type_of(Precision precision) {
  return precision == Precision::bfloat16 ? memory::data_type::bf16 : memory::data_type::f32;
}

// Whether an implementation of oneDNN convolves directly, not through a matrix product, and is not
// the slow reference implementation.
bool is_direct(const std::string& implementation) {
  return implementation.starts_with("jit") || implementation.starts_with("brg");
}

// What a convolution applies to its result before storing it.
enum class Finish : std::uint8_t { none, relu, add_relu };

struct Convolution {
  dnnl::convolution_forward::primitive_desc description;
  dnnl::convolution_forward primitive;
  memory kernel;
  memory bias;
};

// Kernels in the layout that a convolution needs, made once for all batch sizes with that layout.
struct LoadedLayer {
  ConvolutionLayer layer;
  FoldedConvolution values;
  std::vector<memory> kernels;
};

// Blocked layouts chosen by the library for each convolution, BatchNorm folded into kernels; bias,
// ReLU and the shortcut's sum are done while the result is still in registers. Three buffers hold
// all activations.
class OneDnnNetwork final : public Network {
 public:
  OneDnnNetwork(const Model& model, const EmbeddingParams& params, Tap tap);

  const char* name() const override { return "onednn"; }
  MapShape output_shape(std::size_t height, std::size_t width) override;
  void forward(std::span<const float> pixels, std::size_t batch, std::size_t height,
               std::size_t width, std::span<float> maps) override;
  bool same_bits(std::size_t few, std::size_t many, std::size_t height, std::size_t width) override;

 private:
  // A step reads one memory and writes another; in place where both are the same.
  struct Step {
    dnnl::primitive primitive;
    std::unordered_map<int, memory> arguments;
  };
  struct Probe {
    std::size_t step = 0;  // the map is ready after it
    std::string name;
    memory map;
  };
  // The network for one size of input, with its activations.
  struct Plan {
    memory input;
    memory output;
    MapShape shape;
    std::vector<Step> steps;
    std::vector<Probe> probes;
    std::array<memory, 3> buffers;
    std::vector<std::string> implementations;  // of the convolutions, in oneDNN's words
  };

  Plan& plan_of(std::size_t batch, std::size_t height, std::size_t width);
  Plan make_plan(std::size_t batch, std::size_t height, std::size_t width);
  Convolution make_convolution(LoadedLayer& loaded, const memory::desc& source,
                               const memory::desc& target, Finish finish);
  void copy_out(const memory& map, std::span<float> values);

  EmbeddingParams params_;
  Tap tap_;
  Architecture architecture_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  std::map<std::string, LoadedLayer> layers_;
  std::optional<ConvolutionLayer> projection_;
  std::map<std::array<std::size_t, 3>, Plan> plans_;
};

OneDnnNetwork::OneDnnNetwork(const Model& model, const EmbeddingParams& params, Tap tap)
    : params_(params),
      tap_(std::move(tap)),
      architecture_(make_architecture(model.architecture, model.stride)),
      engine_(dnnl::engine::kind::cpu, 0),
      stream_(engine_) {
  for (const ConvolutionLayer& layer : layers_of(architecture_)) {
    layers_[layer.name] = {layer, fold(model, layer), {}};
  }
  if (params_.projection && model.has_projection()) {
    projection_ = projection_layer(model);
    layers_[projection_->name] = {*projection_, projection_of(model), {}};
  }
}

std::size_t halved(std::size_t size) { return (size - 1) / 2 + 1; }

MapShape OneDnnNetwork::output_shape(std::size_t height, std::size_t width) {
  // The stem, its maximum, and the strides of the blocks: each halves, rounding up.
  std::size_t h = halved(halved(height));
  std::size_t w = halved(halved(width));
  for (const ResidualBlock& block : architecture_.blocks) {
    if (block.shortcut && block.shortcut->stride == 2) {
      h = halved(h);
      w = halved(w);
    }
  }
  return {projection_ ? projection_->outputs : architecture_.channels(), h, w};
}

Convolution OneDnnNetwork::make_convolution(LoadedLayer& loaded, const memory::desc& source,
                                            const memory::desc& target, Finish finish) {
  const ConvolutionLayer& layer = loaded.layer;
  const Dims kernel_dims = {dim(layer.outputs), dim(layer.inputs), dim(layer.kernel),
                            dim(layer.kernel)};
  const memory::desc kernel(kernel_dims, type_of(params_.precision), Tag::any);
  const memory::desc bias({dim(layer.outputs)}, memory::data_type::f32, Tag::x);
  dnnl::post_ops finishing;
  if (finish == Finish::add_relu) finishing.append_sum();
  if (finish != Finish::none) onednn::append_relu(finishing);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(finishing);
  const Dims strides(2, dim(layer.stride));
  const Dims padding(2, dim(layer.padding()));
  Convolution made;
  made.description =
      onednn::convolution({source, kernel, bias, target, strides, padding}, attributes, engine_);
  made.primitive = dnnl::convolution_forward(made.description);

  const memory::desc wanted = made.description.weights_desc();
  const auto same = std::find_if(loaded.kernels.begin(), loaded.kernels.end(),
                                 [&](const memory& m) { return m.get_desc() == wanted; });
  if (same != loaded.kernels.end()) {
    made.kernel = *same;
  } else {
    memory plain({kernel_dims, memory::data_type::f32, Tag::oihw}, engine_,
                 loaded.values.kernel.data());
    made.kernel = memory(wanted, engine_);
    dnnl::reorder(plain, made.kernel).execute(stream_, plain, made.kernel);
    stream_.wait();
    loaded.kernels.push_back(made.kernel);
  }
  made.bias = memory(bias, engine_, loaded.values.bias.data());
  return made;
}

OneDnnNetwork::Plan OneDnnNetwork::make_plan(std::size_t batch, std::size_t height,
                                             std::size_t width) {
  Plan plan;
  const auto type = type_of(params_.precision);
  const auto map_of = [&](std::size_t channels, std::size_t h, std::size_t w) {
    return memory::desc({dim(batch), dim(channels), dim(h), dim(w)}, type, Tag::any);
  };
  // Which step writes which buffer is known before how large the buffers must be.
  struct Planned {
    dnnl::primitive primitive;
    std::vector<std::pair<int, memory>> fixed;
    memory::desc source, target;
    std::size_t from, to;
    std::string tap;
  };
  std::vector<Planned> planned;
  constexpr std::size_t kInput = 3;  // not one of the buffers
  std::size_t h = height;
  std::size_t w = width;
  // Returns the layout of the result.
  const auto convolve = [&](const ConvolutionLayer& layer, const memory::desc& source,
                            std::size_t from, std::size_t to, Finish finish,
                            std::optional<memory::desc> target = {}) {
    const auto size_after = [&](memory::dim size) {
      return (static_cast<std::size_t>(size) + 2 * layer.padding() - layer.kernel) / layer.stride +
             1;
    };
    h = size_after(onednn::dims_of(source)[2]);
    w = size_after(onednn::dims_of(source)[3]);
    const Convolution made = make_convolution(
        layers_.at(layer.name), source, target ? *target : map_of(layer.outputs, h, w), finish);
    plan.implementations.emplace_back(made.description.impl_info_str());
    planned.push_back({made.primitive,
                       {{DNNL_ARG_WEIGHTS, made.kernel}, {DNNL_ARG_BIAS, made.bias}},
                       made.description.src_desc(),
                       made.description.dst_desc(),
                       from,
                       to,
                       {}});
    return made.description.dst_desc();
  };

  // oneDNN has a fast path for interleaved channels, though not for every CPU. Without it, the
  // layout of the stem's result would force all later layers into the slow reference loops.
  const Dims pixel_dims = {dim(batch), 3, dim(height), dim(width)};
  memory::desc map =
      convolve(architecture_.stem, {pixel_dims, type, Tag::nhwc}, kInput, 0, Finish::relu);
  if (!is_direct(plan.implementations.front())) {
    planned.clear();
    plan.implementations.clear();
    map = convolve(architecture_.stem, {pixel_dims, type, Tag::any}, kInput, 0, Finish::relu);
  }
  plan.input = memory(planned.front().source, engine_);
  {
    h = halved(h);
    w = halved(w);
    const memory::desc target = map_of(architecture_.stem.outputs, h, w);
    const auto description =
        onednn::max_pooling({map, target, Dims{2, 2}, Dims{3, 3}, Dims{1, 1}}, engine_);
    planned.push_back(
        {dnnl::pooling_forward(description), {}, map, description.dst_desc(), 0, 1, "stem"});
    map = description.dst_desc();
  }
  std::size_t at = 1;  // the buffer that holds the map
  for (const ResidualBlock& block : architecture_.blocks) {
    const std::size_t first = (at + 1) % 3;
    const std::size_t second = (at + 2) % 3;
    // The sum is accumulated over the shortcut's values where they lie: the map itself, or the
    // result of the shortcut's convolution in a buffer of its own.
    memory::desc inner = map;
    std::size_t inner_at = at;
    for (std::size_t k = 0; k + 1 < block.layers.size(); ++k) {
      const std::size_t to = inner_at == first ? second : first;
      inner = convolve(block.layers[k], inner, inner_at, to, Finish::relu);
      inner_at = to;
    }
    if (block.shortcut) {
      const std::size_t to = inner_at == first ? second : first;
      map = convolve(*block.shortcut, map, at, to, Finish::none);
      at = to;
    }
    convolve(block.layers.back(), inner, inner_at, at, Finish::add_relu, map);
    planned.back().tap = block.name;
  }
  if (projection_) {
    map = convolve(*projection_, map, at, (at + 1) % 3, Finish::none);
    at = (at + 1) % 3;
  }

  std::array<std::size_t, 3> bytes{};
  const auto need = [&](std::size_t buffer, const memory::desc& description) {
    if (buffer != kInput) bytes[buffer] = std::max(bytes[buffer], description.get_size());
  };
  for (const Planned& step : planned) {
    need(step.from, step.source);
    need(step.to, step.target);
  }
  for (std::size_t b = 0; b < 3; ++b) {
    plan.buffers[b] = memory({{dim(bytes[b])}, memory::data_type::u8, Tag::x}, engine_);
  }
  const auto in_buffer = [&](std::size_t buffer, const memory::desc& description) {
    return buffer == kInput ? plan.input
                            : memory(description, engine_, plan.buffers[buffer].get_data_handle());
  };
  for (Planned& step : planned) {
    std::unordered_map<int, memory> arguments(step.fixed.begin(), step.fixed.end());
    arguments[DNNL_ARG_SRC] = in_buffer(step.from, step.source);
    arguments[DNNL_ARG_DST] = in_buffer(step.to, step.target);
    if (!step.tap.empty()) {
      plan.probes.push_back({plan.steps.size(), step.tap, arguments[DNNL_ARG_DST]});
    }
    plan.steps.push_back({step.primitive, std::move(arguments)});
  }
  plan.output = in_buffer(at, map);
  plan.shape = {projection_ ? projection_->outputs : architecture_.channels(), h, w};
  return plan;
}

void OneDnnNetwork::copy_out(const memory& map, std::span<float> values) {
  memory plain({onednn::dims_of(map.get_desc()), memory::data_type::f32, Tag::nhwc}, engine_,
               values.data());
  dnnl::reorder(map, plain).execute(stream_, const_cast<memory&>(map), plain);
  stream_.wait();
}

OneDnnNetwork::Plan& OneDnnNetwork::plan_of(std::size_t batch, std::size_t height,
                                            std::size_t width) {
  const std::array key = {batch, height, width};
  const auto found = plans_.find(key);
  if (found != plans_.end()) return found->second;
  try {
    return plans_.emplace(key, make_plan(batch, height, width)).first->second;
  } catch (const dnnl::error& error) {
    throw Error(ErrorKind::unsupported, std::string("oneDNN cannot run this network in ") +
                                            name_of(params_.precision) + " here (" + error.what() +
                                            "): use precision float32, or backend torch");
  }
}

// oneDNN's direct convolutions sum the input channels of a place in one order, for any number of
// images. Those that use a matrix product may split the sum among threads by sizes that include the
// batch; and two different implementations may use different orders.
bool OneDnnNetwork::same_bits(std::size_t few, std::size_t many, std::size_t height,
                              std::size_t width) {
  if (few == many) return true;
  const ThreadScope threads(params_.threads);
  const std::vector<std::string>& own = plan_of(few, height, width).implementations;
  return std::all_of(own.begin(), own.end(), is_direct) &&
         own == plan_of(many, height, width).implementations;
}

void OneDnnNetwork::forward(std::span<const float> pixels, std::size_t batch, std::size_t height,
                            std::size_t width, std::span<float> maps) {
  const ThreadScope threads(params_.threads);
  Plan& plan = plan_of(batch, height, width);
  if (pixels.size() != batch * 3 * height * width || maps.size() != batch * plan.shape.count()) {
    throw Error(ErrorKind::internal, "the network was given arrays of the wrong size");
  }
  memory plain({onednn::dims_of(plan.input.get_desc()), memory::data_type::f32, Tag::nchw}, engine_,
               const_cast<float*>(pixels.data()));
  dnnl::reorder(plain, plan.input).execute(stream_, plain, plan.input);
  std::size_t probe = 0;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    plan.steps[s].primitive.execute(stream_, plan.steps[s].arguments);
    if (tap_ && probe < plan.probes.size() && plan.probes[probe].step == s) {
      const auto dims = onednn::dims_of(plan.probes[probe].map.get_desc());
      const MapShape shape{static_cast<std::size_t>(dims[1]), static_cast<std::size_t>(dims[2]),
                           static_cast<std::size_t>(dims[3])};
      std::vector<float> values(batch * shape.count());
      copy_out(plan.probes[probe].map, values);
      tap_(plan.probes[probe].name, shape, values);
      ++probe;
    }
  }
  copy_out(plan.output, maps);
}

}  // namespace

std::unique_ptr<Network> make_onednn_network(const Model& model, const EmbeddingParams& params,
                                             const Tap& tap) {
  avoid_broken_amx();
  return std::make_unique<OneDnnNetwork>(model, params, tap);
}

}  // namespace diml
