#include "learn/torch_network.h"

#include <map>

#include <torch/script.h>
#include <torch/torch.h>

#include "base/stopwatch.h"
#include "base/threads.h"
#include "device.h"
#include "diml/error.h"
#include "finish.h"
#include "fold.h"
#include "graph.h"
#include "tensors.h"
#include "torch_error.h"
#include "torch_grid_maker.h"

namespace diml {
namespace {

std::int64_t dim(std::size_t value) { return static_cast<std::int64_t>(value); }

torch::ScalarType type_of(Precision precision) {
  return precision == Precision::bfloat16 ? torch::kBFloat16 : torch::kFloat32;
}

// LibTorch's messages are long. That of a failing program has the reason in its last line, after
// the places in the program; any other has it in its first line, before a trace of LibTorch itself.
std::string one_line(const std::exception& error) {
  std::string text = error.what();
  const std::string in_program = "RuntimeError: ";
  if (const std::size_t last = text.rfind("\n" + in_program); last != std::string::npos) {
    text.erase(0, last + 1 + in_program.size());
  }
  return text.substr(0, text.find('\n'));
}

// Shared by networks on LibTorch: pixels to a tensor, a map back, threads, devices.
class TorchNetwork : public Network {
 public:
  explicit TorchNetwork(const EmbeddingParams& params)
      : params_(params), device_(learn::device_named(params_.device)) {
    at::set_num_threads(thread_count(params_.threads));
  }

  MapShape output_shape(std::size_t height, std::size_t width) override {
    const c10::InferenceMode inference;
    return learn::in_one_line([&] {
      const FeatureMap made = checked(run(prepared(torch::zeros({1, 3, dim(height), dim(width)}))));
      MapShape shape = shape_of(made.map);
      shape.own_global = made.global.defined();
      return shape;
    });
  }

  void forward(std::span<const float> pixels, std::size_t batch, std::size_t height,
               std::size_t width, std::span<float> maps) override {
    const c10::InferenceMode inference;
    if (pixels.size() != batch * 3 * height * width) {
      throw Error(ErrorKind::internal, "the network was given arrays of the wrong size");
    }
    const torch::Tensor input =
        torch::from_blob(const_cast<float*>(pixels.data()),
                         {dim(batch), 3, dim(height), dim(width)}, torch::kFloat32);
    const FeatureMap made = learn::in_one_line([&] { return checked(run(prepared(input))); });
    MapShape shape = shape_of(made.map);
    shape.own_global = made.global.defined();
    if (made.map.size(0) != dim(batch) || maps.size() != batch * shape.count()) {
      throw Error(ErrorKind::internal, "the network was given arrays of the wrong size");
    }
    if (!shape.own_global) {
      copy_out(made.map, maps);
      return;
    }
    const torch::Tensor rows = torch::from_blob(
        maps.data(), {dim(batch), dim(shape.height * shape.width) + 1, dim(shape.channels)},
        torch::kFloat32);
    rows.narrow(1, 0, rows.size(1) - 1).copy_(made.map.flatten(2).transpose(1, 2));
    rows.select(1, rows.size(1) - 1).copy_(made.global);
  }

  std::unique_ptr<GridMaker> grid_maker(const Preprocessing& preprocessing,
                                        const EmbeddingParams& params) override {
    return learn::make_torch_grid_maker(
        [this](const torch::Tensor& pixels) { return checked(run(prepared(pixels))); }, device_,
        preprocessing, params);
  }

  double seconds_of_pass(std::size_t passes, std::size_t batch, std::size_t height,
                         std::size_t width) override {
    const c10::InferenceMode inference;
    const torch::Tensor pixels = prepared(torch::randn({dim(batch), 3, dim(height), dim(width)}));
    run(pixels);  // the first one selects the fastest algorithms
    learn::DeviceEvent(device_).wait();
    const Stopwatch watch;
    for (std::size_t pass = 0; pass < passes; ++pass) run(pixels);
    learn::DeviceEvent(device_).wait();
    return watch.seconds() / static_cast<double>(passes);
  }

 protected:
  // pixels: the result of prepared().
  virtual FeatureMap run(const torch::Tensor& pixels) = 0;

  // A GPU convolves fastest with channels last.
  torch::Tensor prepared(const torch::Tensor& values) const {
    const torch::Tensor there = values.to(device_, type_of(params_.precision));
    const bool swap = device_.is_cuda() && there.dim() == 4;
    return swap ? there.contiguous(torch::MemoryFormat::ChannelsLast) : there;
  }

