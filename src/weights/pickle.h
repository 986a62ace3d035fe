#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "checked.h"

namespace diml::weights {

// A value of a pickle, read as data. Values refer to each other, possibly in cycles; the Pickle
// owns all of them.
struct PickleValue {
  enum class Kind : std::uint8_t {
    scalar,      // a number or bytes that are not needed: true, 1.5, 2**80, b"..."
    integer,     // integer
    text,        // text
    list,        // items; tuples and sets too
    dictionary,  // items: key, value, key, value ...
    global,      // text: the dotted name, one of the few that are allowed
    storage,     // type, text: its key, integer: its elements
    tensor,      // items: the arguments of torch._utils._rebuild_tensor_v2
  };
  Kind kind = Kind::scalar;
  TensorType type = TensorType::float32;
  std::int64_t integer = 0;
  std::string text;
  std::vector<PickleValue*> items;
};

// The pickle that torch.save writes. A pickle is a program for a small stack machine; this machine
// builds containers and scalars and references to a tensor's storage. It never calls a function:
// any name that state dictionaries do not need is an error.
class Pickle {
 public:
  explicit Pickle(Bytes program);

  const PickleValue& root() const { return *root_; }

 private:
  friend class PickleMachine;
  std::deque<PickleValue> values_;
  const PickleValue* root_ = nullptr;
};

}  // namespace diml::weights
