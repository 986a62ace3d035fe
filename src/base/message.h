#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "diml/error.h"

namespace diml {

// Numbers, text and arrays as bytes, for another process of the same program.
class MessageWriter {
 public:
  template <typename T>
  void put(const T& value) {
    static_assert(std::is_arithmetic_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  template <typename T>
  void put(const std::vector<T>& values) {
    static_assert(std::is_arithmetic_v<T>);
    put(std::uint64_t{values.size()});
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  void put(const std::string& text) {
    put(std::uint64_t{text.size()});
    bytes_ += text;
  }

  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Reads them back, in the same order.
class MessageReader {
 public:
  explicit MessageReader(std::string_view bytes) : rest_(bytes) {}

  template <typename T>
  T get() {
    if constexpr (std::is_arithmetic_v<T>) {
      T value;
      std::memcpy(&value, taken(sizeof(T)).data(), sizeof(T));
      return value;
    } else if constexpr (std::is_same_v<T, std::string>) {
      return std::string(taken(get<std::uint64_t>()));
    } else {
      using Element = typename T::value_type;
      const auto count = get<std::uint64_t>();
      if (count > rest_.size() / sizeof(Element)) refuse();
      T values(count);
      const std::string_view bytes = taken(count * sizeof(Element));
      if (count > 0) std::memcpy(values.data(), bytes.data(), bytes.size());
      return values;
    }
  }
  bool at_end() const { return rest_.empty(); }

 private:
  [[noreturn]] static void refuse() {
    throw Error(ErrorKind::unsupported,
                "a message of another process is truncated: do all run the same version?");
  }
  std::string_view taken(std::size_t bytes) {
    if (bytes > rest_.size()) refuse();
    const std::string_view part = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return part;
  }

  std::string_view rest_;
};

}  // namespace diml
