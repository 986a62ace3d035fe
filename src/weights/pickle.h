#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "checked.h"

namespace diml::weights {

// A value of a pickle, read as data. Values refer to each other, in circles if the file says so;
// the Pickle owns them all.
struct PickleValue {
  enum class Kind : std::uint8_t {
    scalar,      // a number or bytes that nothing here needs: true, 1.5, 2**80, b"..."
    integer,     // integer
    text,        // text
    list,        // items; tuples and sets too
    dictionary,  // items: key, value, key, value ...
    global,      // text: the dotted name, one of the few that are allowed
    storage,     // type, text: its key, integer: its elements
    tensor,      // items: what torch._utils._rebuild_tensor_v2 is given
  };
  Kind kind = Kind::scalar;
  TensorType type = TensorType::float32;
  std::int64_t integer = 0;
  std::string text;
  std::vector<PickleValue*> items;
};

// The pickle that torch.save writes. A pickle is a program for a small stack machine; this machine
// knows how to build containers and scalars and to name a tensor's storage. It calls nothing: a
// name other than those that state dictionaries need ends the reading.
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
