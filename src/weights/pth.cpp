#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/npy.h"
#include "checked.h"
#include "diml/error.h"
#include "pickle.h"
#include "zip.h"

// A zip archive NAME.zip holds NAME/data.pkl, which lists the contents, and NAME/data/KEY, the
// bytes of each storage. A tensor is a view of a storage: offset, shape, strides.

namespace diml {
namespace {

using weights::Bytes;
using weights::Pickle;
using weights::PickleValue;
using weights::shown;
using weights::Zip;
using Kind = PickleValue::Kind;

constexpr int kDeepest = 64;
constexpr std::size_t kLongestName = 1000;
// Tensors may share storages, and a dictionary may occur in several places: a small file could
// expand to terabytes. Real models share a storage between two or three names.
constexpr std::uint64_t kMostSharing = 16;

[[noreturn]] void fail_damaged(const std::string& name) {
  throw Error(ErrorKind::damaged, "has a tensor " + shown(name) +
                                      " that is inconsistent: the file is damaged, fetch it again");
}

std::vector<std::size_t> sizes_of(const PickleValue& list, const std::string& name) {
  std::vector<std::size_t> sizes;
  for (const PickleValue* item : list.items) {
    if (item->kind != Kind::integer || item->integer < 0) fail_damaged(name);
    sizes.push_back(static_cast<std::size_t>(item->integer));
  }
  return sizes;
}

// The strides of an array in C order.
std::vector<std::size_t> plain_strides(const std::vector<std::size_t>& shape) {
  std::vector<std::size_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

// The index of the view's last element, or nothing if it overflows.
std::optional<std::size_t> last_element(std::size_t offset, const std::vector<std::size_t>& shape,
                                        const std::vector<std::size_t>& strides) {
  std::size_t last = offset;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::size_t step = 0;
    if (__builtin_mul_overflow(shape[d] - 1, strides[d], &step) ||
        __builtin_add_overflow(last, step, &last)) {
      return std::nullopt;
    }
  }
  return last;
}

// Copies the elements of a view in C order. The bounds are already checked.
void gather(Bytes storage, std::size_t offset, const std::vector<std::size_t>& strides,
            Tensor& tensor) {
  const std::size_t size = size_of(tensor.type);
  const std::size_t dimensions = tensor.shape.size();
  std::vector<std::size_t> index(dimensions, 0);
  std::size_t from = offset;
  for (std::size_t to = 0; to < tensor.bytes.size(); to += size) {
    std::memcpy(&tensor.bytes[to], &storage[from * size], size);
    for (std::size_t d = dimensions; d-- > 0;) {
      from += strides[d];
      if (++index[d] < tensor.shape[d]) break;
      from -= strides[d] * tensor.shape[d];
      index[d] = 0;
    }
  }
}

class Collector {
 public:
  Collector(const Zip& zip, std::string prefix, std::size_t file_bytes, std::size_t pickle_bytes)
      : zip_(zip),
        prefix_(std::move(prefix)),
        bytes_left_(kMostSharing * file_bytes),
        visits_left_(kMostSharing * pickle_bytes) {}

  Weights collect(const PickleValue& root) {
    if (root.kind == Kind::tensor) {
      throw Error("holds one tensor without a name: save a dictionary, {\"name\": tensor}");
    }
    visit(root, 0);
    if (weights_.tensors.empty()) throw Error("has no tensors: save model.state_dict()");
    return std::move(weights_);
  }

 private:
  void visit(const PickleValue& value, int depth) {
    if (depth > kDeepest) {
      throw Error(ErrorKind::unsupported, "data.pkl is nested deeper than " +
                                              std::to_string(kDeepest) +
                                              " levels: save model.state_dict() alone");
    }
    if (value.kind == Kind::tensor) {
      spend(bytes_left_, name_.size());
      weights::add(weights_, name_, tensor_of(value));
    } else if (value.kind == Kind::dictionary) {
      for (std::size_t k = 0; k + 1 < value.items.size(); k += 2) {
        visit_below(*value.items[k], *value.items[k + 1], depth);
      }
    } else if (value.kind == Kind::list) {
      PickleValue key{.kind = Kind::integer, .type = {}, .integer = 0, .text = {}, .items = {}};
      for (const PickleValue* item : value.items) {
        visit_below(key, *item, depth);
        ++key.integer;
      }
    }
  }

  void visit_below(const PickleValue& key, const PickleValue& value, int depth) {
    spend(visits_left_, 1);
    if (value.kind != Kind::tensor && value.kind != Kind::dictionary && value.kind != Kind::list) {
      return;  // epochs, options, notes: not weights
    }
    if (key.kind != Kind::text && key.kind != Kind::integer) {
      throw Error(ErrorKind::unsupported,
                  "data.pkl has a dictionary whose keys are neither text nor integers: " +
                      std::string("save model.state_dict() alone"));
    }
    const std::size_t length = name_.size();
    // Checked before it is joined: a key of megabytes may occur a million times.
    if (length + key.text.size() > kLongestName) {
      throw Error(ErrorKind::unsupported, "data.pkl has names of more than " +
                                              std::to_string(kLongestName) +
                                              " characters: save model.state_dict() alone");
    }
    if (length > 0) name_ += '.';
    name_ += key.kind == Kind::text ? key.text : std::to_string(key.integer);
    visit(value, depth + 1);
    name_.resize(length);
  }

