#include "models/architecture.h"

#include <algorithm>
#include <array>

#include "base/nearest_name.h"
#include "diml/error.h"
#include "families.h"

namespace diml {
namespace {

const std::array kFamilies = {
    Family{resnet::names, resnet::knows, resnet::make},
    Family{vit::names, vit::knows, vit::make},
};

template <typename... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <typename... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

void add_affine(std::vector<ArraySpec>& arrays, const std::string& name, std::size_t width) {
  arrays.push_back({name + ".weight", {width}, ArrayRole::norm_scale});
  arrays.push_back({name + ".bias", {width}, ArrayRole::bias});
}

std::size_t size_after(std::size_t size, std::size_t kernel, std::size_t stride,
                       std::size_t padding) {
  const std::size_t padded = size + 2 * padding;
  return padded < kernel ? 0 : (padded - kernel) / stride + 1;
}

void expect_whole_patches(const Architecture& architecture, std::size_t side) {
  const std::size_t patch = architecture.patch.value_or(1);
  if (side % patch == 0 && side > 0) return;
  const std::size_t lower = std::max(patch, side / patch * patch);
  throw Error(architecture.name + " cuts photos into patches of " + std::to_string(patch) +
              " pixels: a crop of " + std::to_string(side) + " does not fit, " +
              std::to_string(lower) + " and " + std::to_string(lower + patch) + " do");
}

ValueShape shape_after(const Operation& operation, const std::vector<ValueShape>& known) {
  const ValueShape source = known[operation.source];
  return std::visit(
      Overloaded{
          [&](const Convolution& c) {
            return ValueShape{c.outputs, size_after(source.height, c.kernel, c.stride, c.padding()),
                              size_after(source.width, c.kernel, c.stride, c.padding())};
          },
          [&](const MaxPooling&) {
            return ValueShape{source.channels, size_after(source.height, 3, 2, 1),
                              size_after(source.width, 3, 2, 1)};
          },
          [&](const Tokens& tokens) {
            return ValueShape{tokens.width, source.height, source.width, tokens.prefix(), true};
          },
          [&](const LayerNorm&) { return source; },
          [&](const Linear& linear) {
            ValueShape shape = source;
            shape.channels = linear.outputs;
            return shape;
          },
          [&](const Attention& attention) {
            ValueShape shape = source;
            shape.channels = attention.width;
            return shape;
          },
          [&](const Gate& gate) {
            ValueShape shape = source;
            shape.channels = gate.width;
            return shape;
          },
          [&](const FirstToken&) {
            return ValueShape{source.channels, 1, 1, 0, true};
          },
          [&](const LearntToken& token) {
            return ValueShape{token.width, 1, 1, 0, true};
          },
      },
      operation.kind);
}

}  // namespace

StridePlace stride_place_from(std::string_view name) {
  if (name == "1x1") return StridePlace::in_1x1;
  if (name == "3x3") return StridePlace::in_3x3;
  throw Error("the stride is in the '1x1' (Caffe, Keras) or in the '3x3' (torchvision), not in '" +
              std::string(name) + "'");
}

const char* name_of(StridePlace place) { return place == StridePlace::in_1x1 ? "1x1" : "3x3"; }

std::vector<ArraySpec> arrays_of(const Operation& operation) {
  std::vector<ArraySpec> arrays;
  std::visit(
      Overloaded{
          [&](const Convolution& c) {
            arrays.push_back(
                {c.name + ".weight", {c.outputs, c.inputs, c.kernel, c.kernel}, ArrayRole::kernel});
            if (c.bias) arrays.push_back({c.name + ".bias", {c.outputs}, ArrayRole::bias});
            if (c.norm.empty()) return;
            add_affine(arrays, c.norm, c.outputs);
            arrays.push_back({c.norm + ".running_mean", {c.outputs}, ArrayRole::mean});
            arrays.push_back({c.norm + ".running_var", {c.outputs}, ArrayRole::variance});
          },
          [&](const Tokens& t) {
            if (!t.class_token.empty()) {
              arrays.push_back({t.class_token, {1, 1, t.width}, ArrayRole::token});
            }
            if (t.register_count > 0) {
              arrays.push_back({t.registers, {1, t.register_count, t.width}, ArrayRole::token});
            }
            arrays.push_back({t.positions, {1, t.position_count(), t.width}, ArrayRole::token});
          },
          [&](const LayerNorm& norm) { add_affine(arrays, norm.name, norm.width); },
          [&](const Linear& linear) {
            arrays.push_back(
                {linear.name + ".weight", {linear.outputs, linear.inputs}, ArrayRole::matrix});
            arrays.push_back({linear.name + ".bias", {linear.outputs}, ArrayRole::bias});
            if (!linear.scale.empty()) {
              arrays.push_back({linear.scale, {linear.outputs}, ArrayRole::layer_scale});
            }
          },
          [&](const LearntToken& token) {
            arrays.push_back({token.name, {1, 1, token.width}, ArrayRole::token});
          },
          [](const auto&) {},  // the others learn nothing
      },
      operation.kind);
  return arrays;
}

Value Architecture::add(Operation operation) {
  const std::vector<ArraySpec> own = arrays_of(operation);
  arrays.insert(arrays.end(), own.begin(), own.end());
  operations.push_back(std::move(operation));
  return operations.size();
}

std::size_t Architecture::channels_of(Value value) const {
  if (value == 0) return 3;
  const Operation& operation = operations[value - 1];
  const auto of_source = [&] { return channels_of(operation.source); };
  return std::visit(Overloaded{
                        [](const Convolution& c) { return c.outputs; },
                        [](const Linear& linear) { return linear.outputs; },
                        [&](const MaxPooling&) { return of_source(); },
                        [&](const FirstToken&) { return of_source(); },
                        [](const auto& other) { return other.width; },
                    },
                    operation.kind);
}

Architecture projected(Architecture architecture, std::size_t dim) {
  Linear projection{"projection", architecture.channels(), dim};
  architecture.map = architecture.add({.kind = projection, .source = architecture.map});
  if (architecture.global) {
    // The same arrays.
    architecture.operations.push_back({.kind = projection, .source = *architecture.global});
    architecture.global = architecture.operations.size();
  }
  return architecture;
}

std::vector<ValueShape> shapes_of(const Architecture& architecture, std::size_t height,
                                  std::size_t width) {
  expect_whole_patches(architecture, height);
  expect_whole_patches(architecture, width);
  std::vector<ValueShape> shapes = {{3, height, width}};
  for (const Operation& operation : architecture.operations) {
    shapes.push_back(shape_after(operation, shapes));
  }
  return shapes;
}

std::vector<std::size_t> parts_of(const Architecture& architecture) {
  std::vector<std::size_t> parts;
  std::size_t part = 0;
  for (const Operation& operation : architecture.operations) {
    parts.push_back(part);
    if (!operation.tap.empty()) ++part;
  }
  return parts;
}

std::vector<std::size_t> last_uses(const Architecture& architecture) {
  const std::size_t count = architecture.operations.size();
  std::vector<std::size_t> last(count + 1, 0);
  for (std::size_t i = 0; i < count; ++i) {
    const Operation& operation = architecture.operations[i];
    last[operation.source] = i;
    if (operation.second) last[*operation.second] = i;
  }
  last[architecture.map] = count;
  if (architecture.global) last[*architecture.global] = count;
  return last;
}

const std::vector<std::string>& architecture_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const Family& family : kFamilies) {
      for (std::string& name : family.names()) list.push_back(std::move(name));
    }
    return list;
  }();
  return names;
}

Architecture make_architecture(std::string_view name, StridePlace stride) {
  for (const Family& family : kFamilies) {
    if (family.knows(name)) return family.make(name, stride);
  }
  throw Error("there is no architecture '" + std::string(name) + "': the nearest is " +
              nearest_name(name, architecture_names()));
}

}  // namespace diml
