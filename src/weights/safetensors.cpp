#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "base/npy.h"
#include "base/output_file.h"
#include "checked.h"
#include "diml/error.h"
#include "json_text.h"

// 8 bytes of length, a JSON header of that length, and the data of all tensors without gaps.

namespace diml {
namespace {

using nlohmann::json;
using weights::Bytes;
using weights::shown;

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kLongestHeader = 100'000'000;  // the format's own limit
constexpr int kDeepestHeader = 3;                    // header, tensor, its shape
constexpr const char* kMetadata = "__metadata__";

// In the order of TensorType.
constexpr std::array<std::string_view, 7> kTypes = {"F32", "F16", "BF16", "F64",
                                                    "I64", "I32", "U8"};

TensorType type_called(const std::string& dtype, const std::string& what) {
  const auto* const found = std::find(kTypes.begin(), kTypes.end(), dtype);
  if (found == kTypes.end()) {
    throw Error(ErrorKind::unsupported,
                what + " has type " + shown(dtype) +
                    ": F32, F16, BF16, F64, I64, I32 and U8 are read, convert it to one of them");
  }
  return static_cast<TensorType>(found - kTypes.begin());
}

struct Entry {
  std::string name;
  Tensor tensor;  // without its bytes
  std::size_t begin = 0;
  std::size_t end = 0;
};

// Every byte of the data belongs to exactly one tensor: no gaps, no overlaps.
void expect_no_gap_and_no_overlap(std::vector<Entry>& entries, std::size_t data_bytes) {
  std::sort(entries.begin(), entries.end(), [](const Entry& x, const Entry& y) {
    return std::pair(x.begin, x.end) < std::pair(y.begin, y.end);
  });
  std::size_t covered = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != covered) {
      throw Error(ErrorKind::damaged, "has tensor " + shown(entry.name) + " at byte " +
                                          std::to_string(entry.begin) + " of the data where " +
                                          std::to_string(covered) +
                                          " is next: it is damaged, write it again");
    }
    covered = entry.end;
  }
  if (covered != data_bytes) {
    throw Error(ErrorKind::damaged,
                "has " + std::to_string(data_bytes) + " bytes of data where its tensors need " +
                    std::to_string(covered) + ": it is damaged, fetch it again");
  }
}

std::map<std::string, std::string> metadata_of(const json& found) {
  if (!found.is_object()) throw Error(ErrorKind::damaged, "has metadata that is not an object");
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : found.items()) {
    if (!value.is_string())
      throw Error(ErrorKind::damaged, "has metadata " + shown(key) + " that is not text");
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

Entry entry_of(const std::string& name, const json& found, std::size_t data_bytes) {
  const std::string what = "tensor " + shown(name);
  Tensor tensor;
  tensor.type = type_called(weights::text_member(found, "dtype", what), what);
  tensor.shape = weights::sizes_member(found, "shape", what);
  const std::vector<std::size_t> offsets = weights::sizes_member(found, "data_offsets", what);
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data_bytes) {
    throw Error(
        ErrorKind::damaged,
        what + " lies outside of the data: the file is truncated or damaged, " + "fetch it again");
  }
  const std::size_t needed = weights::bytes_needed(tensor.shape, tensor.type);
  if (offsets[1] - offsets[0] != needed) {
    throw Error(ErrorKind::damaged, what + " has " + std::to_string(offsets[1] - offsets[0]) +
                                        " bytes where its shape " + shape_text(tensor.shape) +
                                        " needs " + std::to_string(needed) + ": write it again");
  }
  return {name, std::move(tensor), offsets[0], offsets[1]};
}

std::string header_of(const Weights& model) {
  json header = json::object();
  if (!model.metadata.empty()) header[kMetadata] = model.metadata;
  std::size_t offset = 0;
  for (const auto& [name, tensor] : model.tensors) {
    if (name == kMetadata) throw Error("a tensor cannot be called __metadata__: rename it");
    const std::size_t bytes = weights::bytes_needed(tensor.shape, tensor.type);
    if (tensor.bytes.size() != bytes) {
      throw Error("tensor " + shown(name) + " has " + std::to_string(tensor.bytes.size()) +
                  " bytes where its shape " + shape_text(tensor.shape) + " needs " +
                  std::to_string(bytes));
    }
    header[name] = {{"dtype", kTypes[static_cast<std::size_t>(tensor.type)]},
                    {"shape", tensor.shape},
                    {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  try {
    std::string text = header.dump();
    text.append((kLengthBytes - text.size() % kLengthBytes) % kLengthBytes, ' ');
    if (text.size() > kLongestHeader) throw Error("has more names than safetensors can hold");
    return text;
  } catch (const json::exception&) {
    throw Error("a name or metadata is not UTF-8: rename it");
  }
}

}  // namespace

Weights parse_safetensors(std::span<const std::uint8_t> bytes) {
  const auto length = weights::little_endian<std::uint64_t>(bytes, 0);
  if (length > kLongestHeader) {
    throw Error("is not a safetensors file: its header would have " + std::to_string(length) +
                " bytes");
  }
  const Bytes text = weights::part(bytes, kLengthBytes, length);
  const Bytes data = bytes.subspan(kLengthBytes + length);
  const json header = weights::parse_json(text, kDeepestHeader, "its header");
  if (!header.is_object())
    throw Error("is not a safetensors file: its header is not a JSON object");
  Weights result;
  std::vector<Entry> entries;
  for (const auto& [name, found] : header.items()) {
    if (name == kMetadata) {
      result.metadata = metadata_of(found);
    } else {
      entries.push_back(entry_of(name, found, data.size()));
    }
  }
  // Checked before anything is copied: overlapping tensors could take more memory than the file has
  // bytes.
  expect_no_gap_and_no_overlap(entries, data.size());
  for (Entry& entry : entries) {
    const Bytes of_it = data.subspan(entry.begin, entry.end - entry.begin);
    entry.tensor.bytes.assign(of_it.begin(), of_it.end());
    weights::add(result, std::move(entry.name), std::move(entry.tensor));
  }
  return result;
}

Weights read_safetensors(const std::string& path) {
  return weights::read_with(parse_safetensors, path);
}

void write_safetensors(const std::string& path, const Weights& model) {
  std::string header;
  try {
    header = header_of(model);
  } catch (const Error& error) {
    throw with_context(error, path + ": ");
  }
  OutputFile file(path);
  const std::uint64_t length = header.size();
  file.write(&length, kLengthBytes);
  file.write(header);
  for (const auto& [name, tensor] : model.tensors) {
    file.write(tensor.bytes.data(), tensor.bytes.size());
  }
  file.commit();
}

}  // namespace diml
