#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/output_file.h"

namespace diml {

// The array types that come as .npy, little-endian, C order. We write float32, float16, int8,
// int64 and words.
enum class ArrayType : std::uint8_t {
  float32,
  float16,
  float64,
  int64,
  int32,
  int16,
  int8,
  uint32,
  uint16,
  uint8,
  text,  // NumPy's U and S: words of a fixed length
};
std::size_t size_of(ArrayType type);  // 0 for text
bool is_float(ArrayType type);
bool is_integer(ArrayType type);

const char* name_of(ArrayType type);

// "[60502, 16, 128]": how shapes are written in messages.
std::string shape_text(std::span<const std::size_t> shape);

// A .npy file open for reading. The header and the file's length are checked on opening, so a
// truncated file is refused before anything is computed from it.
class NpyFile {
 public:
  explicit NpyFile(std::string path);
  ~NpyFile();
  NpyFile(const NpyFile&) = delete;
  NpyFile& operator=(const NpyFile&) = delete;

  const std::string& path() const { return path_; }
  ArrayType type() const { return type_; }
  const std::vector<std::size_t>& shape() const { return shape_; }
  std::size_t count() const { return count_; }  // elements in all

  // Elements [first, first + out.size()) in C order. Floats of other widths and int8 are
  // converted, integers widened; words are UTF-8.
  void read_floats(std::size_t first, std::span<float> out) const;
  void read_int64s(std::size_t first, std::span<std::int64_t> out) const;
  void read_texts(std::size_t first, std::span<std::string> out) const;

 private:
  [[noreturn]] void fail(const std::string& why) const;
  [[noreturn]] void fail_to(const std::string& what) const;  // by errno
  void parse_header();
  void parse_type(std::string_view descr);
  void read_bytes(std::size_t offset, void* out, std::size_t bytes) const;
  // A block at a time.
  template <typename Stored, typename Value, typename Convert>
  void read_as(std::size_t first, std::span<Value> out, Convert convert) const;

  std::string path_;
  int descriptor_ = -1;
  ArrayType type_ = ArrayType::float32;
  std::size_t item_bytes_ = 4;
  bool wide_text_ = false;  // UCS-4, not bytes
  std::vector<std::size_t> shape_;
  std::size_t count_ = 0;
  std::size_t data_offset_ = 0;
};

// The start of a .npy file: 128 bytes for every shape of up to three dimensions.
std::string npy_header(ArrayType type, std::span<const std::size_t> shape);

// The same for words (NumPy's U) of up to `length` characters.
std::string npy_text_header(std::size_t length, std::span<const std::size_t> shape);
// One of them, padded. What is not UTF-8 becomes the replacement character.
std::string npy_text(std::string_view word, std::size_t length);
std::size_t text_length(std::string_view word);  // in characters

// A .npy file written front to back; appears under its name on commit().
class NpyWriter {
 public:
  NpyWriter(std::string path, ArrayType type, std::span<const std::size_t> shape);

  void append(std::span<const float> values);
  void append(std::span<const std::int8_t> values);
  void append(std::span<const std::int64_t> values);
  void commit();  // throws when fewer or more elements were appended than the shape has

 private:
  OutputFile file_;
  ArrayType type_;
  std::size_t missing_;
};

}  // namespace diml