  static MapShape shape_of(const torch::Tensor& map) {
    return {static_cast<std::size_t>(map.size(1)), static_cast<std::size_t>(map.size(2)),
            static_cast<std::size_t>(map.size(3))};
  }
  static void copy_out(const torch::Tensor& map, std::span<float> values) {
    torch::from_blob(values.data(), {map.size(0), map.size(2), map.size(3), map.size(1)},
                     torch::kFloat32)
        .copy_(map.permute({0, 2, 3, 1}));
  }
  static FeatureMap checked(FeatureMap made) {
    const torch::Tensor& map = made.map;
    if (map.dim() != 4 || map.size(1) == 0 || map.size(2) == 0 || map.size(3) == 0) {
      std::ostringstream shape;
      shape << map.sizes();
      throw Error("the network gives " + shape.str() +
                  " where a map [images, channels, height, width] is needed: leave out its pooling "
                  "and its classifier");
    }
    return made;
  }

  EmbeddingParams params_;
  torch::Device device_;
};

class ModelNetwork final : public TorchNetwork {
 public:
  ModelNetwork(const Model& model, const EmbeddingParams& params, Tap tap)
      : TorchNetwork(params),
        tap_(std::move(tap)),
        architecture_(make_architecture(model.architecture, model.stride)) {
    if (params.projection && model.has_projection()) {
      architecture_ = projected(architecture_, model.output_channels());
    }
    for (const Operation& operation : architecture_.operations) {
      if (const auto* layer = std::get_if<Convolution>(&operation.kind)) {
        const FoldedConvolution folded = fold(model, *layer);
        const auto side = dim(layer->kernel);
        layers_[layer->name] = {
            prepared(torch::tensor(folded.kernel)
                         .view({dim(layer->outputs), dim(layer->inputs), side, side})),
            prepared(torch::tensor(folded.bias))};
        continue;
      }
      for (const ArraySpec& array : arrays_of(operation)) {
        arrays_[array.name] = prepared(learn::to_torch(tensor_of(model, array.name, array.shape)));
      }
    }
  }

  const char* name() const override { return "torch"; }

 private:
  struct Loaded {
    torch::Tensor kernel;
    torch::Tensor bias;
  };

  FeatureMap run(const torch::Tensor& pixels) override {
    const Convolve convolve = [&](const Convolution& layer, const torch::Tensor& map,
                                  const Finish& finish) {
      const Loaded& loaded = layers_.at(layer.name);
      const auto convolved = [&](const torch::Tensor& bias) {
        return torch::conv2d(map, loaded.kernel, bias, dim(layer.stride), dim(layer.padding()));
      };
      // oneDNN adds the bias within the convolution.
      if (device_.is_cpu() || !finish.relu) return finished(convolved(loaded.bias), finish);
      torch::Tensor result = convolved({});
      learn::finish_(result, loaded.bias, finish.shortcut);
      return result;
    };
    TensorTap tap;
    if (tap_) {
      tap = [&](const std::string& name, const torch::Tensor& map) {
        std::vector<float> values(static_cast<std::size_t>(map.numel()));
        copy_out(map, values);
        tap_(name, shape_of(map), values);
      };
    }
    return run_graph(architecture_, pixels,
                     {convolve, [&](const std::string& name) { return arrays_.at(name); }}, tap);
  }

  Tap tap_;
  Architecture architecture_;
  std::map<std::string, Loaded> layers_;
  std::map<std::string, torch::Tensor> arrays_;  // of all other operations
};

class ScriptNetwork final : public TorchNetwork {
 public:
  ScriptNetwork(const std::string& path, const EmbeddingParams& params) : TorchNetwork(params) {
    try {
      module_ = torch::jit::load(path, device_);
      module_.eval();
      module_.to(type_of(params.precision));  // before freezing: then its arrays are constants
      module_ = torch::jit::freeze(module_);
    } catch (const std::exception& error) {
      throw Error(ErrorKind::bad_input,
                  path + ": is not a TorchScript program that can be loaded: " + one_line(error) +
                      "; plain weights are imported",
                  "import_model");
    }
  }

  const char* name() const override { return "torchscript"; }

 private:
  FeatureMap run(const torch::Tensor& pixels) override {
    torch::jit::IValue result;
    try {
      result = module_.forward({pixels});
    } catch (const std::exception& error) {
      throw Error("the TorchScript program fails on images [" + std::to_string(pixels.size(0)) +
                  ", 3, " + std::to_string(pixels.size(2)) + ", " + std::to_string(pixels.size(3)) +
                  "]: " + one_line(error));
    }
    if (!result.isTensor()) {
      throw Error("the TorchScript program gives a " + result.tagKind() +
                  " where one tensor, the map, is needed");
    }
    return {result.toTensor()};
  }

  torch::jit::Module module_;
};

}  // namespace

std::unique_ptr<Network> make_torch_network(const Model& model, const EmbeddingParams& params,
                                            const Tap& tap) {
  return std::make_unique<ModelNetwork>(model, params, tap);
}

std::unique_ptr<Network> load_torchscript_network(const std::string& path,
                                                  const EmbeddingParams& params) {
  return std::make_unique<ScriptNetwork>(path, params);
}

}  // namespace diml