  static void spend(std::uint64_t& left, std::uint64_t amount) {
    if (amount > left) {
      throw Error(ErrorKind::unsupported, "shares its values more than " +
                                              std::to_string(kMostSharing) +
                                              "-fold: save clones of the tensors");
    }
    left -= amount;
  }

  Tensor tensor_of(const PickleValue& value) {
    const auto is = [&value](std::size_t k, Kind kind) { return value.items[k]->kind == kind; };
    if (value.items.size() < 4 || !is(0, Kind::storage) || !is(1, Kind::integer) ||
        !is(2, Kind::list) || !is(3, Kind::list) || value.items[1]->integer < 0) {
      fail_damaged(name_);
    }
    if (value.items.size() > 6 && !(is(6, Kind::dictionary) && value.items[6]->items.empty())) {
      throw Error(ErrorKind::unsupported,
                  "has a tensor " + shown(name_) +
                      " that is a conjugated or negated view: save a clone of it");
    }
    const PickleValue& source = *value.items[0];
    Tensor tensor{source.type, sizes_of(*value.items[2], name_), {}};
    const std::vector<std::size_t> strides = sizes_of(*value.items[3], name_);
    const std::size_t offset = static_cast<std::size_t>(value.items[1]->integer);
    const std::size_t size = size_of(tensor.type);
    if (strides.size() != tensor.shape.size()) fail_damaged(name_);
    const std::size_t needed = weights::bytes_needed(tensor.shape, tensor.type);
    const Bytes storage = storage_bytes(source);
    if (needed == 0) return tensor;
    if (needed > storage.size()) {
      throw Error("has a tensor " + shown(name_) + " of shape " + shape_text(tensor.shape) +
                  ", larger than its stored data: save a contiguous clone of it");
    }
    const std::optional<std::size_t> last = last_element(offset, tensor.shape, strides);
    if (!last || *last >= storage.size() / size) fail_damaged(name_);
    spend(bytes_left_, needed);
    if (strides == plain_strides(tensor.shape)) {
      const Bytes window = storage.subspan(offset * size, needed);
      tensor.bytes.assign(window.begin(), window.end());
    } else {
      tensor.bytes.resize(needed);
      gather(storage, offset, strides, tensor);
    }
    return tensor;
  }

  Bytes storage_bytes(const PickleValue& storage) const {
    const Bytes bytes = zip_.file(prefix_ + "/data/" + storage.text);
    const std::size_t size = size_of(storage.type);
    if (bytes.size() % size != 0 ||
        bytes.size() / size != static_cast<std::uint64_t>(storage.integer)) {
      throw Error(ErrorKind::damaged,
                  "has " + std::to_string(bytes.size()) + " bytes in data/" + shown(storage.text) +
                      " where " + std::to_string(storage.integer) + " elements of " +
                      name_of(storage.type) + " are promised: the file is damaged, fetch it again");
    }
    return bytes;
  }

  const Zip& zip_;
  std::string prefix_;
  std::uint64_t bytes_left_;
  std::uint64_t visits_left_;
  std::string name_;
  Weights weights_;
};

// The folder in the archive that contains everything.
std::string prefix_of(const Zip& zip) {
  constexpr std::string_view kProgram = "/data.pkl";
  for (const std::string& name : zip.names()) {
    if (name.ends_with(kProgram) && name.find('/') == name.size() - kProgram.size()) {
      return name.substr(0, name.size() - kProgram.size());
    }
  }
  throw Error("is a zip archive without data.pkl: it was not written by torch.save");
}

bool is_torchscript(const Zip& zip, const std::string& prefix) {
  const std::vector<std::string> names = zip.names();
  return zip.contains(prefix + "/constants.pkl") ||
         std::any_of(names.begin(), names.end(), [&prefix](const std::string& name) {
           return name.starts_with(prefix + "/code/");
         });
}

}  // namespace

Weights parse_pth(std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) throw Error("is empty");
  if (!weights::text_of(bytes).starts_with("PK")) {
    // A bare pickle starts with its protocol.
    if (bytes[0] == 0x80) {
      throw Error(ErrorKind::unsupported,
                  "is in the format of torch before 1.6: load it in torch and torch.save it again");
    }
    throw Error("is not a .pth file: write it with torch.save");
  }
  const Zip zip(bytes);
  const std::string prefix = prefix_of(zip);
  if (is_torchscript(zip, prefix)) {
    throw Error(ErrorKind::unsupported,
                "is a TorchScript program: it needs no import, name it as the model");
  }
  if (const std::string order = prefix + "/byteorder"; zip.contains(order)) {
    if (weights::text_of(zip.file(order)) != "little") {
      throw Error(ErrorKind::unsupported,
                  "is not little-endian: load it in torch on this machine and save it again");
    }
  }
  const Bytes program = zip.file(prefix + "/data.pkl");
  const Pickle pickle(program);
  return Collector(zip, prefix, bytes.size(), program.size()).collect(pickle.root());
}

Weights read_pth(const std::string& path) { return weights::read_with(parse_pth, path); }

}  // namespace diml
