#include "onednn_plan.h"

#include <algorithm>
#include <array>

#include "diml/error.h"
#include "fold.h"
#include "onednn_versions.h"
#include "position_embedding.h"
#include "token_kernels.h"

namespace diml::onednn {
namespace {

using Dims = memory::dims;
using Tag = memory::format_tag;

memory::dim dim(std::size_t value) { return static_cast<memory::dim>(value); }

constexpr std::size_t kInput = 1000;  // not one of the buffers
constexpr std::size_t kRounded = 0;   // the buffer of what a product reads in bfloat16
constexpr auto kFloat = memory::data_type::f32;

float* floats(const memory& data) { return static_cast<float*>(data.get_data_handle()); }

// Where a value will lie: buffers are made when it is known how large they must be.
struct Place {
  memory::desc layout;
  std::size_t buffer = kInput;
  memory::data_type type = kFloat;  // of tokens
};

struct Planned {
  dnnl::primitive primitive;
  std::vector<std::pair<int, memory>> fixed;
  Place source;
  Place target;
  std::size_t offset = 0;  // of the target in its buffer, in floats
  std::function<void(const float* from, const float* second, float* to)> own{};
  std::optional<Place> second{};  // what the work reads beside its source
  std::string tap{};
  std::size_t value = 0;
};

class PlanMaker {
 public:
  PlanMaker(LoadedModel& model, const PlanSize& size, memory::data_type type, int threads,
            const dnnl::engine& engine)
      : model_(model),
        architecture_(model.architecture),
        size_(size),
        type_(type),
        threads_(threads),
        engine_(engine),
        stream_(engine),
        shapes_(shapes_of(architecture_, size.height, size.width)),
        last_(last_uses(architecture_)),
        places_(shapes_.size()) {}

  Plan make();

 private:
  memory::desc map_of(const ValueShape& shape, Tag tag) const {
    return {
        {dim(size_.batch), dim(shape.channels), dim(shape.height), dim(shape.width)}, type_, tag};
  }
  // One row for each token of the batch.
  memory::desc rows_of(const ValueShape& shape, memory::data_type type = kFloat) const {
    return {{dim(size_.batch * shape.places()), dim(shape.channels)}, type, Tag::ab};
  }

  void add(std::size_t number, const Convolution& layer);
  void add(std::size_t number, const MaxPooling& pooling);
  void add(std::size_t number, const Tokens& tokens);
  void add(std::size_t number, const LayerNorm& norm);
  void add(std::size_t number, const Linear& linear);
  void add(std::size_t number, const Attention& attention);
  void add(std::size_t number, const Gate& gate);
  void add(std::size_t number, const FirstToken& token);
  void add(std::size_t number, const LearntToken& token);

  void convolve(std::size_t number, const Convolution& layer, Tag pixels);
  void multiply(std::size_t number, const Linear& linear);
  Place factor(std::size_t number);
  bool only_products_read(Value value) const;
  const memory& laid_out(LoadedLayer& layer, const memory::desc& plain, const memory::desc& wanted);
  std::size_t free_buffer(std::size_t number);
  std::size_t buffer_of_sum(std::size_t number);
  void put(std::size_t number, Planned planned);
  void put_own(std::size_t number, std::function<void(const float*, const float*, float*)> work);
  void make_buffers(Plan& plan) const;
  memory in_buffer(const Plan& plan, const Place& place, std::size_t offset = 0) const;

