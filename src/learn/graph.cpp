#include "graph.h"

#include <cmath>

#include "models/position_embedding.h"

namespace diml {
namespace {

std::int64_t dim(std::size_t value) { return static_cast<std::int64_t>(value); }

torch::Tensor activated(const torch::Tensor& values, Activation activation) {
  constexpr double kQuick = 1.702;
  switch (activation) {
    case Activation::gelu:
      return torch::gelu(values);
    case Activation::gelu_tanh:
      return torch::gelu(values, "tanh");
    case Activation::quick_gelu:
      return values * torch::sigmoid(kQuick * values);
    case Activation::none:
      break;
  }
  return values;
}

// queries [B, H, N, d], keys and values [B, H, M, d] to [B, N, H d].
torch::Tensor attended(const torch::Tensor& queries, const torch::Tensor& keys,
                       const torch::Tensor& values) {
#if TORCH_VERSION_MAJOR >= 2
  const torch::Tensor result = at::scaled_dot_product_attention(queries, keys, values);
#else
  const double scale = 1.0 / std::sqrt(static_cast<double>(queries.size(3)));
  const torch::Tensor weights =
      torch::softmax(torch::matmul(queries * scale, keys.transpose(2, 3)), 3);
  const torch::Tensor result = torch::matmul(weights, values);
#endif
  return result.transpose(1, 2).flatten(2);
}

// One pass over the operations for a batch.
class GraphRun {
 public:
  GraphRun(const Architecture& architecture, const torch::Tensor& pixels,
           const Operators& operators)
      : architecture_(architecture),
        operators_(operators),
        shapes_(shapes_of(architecture, static_cast<std::size_t>(pixels.size(2)),
                          static_cast<std::size_t>(pixels.size(3)))),
        values_(shapes_.size()) {
    values_[0] = pixels;
  }

  FeatureMap run(const TensorTap& tap);

 private:
  torch::Tensor result(const Convolution& layer, const Operation& operation) const {
    Finish finish{.relu = layer.relu};
    if (operation.second) finish.shortcut = values_[*operation.second];
    return operators_.convolve(layer, source(operation), finish);
  }
  torch::Tensor result(const MaxPooling& /*pooling*/, const Operation& operation) const {
    return torch::max_pool2d(source(operation), 3, 2, 1);
  }
  torch::Tensor result(const Tokens& tokens, const Operation& operation) const;
  torch::Tensor result(const LayerNorm& norm, const Operation& operation) const {
    return torch::layer_norm(source(operation), {dim(norm.width)}, array(norm.name + ".weight"),
                             array(norm.name + ".bias"), norm.epsilon);
  }
  torch::Tensor result(const Linear& linear, const Operation& operation) const;
  torch::Tensor result(const Attention& attention, const Operation& operation) const;
  torch::Tensor result(const Gate& /*gate*/, const Operation& operation) const {
    const std::vector<torch::Tensor> halves = source(operation).chunk(2, -1);
    return torch::silu(halves[0]) * halves[1];
  }
  torch::Tensor result(const FirstToken& /*token*/, const Operation& operation) const {
    return source(operation).narrow(1, 0, 1);
  }
  torch::Tensor result(const LearntToken& token, const Operation& operation) const {
    return array(token.name).expand({source(operation).size(0), -1, -1});
  }

  const torch::Tensor& source(const Operation& operation) const {
    return values_[operation.source];
  }
  torch::Tensor array(const std::string& name) const { return operators_.array(name); }
  torch::Tensor positions_of(const Tokens& tokens, const torch::Tensor& map) const;

