#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace diml::test {

// Archives and pickles written by hand, including those that torch never writes and that must be
// refused.

template <class T>
std::string raw(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

using Files = std::vector<std::pair<std::string, std::string>>;

inline std::string zip(const Files& files, const std::string& comment = "") {
  std::string body;
  std::string directory;
  for (const auto& [name, data] : files) {
    const auto size = static_cast<std::uint32_t>(data.size());
    const std::string sizes = raw(size) + raw(size) + raw(static_cast<std::uint16_t>(name.size())) +
                              raw(std::uint16_t{0});
    directory += "PK\1\2" + std::string(16, '\0') + sizes + std::string(10, '\0') +
                 raw(static_cast<std::uint32_t>(body.size())) + name;
    body += "PK\3\4" + std::string(14, '\0') + sizes + name + data;
  }
  const auto count = static_cast<std::uint16_t>(files.size());
  return body + directory + "PK\5\6" + std::string(4, '\0') + raw(count) + raw(count) +
         raw(static_cast<std::uint32_t>(directory.size())) +
         raw(static_cast<std::uint32_t>(body.size())) +
         raw(static_cast<std::uint16_t>(comment.size())) + comment;
}

namespace pickle {

inline std::string text(const std::string& value) {
  return "X" + raw(static_cast<std::uint32_t>(value.size())) + value;
}
inline std::string integer(std::int64_t value) { return "\x8a\x08" + raw(value); }
inline std::string tuple(const std::string& items) { return "(" + items + "t"; }
inline std::string integers(const std::vector<std::int64_t>& values) {
  std::string items;
  for (const std::int64_t value : values) items += integer(value);
  return tuple(items);
}
inline std::string global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
inline std::string dictionary(const std::string& items) { return "}(" + items + "u"; }
inline std::string program(const std::string& value) { return "\x80\x02" + value + "."; }

struct Window {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  std::int64_t offset = 0;
  std::int64_t stored = 4;  // elements of the storage, as declared
  std::string key = "0";
  std::string type = "FloatStorage";
  std::string more = "\x89}";  // requires_grad, hooks
};

inline std::string tensor(const Window& window) {
  const std::string storage = tuple(text("storage") + global("torch", window.type) +
                                    text(window.key) + text("cpu") + integer(window.stored)) +
                              "Q";
  return global("torch._utils", "_rebuild_tensor_v2") +
         tuple(storage + integer(window.offset) + integers(window.shape) +
               integers(window.strides) + window.more) +
         "R";
}

}  // namespace pickle

}  // namespace diml::test
