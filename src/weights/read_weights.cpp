#include <filesystem>

#include "base/input_file.h"
#include "checked.h"
#include "diml/error.h"

namespace diml {
namespace {

using weights::Bytes;

// A header of a possible length that starts with a brace. Checked first: text and zip archives
// cannot be confused with it, because their first 8 bytes are too large a number.
bool looks_like_safetensors(Bytes bytes) {
  return bytes.size() > 8 && bytes[8] == '{' &&
         weights::little_endian<std::uint64_t>(bytes, 0) <= (std::uint64_t{1} << 32);
}

}  // namespace

Weights read_weights(const std::string& path) {
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown)) {
    const std::string model = (std::filesystem::path(path) / "model.json").string();
    if (std::filesystem::exists(model, unknown)) return read_tfjs(model);
    throw Error(ErrorKind::not_found,
                path + ": is a folder without model.json: name the file with the weights");
  }
  const std::vector<std::uint8_t> bytes = read_file(path);
  try {
    if (looks_like_safetensors(bytes)) return parse_safetensors(bytes);
    // parse_pth refuses files of old torch versions, with the remedy.
    if (weights::text_of(bytes).starts_with("PK") || (!bytes.empty() && bytes[0] == 0x80)) {
      return parse_pth(bytes);
    }
  } catch (const Error& error) {
    throw with_context(error, path + ": ");
  }
  if (weights::text_of(bytes).starts_with("{")) return read_tfjs(path);
  throw Error(ErrorKind::unsupported,
              path + ": has an unknown format: safetensors, .pth of torch.save and model.json of " +
                  "TensorFlow.js are supported");
}

}  // namespace diml
