#pragma once

#include <string>
#include <vector>

#include "models/model.h"

namespace diml {

// Every array that a model of this shape has, without the projection's.
std::vector<std::string> expected_tensors(const Model& model);

// Throws, by name, when an array is missing or has the wrong shape.
void check_tensors(const Model& model);

// Keras' names and layouts (res2a_branch2a/kernel, HWIO) into torchvision's; the biases of
// convolutions move into the BatchNorm after them.
std::map<std::string, Tensor> from_keras(const std::map<std::string, Tensor>& tensors);

// Two names of the same array in one file.
[[noreturn]] void refuse_several(const std::string& one, const std::string& other);

}  // namespace diml