  const Architecture& architecture_;
  const Operators& operators_;
  std::vector<ValueShape> shapes_;
  std::vector<torch::Tensor> values_;
};

// [1, H * W, C], interpolated where the network was trained on another size.
torch::Tensor GraphRun::positions_of(const Tokens& tokens, const torch::Tensor& map) const {
  torch::Tensor positions = array(tokens.positions);
  if (tokens.positions_of_all) {
    positions = positions.narrow(1, dim(tokens.prefix()), dim(tokens.side * tokens.side));
  }
  const std::int64_t side = dim(tokens.side);
  if (map.size(2) == side && map.size(3) == side) return positions;
  const auto resampling = [&](std::int64_t to) {
    return torch::tensor(bicubic_matrix(tokens.side, static_cast<std::size_t>(to)))
        .view({to, side})
        .to(positions.options());
  };
  const torch::Tensor down =
      torch::matmul(resampling(map.size(2)), positions.reshape({side, side * dim(tokens.width)}));
  return torch::matmul(resampling(map.size(3)), down.view({map.size(2), side, dim(tokens.width)}))
      .reshape({1, map.size(2) * map.size(3), dim(tokens.width)});
}

torch::Tensor GraphRun::result(const Tokens& tokens, const Operation& operation) const {
  const torch::Tensor& map = source(operation);
  const torch::Tensor places = map.flatten(2).transpose(1, 2) + positions_of(tokens, map);
  std::vector<torch::Tensor> parts;
  const auto add = [&](const std::string& name) {
    const std::int64_t first = dim(parts.empty() ? 0 : 1);
    torch::Tensor part = array(name);
    if (tokens.positions_of_all) {
      part = part + array(tokens.positions).narrow(1, first, part.size(1));
    }
    parts.push_back(part.expand({map.size(0), -1, -1}));
  };
  if (!tokens.class_token.empty()) add(tokens.class_token);
  if (tokens.register_count > 0) add(tokens.registers);
  parts.push_back(places);
  return torch::cat(parts, 1);
}

torch::Tensor GraphRun::result(const Linear& linear, const Operation& operation) const {
  const torch::Tensor& from = source(operation);
  const torch::Tensor matrix = array(linear.name + ".weight");
  const torch::Tensor bias = array(linear.name + ".bias");
  if (from.dim() == 4) {  // a map
    return torch::conv2d(from, matrix.unsqueeze(-1).unsqueeze(-1), bias);
  }
  torch::Tensor values = activated(torch::linear(from, matrix, bias), linear.activation);
  if (!linear.scale.empty()) values = values * array(linear.scale);
  if (!operation.second) return values;
  if (operators_.branch) values = operators_.branch(linear.name, values);
  return values + values_[*operation.second];
}

torch::Tensor GraphRun::result(const Attention& attention, const Operation& operation) const {
  // [B, N, parts C] to parts of [B, H, N, d].
  const auto split = [&](const torch::Tensor& rows) {
    const std::int64_t parts = rows.size(2) / dim(attention.width);
    return rows.view({rows.size(0), rows.size(1), parts, dim(attention.heads), -1})
        .permute({2, 0, 3, 1, 4})
        .unbind(0);
  };
  const std::vector<torch::Tensor> first = split(source(operation));
  if (!operation.second) return attended(first[0], first[1], first[2]);
  const std::vector<torch::Tensor> second = split(values_[*operation.second]);
  return attended(first[0], second[0], second[1]);
}

FeatureMap GraphRun::run(const TensorTap& tap) {
  const std::vector<std::size_t> last = last_uses(architecture_);
  for (std::size_t number = 0; number < architecture_.operations.size(); ++number) {
    const Operation& operation = architecture_.operations[number];
    torch::Tensor& made = values_[number + 1];
    made = std::visit([&](const auto& kind) { return result(kind, operation); }, operation.kind);
    if (tap && !operation.tap.empty()) {
      tap(operation.tap, made.dim() == 4 ? made : made.transpose(1, 2).unsqueeze(2));
    }
    for (std::size_t value = 0; value <= number; ++value) {
      if (last[value] == number) values_[value] = torch::Tensor();
    }
  }
  FeatureMap output{values_[architecture_.map]};
  const ValueShape& shape = shapes_[architecture_.map];
  if (shape.tokens) {
    output.map = output.map.narrow(1, dim(shape.prefix), dim(shape.height * shape.width))
                     .transpose(1, 2)
                     .reshape({output.map.size(0), dim(shape.channels), dim(shape.height),
                               dim(shape.width)});
  }
  if (architecture_.global) output.global = values_[*architecture_.global].flatten(1);
  return output;
}

}  // namespace

torch::Tensor finished(torch::Tensor map, const Finish& finish) {
  if (finish.shortcut.defined()) map.add_(finish.shortcut);
  return finish.relu ? map.relu_() : map;
}

FeatureMap run_graph(const Architecture& architecture, const torch::Tensor& pixels,
                     const Operators& operators, const TensorTap& tap) {
  return GraphRun(architecture, pixels, operators).run(tap);
}

}  // namespace diml
