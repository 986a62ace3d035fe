#include "models/onednn_network.h"

#include <algorithm>
#include <map>

#include "base/amx.h"
#include "base/threads.h"
#include "diml/error.h"
#include "onednn_plan.h"
#include "onednn_versions.h"

namespace diml {
namespace {

using dnnl::memory;
using onednn::Plan;
using onednn::PlanSize;
using onednn::Result;
using Tag = memory::format_tag;

memory::data_type type_of(Precision precision) {
  return precision == Precision::bfloat16 ? memory::data_type::bf16 : memory::data_type::f32;
}

class OneDnnNetwork final : public Network {
 public:
  OneDnnNetwork(const Model& model, const EmbeddingParams& params, Tap tap);

  const char* name() const override { return "onednn"; }
  MapShape output_shape(std::size_t height, std::size_t width) override;
  void forward(std::span<const float> pixels, std::size_t batch, std::size_t height,
               std::size_t width, std::span<float> maps) override;
  bool same_bits(std::size_t few, std::size_t many, std::size_t height, std::size_t width) override;

 private:
  Plan& plan_of(const PlanSize& size);
  void run(Plan& plan, std::size_t batch);
  void copy_map(const Result& map, std::span<float> values);
  void copy_out(const Plan& plan, std::size_t batch, std::span<float> maps);

  EmbeddingParams params_;
  Tap tap_;
  onednn::LoadedModel model_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  std::map<PlanSize, Plan> plans_;
};

OneDnnNetwork::OneDnnNetwork(const Model& model, const EmbeddingParams& params, Tap tap)
    : params_(params),
      tap_(std::move(tap)),
      model_(onednn::load(model, params.projection)),
      engine_(dnnl::engine::kind::cpu, 0),
      stream_(engine_) {}

MapShape OneDnnNetwork::output_shape(std::size_t height, std::size_t width) {
  const ValueShape shape = shapes_of(model_.architecture, height, width)[model_.architecture.map];
  return {shape.channels, shape.height, shape.width, model_.architecture.global.has_value()};
}

void OneDnnNetwork::copy_map(const Result& map, std::span<float> values) {
  memory plain({onednn::dims_of(map.data.get_desc()), memory::data_type::f32, Tag::nhwc}, engine_,
               values.data());
  dnnl::reorder(map.data, plain).execute(stream_, const_cast<memory&>(map.data), plain);
  stream_.wait();
}

void OneDnnNetwork::copy_out(const Plan& plan, std::size_t batch, std::span<float> maps) {
  const ValueShape& shape = plan.map.shape;
  if (!shape.tokens) {
    copy_map(plan.map, maps);
    return;
  }
  const auto* tokens = static_cast<const float*>(plan.map.data.get_data_handle());
  const std::size_t prefix = shape.prefix * shape.channels;
  const std::size_t of_map = shape.height * shape.width * shape.channels;
  float* to = maps.data();
  for (std::size_t image = 0; image < batch; ++image) {
    to = std::copy_n(tokens + image * (prefix + of_map) + prefix, of_map, to);
    if (!plan.global) continue;
    const auto* globals = static_cast<const float*>(plan.global->data.get_data_handle());
    to = std::copy_n(globals + image * shape.channels, shape.channels, to);
  }
}

Plan& OneDnnNetwork::plan_of(const PlanSize& size) {
  const auto found = plans_.find(size);
  if (found != plans_.end()) return found->second;
  try {
    return plans_
        .emplace(size, onednn::make_plan(model_, size, type_of(params_.precision), params_.threads,
                                         engine_))
        .first->second;
  } catch (const dnnl::error& error) {
    throw Error(ErrorKind::unsupported, std::string("oneDNN cannot run this network in ") +
                                            name_of(params_.precision) + " here (" + error.what() +
                                            "): use precision float32, or backend torch");
  }
}

// oneDNN's direct convolutions and products sum the inputs of a place in one order, for any number
// of images. Others may split the sum among threads by sizes that include the batch; and two
// different implementations may use different orders.
bool OneDnnNetwork::same_bits(std::size_t few, std::size_t many, std::size_t height,
                              std::size_t width) {
  if (few == many) return true;
  const ThreadScope threads(params_.threads);
  const std::vector<std::string>& own = plan_of({few, height, width}).implementations;
  return std::all_of(own.begin(), own.end(), onednn::is_direct) &&
         own == plan_of({many, height, width}).implementations;
}

void OneDnnNetwork::run(Plan& plan, std::size_t batch) {
  std::size_t probe = 0;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    onednn::Step& step = plan.steps[s];
    if (step.own) {
      stream_.wait();
      step.own();
    } else {
      step.primitive.execute(stream_, step.arguments);
    }
    if (!tap_ || probe == plan.probes.size() || plan.probes[probe].step != s) continue;
    const Result& seen = plan.probes[probe].value;
    const ValueShape& shape = seen.shape;
    const MapShape told = shape.tokens ? MapShape{shape.channels, 1, shape.places()}
                                       : MapShape{shape.channels, shape.height, shape.width};
    std::vector<float> values(batch * told.count());
    if (shape.tokens) {
      stream_.wait();
      std::copy_n(static_cast<const float*>(seen.data.get_data_handle()), values.size(),
                  values.begin());
    } else {
      copy_map(seen, values);
    }
    tap_(plan.probes[probe].name, told, values);
    ++probe;
  }
  stream_.wait();
}

void OneDnnNetwork::forward(std::span<const float> pixels, std::size_t batch, std::size_t height,
                            std::size_t width, std::span<float> maps) {
  const ThreadScope threads(params_.threads);
  Plan& plan = plan_of({batch, height, width});
  if (pixels.size() != batch * 3 * height * width ||
      maps.size() != batch * output_shape(height, width).count()) {
    throw Error(ErrorKind::internal, "the network was given arrays of the wrong size");
  }
  memory plain({onednn::dims_of(plan.input.get_desc()), memory::data_type::f32, Tag::nchw}, engine_,
               const_cast<float*>(pixels.data()));
  dnnl::reorder(plain, plan.input).execute(stream_, plain, plan.input);
  run(plan, batch);
  copy_out(plan, batch, maps);
}

}  // namespace

std::unique_ptr<Network> make_onednn_network(const Model& model, const EmbeddingParams& params,
                                             const Tap& tap) {
  avoid_broken_amx();
  return std::make_unique<OneDnnNetwork>(model, params, tap);
}

}  // namespace diml