  LoadedModel& model_;
  const Architecture& architecture_;
  PlanSize size_;
  memory::data_type type_;  // of maps, and of what matrix products read; all else is float32
  int threads_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  std::vector<ValueShape> shapes_;
  std::vector<std::size_t> last_;
  std::vector<Place> places_;
  std::vector<Planned> planned_;
  std::vector<std::string> implementations_;
};

// The lowest one that holds no value that this operation or a later one needs.
std::size_t PlanMaker::free_buffer(std::size_t number) {
  for (std::size_t buffer = type_ == kFloat ? 0 : kRounded + 1;; ++buffer) {
    bool taken = false;
    for (std::size_t value = 1; value <= number; ++value) {
      taken = taken || (places_[value].buffer == buffer && last_[value] >= number);
    }
    if (!taken) return buffer;
  }
}

// A sum is accumulated over the values that are added, where they lie.
std::size_t PlanMaker::buffer_of_sum(std::size_t number) {
  const Operation& operation = architecture_.operations[number];
  if (!operation.second) return free_buffer(number);
  if (last_[*operation.second] > number) {
    throw Error(ErrorKind::internal, "a network needs a value after it was added to another");
  }
  return places_[*operation.second].buffer;
}

void PlanMaker::put(std::size_t number, Planned planned) {
  planned.tap = architecture_.operations[number].tap;
  planned.value = number + 1;
  places_[number + 1] = planned.target;
  planned_.push_back(std::move(planned));
}

void PlanMaker::put_own(std::size_t number,
                        std::function<void(const float*, const float*, float*)> work) {
  const Operation& operation = architecture_.operations[number];
  Planned planned;
  planned.source = places_[operation.source];
  if (operation.second) planned.second = places_[*operation.second];
  planned.target = {rows_of(shapes_[number + 1]), free_buffer(number)};
  planned.own = std::move(work);
  put(number, std::move(planned));
}

const memory& PlanMaker::laid_out(LoadedLayer& layer, const memory::desc& plain,
                                  const memory::desc& wanted) {
  const auto same = std::find_if(layer.laid_out.begin(), layer.laid_out.end(),
                                 [&](const memory& m) { return m.get_desc() == wanted; });
  if (same != layer.laid_out.end()) return *same;
  memory from(plain, engine_, layer.weights.data());
  memory to(wanted, engine_);
  dnnl::reorder(from, to).execute(stream_, from, to);
  stream_.wait();
  return layer.laid_out.emplace_back(to);
}

void PlanMaker::convolve(std::size_t number, const Convolution& layer, Tag pixels) {
  const Operation& operation = architecture_.operations[number];
  const bool of_pixels = operation.source == 0;
  const Place source =
      of_pixels ? Place{map_of(shapes_[0], pixels), kInput} : places_[operation.source];
  const memory::desc target =
      operation.second ? places_[*operation.second].layout : map_of(shapes_[number + 1], Tag::any);
  const Dims kernel_dims = {dim(layer.outputs), dim(layer.inputs), dim(layer.kernel),
                            dim(layer.kernel)};
  const memory::desc kernel(kernel_dims, type_, Tag::any);
  const memory::desc bias({dim(layer.outputs)}, memory::data_type::f32, Tag::x);
  dnnl::post_ops finishing;
  if (operation.second) finishing.append_sum();
  if (layer.relu) append(finishing, dnnl::algorithm::eltwise_relu);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(finishing);
  const auto made = convolution({source.layout, kernel, bias, target, Dims(2, dim(layer.stride)),
                                 Dims(2, dim(layer.padding()))},
                                attributes, engine_);
  LoadedLayer& loaded = model_.layers.at(layer.name);
  const memory::desc plain(kernel_dims, memory::data_type::f32, Tag::oihw);
  implementations_.emplace_back(made.impl_info_str());
  put(number, {.primitive = dnnl::convolution_forward(made),
               .fixed = {{DNNL_ARG_WEIGHTS, laid_out(loaded, plain, made.weights_desc())},
                         {DNNL_ARG_BIAS, memory(bias, engine_, loaded.bias.data())}},
               .source = {made.src_desc(), source.buffer},
               .target = {made.dst_desc(), buffer_of_sum(number)}});
}

void PlanMaker::add(std::size_t number, const Convolution& layer) {
  if (architecture_.operations[number].source != 0) {
    convolve(number, layer, Tag::any);
    return;
  }
  // oneDNN has a fast path for interleaved channels, though not for every CPU. Without it, the
  // layout of the result would force all later layers into the slow reference loops.
  convolve(number, layer, Tag::nhwc);
  if (!is_direct(implementations_.back())) {
    planned_.pop_back();
    implementations_.pop_back();
    places_[number + 1] = {};
    convolve(number, layer, Tag::any);
  }
  places_[0] = planned_.back().source;
}

void PlanMaker::add(std::size_t number, const MaxPooling& /*pooling*/) {
  const Place source = places_[architecture_.operations[number].source];
  const auto made = max_pooling(
      {source.layout, map_of(shapes_[number + 1], Tag::any), Dims{2, 2}, Dims{3, 3}, Dims{1, 1}},
      engine_);
  put(number, {.primitive = dnnl::pooling_forward(made),
               .fixed = {},
               .source = source,
               .target = {made.dst_desc(), free_buffer(number)}});
}

void PlanMaker::add(std::size_t number, const Tokens& tokens) {
  const Operation& operation = architecture_.operations[number];
  const Place source = places_[operation.source];
  const ValueShape shape = shapes_[number + 1];
  const Place target{rows_of(shape), free_buffer(number)};
  // The places of the map, channels last, behind the prefix of each image.
  const memory::desc view(
      {dim(size_.batch), dim(shape.channels), dim(shape.height), dim(shape.width)}, kFloat,
      {dim(shape.places() * shape.channels), 1, dim(shape.width * shape.channels),
       dim(shape.channels)});
  put(number, {.primitive = dnnl::reorder({engine_, source.layout, engine_, view}),
               .fixed = {},
               .source = source,
               .target = {view, target.buffer},
               .offset = shape.prefix * shape.channels});
  planned_.back().tap.clear();
  // Then, in place, the prefix and the positions.
  const auto array = [&](const std::string& name) { return std::span(model_.arrays.at(name)); };
  const std::vector<float> rows = token_rows(
      tokens, tokens.class_token.empty() ? std::span<float>() : array(tokens.class_token),
      tokens.register_count == 0 ? std::span<float>() : array(tokens.registers),
      array(tokens.positions), shape.height, shape.width);
  const std::size_t of_prefix = shape.prefix * shape.channels;
  put(number,
      {.primitive = {},
       .fixed = {},
       .source = target,
       .target = target,
       .own = [rows, of_prefix, batch = size_.batch](const float*, const float*, float* to) {
         for (std::size_t image = 0; image < batch; ++image) {
           float* own = to + image * rows.size();
           std::copy_n(rows.begin(), of_prefix, own);
           for (std::size_t k = of_prefix; k < rows.size(); ++k) own[k] += rows[k];
         }
       }});
}

void PlanMaker::add(std::size_t number, const LayerNorm& norm) {
  const ValueShape shape = shapes_[number + 1];
  put_own(number, [&scale = model_.arrays.at(norm.name + ".weight"),
                   &shift = model_.arrays.at(norm.name + ".bias"), epsilon = norm.epsilon,
                   rows = size_.batch * shape.places(),
                   threads = threads_](const float* from, const float*, float* to) {
    normalise_rows(from, rows, scale, shift, epsilon, threads, to);
  });
}

void PlanMaker::add(std::size_t number, const Linear& linear) {
  if (shapes_[number + 1].tokens) {
    multiply(number, linear);
  } else {
    convolve(number,
             {.name = linear.name, .norm = "", .inputs = linear.inputs, .outputs = linear.outputs},
             Tag::any);
  }
}

// The source of a product, rounded first where it is not yet in the type of products.
Place PlanMaker::factor(std::size_t number) {
  const Value value = architecture_.operations[number].source;
  const Place source = places_[value];
  if (source.type == type_) return source;
  const Place rounded{rows_of(shapes_[value], type_), kRounded, type_};
  put(number, {.primitive = dnnl::reorder({engine_, source.layout, engine_, rounded.layout}),
               .fixed = {},
               .source = source,
               .target = rounded});
  planned_.back().tap.clear();
  return rounded;
}

bool PlanMaker::only_products_read(Value value) const {
  if (architecture_.map == value || architecture_.global == value) return false;
  return std::all_of(architecture_.operations.begin(), architecture_.operations.end(),
                     [&](const Operation& operation) {
                       if (operation.second == value) return false;
                       return operation.source != value ||
                              std::holds_alternative<Linear>(operation.kind);
                     });
}

void PlanMaker::multiply(std::size_t number, const Linear& linear) {
  const Operation& operation = architecture_.operations[number];
  const Place source = factor(number);
  const Dims weight_dims = {dim(linear.inputs), dim(linear.outputs)};
  const memory::desc weights(weight_dims, type_, Tag::any);
  const memory::desc bias({1, dim(linear.outputs)}, memory::data_type::f32, Tag::ab);
  dnnl::post_ops finishing;
  if (operation.second) finishing.append_sum();
  constexpr float kQuick = 1.702F;
  switch (linear.activation) {
    case Activation::none:
      break;
    case Activation::gelu:
      append(finishing, dnnl::algorithm::eltwise_gelu_erf);
      break;
    case Activation::gelu_tanh:
      append(finishing, dnnl::algorithm::eltwise_gelu_tanh);
      break;
    case Activation::quick_gelu:
      append(finishing, dnnl::algorithm::eltwise_swish, kQuick);
      break;
  }
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(finishing);
  const auto result_type = only_products_read(number + 1) ? type_ : kFloat;
  const memory::desc target = rows_of(shapes_[number + 1], result_type);
  const auto made = matmul({source.layout, weights, bias, target}, attributes, engine_);
  LoadedLayer& loaded = model_.layers.at(linear.name);
  const memory::desc plain(weight_dims, memory::data_type::f32, Tag::ba);
  implementations_.emplace_back(made.impl_info_str());
  put(number, {.primitive = dnnl::matmul(made),
               .fixed = {{DNNL_ARG_WEIGHTS, laid_out(loaded, plain, made.weights_desc())},
                         {DNNL_ARG_BIAS, memory(bias, engine_, loaded.bias.data())}},
               .source = source,
               .target = {target, buffer_of_sum(number), result_type}});
}

void PlanMaker::add(std::size_t number, const Attention& attention) {
  const Operation& operation = architecture_.operations[number];
  const bool of_itself = !operation.second;
  const std::size_t width = attention.width;
  AttentionInput input;
  input.query_stride = of_itself ? 3 * width : width;
  input.key_stride = of_itself ? 3 * width : 2 * width;
  input.query_count = shapes_[operation.source].places();
  input.key_count = shapes_[operation.second.value_or(operation.source)].places();
  input.batch = size_.batch;
  input.heads = attention.heads;
  input.width = width;
  put_own(number, [input, of_itself, threads = threads_](const float* from, const float* second,
                                                         float* to) {
    AttentionInput own = input;
    own.queries = from;
    own.keys = of_itself ? from + input.width : second;
    own.values = own.keys + input.width;
    attend(own, threads, to);
  });
}

void PlanMaker::add(std::size_t number, const Gate& gate) {
  put_own(number, [rows = size_.batch * shapes_[number + 1].places(), width = gate.width,
                   threads = threads_](const float* from, const float*, float* to) {
    gate_rows(from, rows, width, threads, to);
  });
}

void PlanMaker::add(std::size_t number, const FirstToken& /*token*/) {
  const ValueShape from_shape = shapes_[architecture_.operations[number].source];
  put_own(number, [batch = size_.batch, places = from_shape.places(), width = from_shape.channels](
                      const float* from, const float*, float* to) {
    for (std::size_t image = 0; image < batch; ++image) {
      std::copy_n(from + image * places * width, width, to + image * width);
    }
  });
}

void PlanMaker::add(std::size_t number, const LearntToken& token) {
  put_own(number, [batch = size_.batch, &row = model_.arrays.at(token.name)](
                      const float*, const float*, float* to) {
    for (std::size_t image = 0; image < batch; ++image) {
      std::copy(row.begin(), row.end(), to + image * row.size());
    }
  });
}

void PlanMaker::make_buffers(Plan& plan) const {
  std::vector<std::size_t> bytes;
  const auto widen = [&](const Place& place) {
    if (place.buffer == kInput) return;
    if (bytes.size() <= place.buffer) bytes.resize(place.buffer + 1, 1);
    bytes[place.buffer] = std::max(bytes[place.buffer], place.layout.get_size());
  };
  for (const Planned& step : planned_) {
    widen(step.source);
    widen(step.target);
  }
  for (const std::size_t size : bytes) {
    plan.buffers.push_back(memory({{dim(size)}, memory::data_type::u8, Tag::x}, engine_));
  }
}

memory PlanMaker::in_buffer(const Plan& plan, const Place& place, std::size_t offset) const {
  if (place.buffer == kInput) return plan.input;
  auto* data = static_cast<float*>(plan.buffers[place.buffer].get_data_handle());
  return {place.layout, engine_, data + offset};
}

Plan PlanMaker::make() {
  for (std::size_t number = 0; number < architecture_.operations.size(); ++number) {
    std::visit([&](const auto& kind) { add(number, kind); }, architecture_.operations[number].kind);
  }
  Plan plan;
  plan.implementations = implementations_;
  plan.input = memory(places_[0].layout, engine_);
  make_buffers(plan);
  for (Planned& step : planned_) {
    const memory from = in_buffer(plan, step.source);
    const memory to = in_buffer(plan, step.target, step.offset);
    Step made;
    if (step.own) {
      made.own = [work = std::move(step.own), source = floats(from), target = floats(to),
                  second = step.second ? floats(in_buffer(plan, *step.second)) : nullptr] {
        work(source, second, target);
      };
    } else {
      made.primitive = step.primitive;
      made.arguments = {step.fixed.begin(), step.fixed.end()};
      made.arguments[DNNL_ARG_SRC] = from;
      made.arguments[DNNL_ARG_DST] = to;
    }
    if (!step.tap.empty()) {
      plan.probes.push_back({plan.steps.size(), step.tap, {shapes_[step.value], to}});
    }
    plan.steps.push_back(std::move(made));
  }
  const auto result = [&](Value value) {
    return Result{shapes_[value], in_buffer(plan, places_[value])};
  };
  plan.map = result(architecture_.map);
  if (architecture_.global) plan.global = result(*architecture_.global);
  return plan;
}

}  // namespace

bool is_direct(const std::string& implementation) {
  return implementation.starts_with("jit") || implementation.starts_with("brg");
}

LoadedModel load(const Model& model, bool with_projection) {
  LoadedModel loaded;
  loaded.architecture = make_architecture(model.architecture, model.stride);
  if (with_projection && model.has_projection()) {
    loaded.architecture = projected(loaded.architecture, model.output_channels());
  }
  for (const Operation& operation : loaded.architecture.operations) {
    if (const auto* convolution = std::get_if<Convolution>(&operation.kind)) {
      FoldedConvolution folded = fold(model, *convolution);
      loaded.layers[convolution->name] = {std::move(folded.kernel), std::move(folded.bias)};
    } else if (const auto* linear = std::get_if<Linear>(&operation.kind)) {
      FoldedLinear folded = fold(model, *linear);
      loaded.layers[linear->name] = {std::move(folded.matrix), std::move(folded.bias)};
    } else {
      for (const ArraySpec& array : arrays_of(operation)) {
        loaded.arrays[array.name] = tensor_of(model, array.name, array.shape).floats();
      }
    }
  }
  return loaded;
}

Plan make_plan(LoadedModel& model, const PlanSize& size, memory::data_type type, int threads,
               const dnnl::engine& engine) {
  return PlanMaker(model, size, type, threads, engine).make();
}

}  // namespace diml::onednn
