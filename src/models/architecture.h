#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "diml/embedding.h"

namespace diml {

// Where a bottleneck halves the map: its first 1x1 (the original, Caffe and Keras) or its 3x3
// (torchvision). Weights trained in one form are wrong in the other. Other families have no stride
// to place.
enum class StridePlace : std::uint8_t { in_1x1, in_3x3 };
StridePlace stride_place_from(std::string_view name);
const char* name_of(StridePlace place);

enum class Activation : std::uint8_t { none, gelu, gelu_tanh, quick_gelu };

// The operations that networks are made of. Each names its arrays as the files of trained weights
// do: NAME.weight, NAME.bias. A value is a map [channels, height, width] or tokens [places, width]:
// the places of the map, row by row, behind the tokens that have no place.

// A convolution, the BatchNorm behind it where there is one, and ReLU.
struct Convolution {
  std::string name;  // of the kernel, "layer1.0.conv1"
  std::string norm;  // of the BatchNorm, "layer1.0.bn1"; empty for none
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  std::size_t kernel = 1;
  std::size_t stride = 1;
  bool bias = false;
  bool relu = false;

  // Patches side by side lie within the image; a window around each place overlaps its edge.
  std::size_t padding() const { return stride == kernel ? 0 : kernel / 2; }
};

// The maximum of 3 x 3 places, stride 2.
struct MaxPooling {};

// A map becomes tokens: a class token and registers before its places, and a position embedding
// that is interpolated where the map is not side x side.
struct Tokens {
  std::string class_token;  // arrays; empty for none
  std::string registers;
  std::string positions;
  std::size_t width = 0;
  std::size_t register_count = 0;
  std::size_t side = 0;
  bool positions_of_all = true;  // the tokens before the places have positions too

  std::size_t prefix() const { return (class_token.empty() ? 0 : 1) + register_count; }
  std::size_t position_count() const { return side * side + (positions_of_all ? prefix() : 0); }
};

struct LayerNorm {
  std::string name;
  std::size_t width = 0;
  double epsilon = 1e-6;
};

// activation(W x + b), multiplied by `scale` (LayerScale) where there is one; of every place.
struct Linear {
  std::string name;
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  Activation activation = Activation::none;
  std::string scale{};  // an array [outputs]
};

// Softmax attention. From one value, queries, keys and values side by side [places, 3 width]; or,
// with a second value, queries [1, width] from the first and keys and values [places, 2 width].
struct Attention {
  std::size_t heads = 1;
  std::size_t width = 0;
};

// SwiGLU: silu of the first half of the channels times the second half.
struct Gate {
  std::size_t width = 0;  // of the result
};

// The first token by itself.
struct FirstToken {};

// A learnt token, the same for every image.
struct LearntToken {
  std::string name;
  std::size_t width = 0;
};

using OperationKind = std::variant<Convolution, MaxPooling, Tokens, LayerNorm, Linear, Attention,
                                   Gate, FirstToken, LearntToken>;

// Value 0 is the pixels [3, height, width]; operation i gives value i + 1.
using Value = std::size_t;

struct Operation {
  OperationKind kind;
  Value source = 0;
  // Convolution and Linear: is added to the result, before ReLU. Attention: keys and values.
  std::optional<Value> second{};
  std::string tap{};  // where a part of the network ends: its name, "layer1.0"
};

// What an array is, which decides how it is drawn and whether it learns.
enum class ArrayRole : std::uint8_t {
  kernel,      // of a convolution
  matrix,      // of a linear layer
  bias,        // and the shift of a norm
  norm_scale,  // of a BatchNorm or a LayerNorm
  mean,        // statistics of BatchNorm: these never learn
  variance,
  token,        // tokens and position embeddings
  layer_scale,  // of a residual branch
};

struct ArraySpec {
  std::string name;
  std::vector<std::size_t> shape;
  ArrayRole role = ArrayRole::bias;
};

std::vector<ArraySpec> arrays_of(const Operation& operation);

// A network up to its last map, as data: inference, training, import, creation and tests walk it.
struct Architecture {
  std::string name;
  std::string about;    // one line for people
  std::string weights;  // where trained ones come from, and how far they were checked
  std::vector<Operation> operations;
  std::vector<ArraySpec> arrays;  // of all operations, in the order in which they are drawn
  Value map = 0;
  std::optional<Value> global{};       // [1, channels]; without it, the mean of the map
  Preprocessing preprocessing{};       // of photos, unless the weights come with another
  std::optional<std::size_t> patch{};  // sides of images are multiples of it

  // Appends an operation and its arrays; returns its value.
  Value add(Operation operation);
  std::size_t channels_of(Value value) const;
  std::size_t channels() const { return channels_of(map); }
};

// With the projection of the map, and of the global vector, at its end.
Architecture projected(Architecture architecture, std::size_t dim);

struct ValueShape {
  std::size_t channels = 0;
  std::size_t height = 0;
  std::size_t width = 0;
  std::size_t prefix = 0;  // tokens before the places
  bool tokens = false;     // else a map

  std::size_t places() const { return prefix + height * width; }
};

// Of every value for images of this size, the pixels first. Throws where the network cannot take
// such images.
std::vector<ValueShape> shapes_of(const Architecture& architecture, std::size_t height,
                                  std::size_t width);

// The part of the network that each operation belongs to: 0 for all up to the first tap, the stem,
// then one for each block, and what follows the last.
std::vector<std::size_t> parts_of(const Architecture& architecture);

// The last operation that needs each value; the number of operations for the results.
std::vector<std::size_t> last_uses(const Architecture& architecture);

// small: three short stages for CPUs and small images, a 7 x 7 map from 112 pixels.
const std::vector<std::string>& architecture_names();
// By one of these names, or as a description in words ("vit:width=64,depth=2,..."), which names of
// transformers stand for.
Architecture make_architecture(std::string_view name, StridePlace stride);

}  // namespace diml
