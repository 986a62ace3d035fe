#include "base/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <limits>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/float16.h"
#include "base/system_error.h"

namespace diml {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays on disk are little-endian");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kLongestHeader = 1 << 16;
constexpr std::size_t kMostDimensions = 32;
constexpr std::size_t kLongestText = 1 << 16;  // bytes of one word

struct TypeRow {
  const char* name;
  std::string_view descr;  // as NumPy writes it; single bytes have no order
  std::size_t bytes;
};
// In the order of ArrayType.
constexpr std::array kTypes = {
    TypeRow{"float32", "<f4", 4}, TypeRow{"float16", "<f2", 2}, TypeRow{"float64", "<f8", 8},
    TypeRow{"int64", "<i8", 8},   TypeRow{"int32", "<i4", 4},   TypeRow{"int16", "<i2", 2},
    TypeRow{"int8", "|i1", 1},    TypeRow{"uint32", "<u4", 4},  TypeRow{"uint16", "<u2", 2},
    TypeRow{"uint8", "|u1", 1},   TypeRow{"text", "", 0},
};

void append_utf8(std::string& text, std::uint32_t point) {
  const auto tail = [&](int shift) {
    text += static_cast<char>(0x80U | ((point >> shift) & 0x3fU));
  };
  if (point < 0x80) {
    text += static_cast<char>(point);
  } else if (point < 0x800) {
    text += static_cast<char>(0xc0U | (point >> 6));
    tail(0);
  } else if (point < 0x10000) {
    text += static_cast<char>(0xe0U | (point >> 12));
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xf0U | ((point >> 18) & 0x7U));
    tail(12);
    tail(6);
    tail(0);
  }
}

// The first character of the text, which is then without it.
std::uint32_t take_utf8(std::string_view& text) {
  constexpr std::uint32_t kReplacement = 0xfffd;
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t tail = first < 0x80              ? 0
                           : (first & 0xe0U) == 0xc0 ? 1
                           : (first & 0xf0U) == 0xe0 ? 2
                           : (first & 0xf8U) == 0xf0 ? 3
                                                     : text.size();
  std::uint32_t point = tail == 0 ? first : first & (0x3fU >> tail);
  for (std::size_t k = 1; k <= tail; ++k) {
    const auto next = k < text.size() ? static_cast<unsigned char>(text[k]) : 0U;
    if ((next & 0xc0U) != 0x80) {
      text.remove_prefix(1);
      return kReplacement;
    }
    point = point << 6 | (next & 0x3fU);
  }
  text.remove_prefix(tail + 1);
  return point;
}

// The header is a Python dictionary literal. Three keys are known; each value is found after its
// key.
std::string_view value_of(std::string_view header, std::string_view key) {
  const std::size_t at = header.find(key);
  if (at == std::string_view::npos) return {};
  header.remove_prefix(at + key.size());
  const std::size_t start = header.find_first_not_of(" :");
  return start == std::string_view::npos ? std::string_view{} : header.substr(start);
}

bool parse_shape(std::string_view text, std::vector<std::size_t>& shape) {
  if (text.empty() || text.front() != '(') return false;
  std::size_t position = 1;
  while (position < text.size() && text[position] != ')') {
    const char c = text[position];
    if (c == ' ' || c == ',') {
      ++position;
      continue;
    }
    if (c < '0' || c > '9' || shape.size() == kMostDimensions) return false;
    std::size_t extent = 0;
    for (; position < text.size() && text[position] >= '0' && text[position] <= '9'; ++position) {
      const std::size_t digit = static_cast<std::size_t>(text[position] - '0');
      if (extent > (std::numeric_limits<std::size_t>::max() - digit) / 10) return false;
      extent = extent * 10 + digit;
    }
    shape.push_back(extent);
  }
  return position < text.size();
}

// The number of elements, or nothing where it would not fit the address space.
bool multiply(const std::vector<std::size_t>& shape, std::size_t& product) {
  product = 1;
  for (const std::size_t extent : shape) {
    if (extent != 0 && product > (std::size_t{1} << 48) / extent) return false;
    product *= extent;
  }
  return true;
}

}  // namespace

std::size_t size_of(ArrayType type) { return kTypes[static_cast<std::size_t>(type)].bytes; }

bool is_float(ArrayType type) { return type <= ArrayType::float64; }

bool is_integer(ArrayType type) { return type > ArrayType::float64 && type < ArrayType::text; }

const char* name_of(ArrayType type) { return kTypes[static_cast<std::size_t>(type)].name; }

std::string shape_text(std::span<const std::size_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

NpyFile::NpyFile(std::string path) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe must not wait
  if (descriptor_ < 0) fail_to("be opened");
  try {
    parse_header();
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

NpyFile::~NpyFile() { ::close(descriptor_); }

void NpyFile::parse_header() {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) fail_to("be read");
  if (!S_ISREG(status.st_mode)) fail("is not a regular file; name a .npy file");
  const std::size_t file_bytes = static_cast<std::size_t>(status.st_size);

  std::array<unsigned char, 12> start{};
  if (file_bytes < start.size()) fail("is not a .npy file; write it with numpy.save");
  read_bytes(0, start.data(), start.size());
  if (std::memcmp(start.data(), kMagic.data(), kMagic.size()) != 0) {
    fail("is not a .npy file; write it with numpy.save");
  }
  const int version = start[6];
  if (version < 1 || version > 3) fail("has an unknown .npy version; write it with numpy.save");
  std::size_t header_bytes = start[8] | static_cast<std::size_t>(start[9]) << 8;
  std::size_t header_offset = 10;
  if (version >= 2) {
    header_bytes |= static_cast<std::size_t>(start[10]) << 16;
    header_bytes |= static_cast<std::size_t>(start[11]) << 24;
    header_offset = 12;
  }
  if (header_bytes > kLongestHeader || header_offset + header_bytes > file_bytes) {
    fail("is truncated in its header; write it again");
  }
  std::string header(header_bytes, '\0');
  read_bytes(header_offset, header.data(), header_bytes);
  data_offset_ = header_offset + header_bytes;

  parse_type(value_of(header, "'descr'"));
  if (!value_of(header, "'fortran_order'").starts_with("False")) {
    fail("is in Fortran order; convert it with numpy.ascontiguousarray");
  }
  if (!parse_shape(value_of(header, "'shape'"), shape_) || !multiply(shape_, count_)) {
    fail("has no readable shape; write it with numpy.save");
  }
  if (item_bytes_ > 1 && count_ > (std::size_t{1} << 58) / item_bytes_) {
    fail("has no readable shape; write it with numpy.save");
  }
  const std::size_t expected = data_offset_ + count_ * item_bytes_;
  if (file_bytes != expected) {
    fail("has " + std::to_string(file_bytes) + " bytes where its shape " + shape_text(shape_) +
         " needs " + std::to_string(expected) +
         (file_bytes < expected ? ": it is truncated, write it again" : ": write it again"));
  }
}

void NpyFile::read_bytes(std::size_t offset, void* out, std::size_t bytes) const {
  char* next = static_cast<char*>(out);
  while (bytes > 0) {
    const ssize_t got = ::pread(descriptor_, next, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_to("be read");
    if (got == 0) {
      throw Error(ErrorKind::conflict, path_ + ": became shorter while it was read: read it again");
    }
    next += got;
    offset += static_cast<std::size_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
}

void NpyFile::parse_type(std::string_view descr) {
  for (std::size_t k = 0; k + 1 < kTypes.size(); ++k) {
    const std::string_view type = kTypes[k].descr;
    if (!descr.starts_with('\'') || !descr.substr(1).starts_with(type) ||
        !descr.substr(1 + type.size()).starts_with('\''))
      continue;
    type_ = static_cast<ArrayType>(k);
    item_bytes_ = kTypes[k].bytes;
    return;
  }
  wide_text_ = descr.starts_with("'<U");
  if (wide_text_ || descr.starts_with("'|S")) {
    std::size_t length = 0;
    const char* end = descr.data() + descr.size();
    const auto [stop, error] = std::from_chars(descr.data() + 3, end, length);
    const std::size_t bytes = length * (wide_text_ ? sizeof(std::uint32_t) : 1);
    if (error == std::errc() && stop != end && *stop == '\'' && length > 0 &&
        length <= kLongestText && bytes <= kLongestText) {
      type_ = ArrayType::text;
      item_bytes_ = bytes;
      return;
    }
  }
  std::string shown(descr.substr(0, std::min<std::size_t>(descr.find(','), 16)));
  std::replace_if(
      shown.begin(), shown.end(), [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
  fail("has type " + shown +
       "; arrays are floats, integers or words: convert it with .astype(), such as "
       ".astype(numpy.float32), or .astype(str) for words");
}

template <typename Stored, typename Value, typename Convert>
void NpyFile::read_as(std::size_t first, std::span<Value> out, Convert convert) const {
  std::array<Stored, 4096> block;
  for (std::size_t done = 0; done < out.size();) {
    const std::size_t count = std::min(block.size(), out.size() - done);
    read_bytes(data_offset_ + (first + done) * sizeof(Stored), block.data(),
               count * sizeof(Stored));
    std::transform(block.begin(), block.begin() + static_cast<std::ptrdiff_t>(count),
                   out.begin() + static_cast<std::ptrdiff_t>(done), convert);
    done += count;
  }
}

void NpyFile::read_floats(std::size_t first, std::span<float> out) const {
  switch (type_) {
    case ArrayType::float32:
      return read_bytes(data_offset_ + first * sizeof(float), out.data(), out.size_bytes());
    case ArrayType::float16:
      return read_as<Float16>(first, out, [](Float16 value) { return to_float(value); });
    case ArrayType::float64:
      return read_as<double>(first, out, [](double value) { return static_cast<float>(value); });
    case ArrayType::int8:
      return read_as<std::int8_t>(first, out,
                                  [](std::int8_t value) { return static_cast<float>(value); });
    default:
      fail(std::string("holds ") + name_of(type_) + " where floats are wanted");
  }
}

void NpyFile::read_int64s(std::size_t first, std::span<std::int64_t> out) const {
  const auto widen = [](auto value) { return static_cast<std::int64_t>(value); };
  switch (type_) {
    case ArrayType::int64:
      return read_bytes(data_offset_ + first * sizeof(std::int64_t), out.data(), out.size_bytes());
    case ArrayType::int32:
      return read_as<std::int32_t>(first, out, widen);
    case ArrayType::int16:
      return read_as<std::int16_t>(first, out, widen);
    case ArrayType::int8:
      return read_as<std::int8_t>(first, out, widen);
    case ArrayType::uint32:
      return read_as<std::uint32_t>(first, out, widen);
    case ArrayType::uint16:
      return read_as<std::uint16_t>(first, out, widen);
    case ArrayType::uint8:
      return read_as<std::uint8_t>(first, out, widen);
    default:
      fail(std::string("holds ") + name_of(type_) +
           " where integers are wanted: convert it with .astype(numpy.int64)");
  }
}

void NpyFile::read_texts(std::size_t first, std::span<std::string> out) const {
  if (type_ != ArrayType::text) fail(std::string("holds ") + name_of(type_) + ", not words");
  std::vector<char> bytes(item_bytes_);
  for (std::size_t k = 0; k < out.size(); ++k) {
    read_bytes(data_offset_ + (first + k) * item_bytes_, bytes.data(), bytes.size());
    out[k].clear();
    if (!wide_text_) {
      out[k].assign(bytes.data(), ::strnlen(bytes.data(), bytes.size()));
      continue;
    }
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint32_t)) {
      std::uint32_t point = 0;
      std::memcpy(&point, &bytes[at], sizeof(point));
      if (point == 0) break;  // shorter words are padded
      append_utf8(out[k], point);
    }
  }
}

void NpyFile::fail(const std::string& why) const { throw Error(path_ + ": " + why); }

void NpyFile::fail_to(const std::string& what) const {
  throw system_error(path_ + ": cannot " + what, errno);
}

namespace {

// type: as NumPy writes it.
std::string header_of(const std::string& type, std::span<const std::size_t> shape) {
  std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (";
  for (const std::size_t extent : shape) header += std::to_string(extent) + ",";
  header += "), }";
  // The data begins on a multiple of 64 bytes; the padding ends in a newline.
  constexpr std::size_t kPreamble = 10;
  header.append(63 - (kPreamble + header.size()) % 64, ' ');
  header += '\n';
  std::string preamble(kMagic);
  preamble += {'\x01', '\x00', static_cast<char>(header.size() & 0xff),
               static_cast<char>(header.size() >> 8)};
  return preamble + header;
}

}  // namespace

std::string npy_header(ArrayType type, std::span<const std::size_t> shape) {
  return header_of(std::string(kTypes[static_cast<std::size_t>(type)].descr), shape);
}

std::string npy_text_header(std::size_t length, std::span<const std::size_t> shape) {
  return header_of("<U" + std::to_string(length), shape);
}

std::string npy_text(std::string_view word, std::size_t length) {
  std::string bytes;
  while (!word.empty() && bytes.size() < length * sizeof(std::uint32_t)) {
    const std::uint32_t point = take_utf8(word);
    for (int b = 0; b < 4; ++b) bytes += static_cast<char>(point >> (8 * b));
  }
  bytes.resize(length * sizeof(std::uint32_t), '\0');
  return bytes;
}

std::size_t text_length(std::string_view word) {
  std::size_t length = 0;
  for (; !word.empty(); ++length) take_utf8(word);
  return length;
}

NpyWriter::NpyWriter(std::string path, ArrayType type, std::span<const std::size_t> shape)
    : file_(std::move(path)), type_(type), missing_(1) {
  for (const std::size_t extent : shape) missing_ *= extent;
  file_.write(npy_header(type, shape));
}

void NpyWriter::append(std::span<const float> values) {
  if (type_ != ArrayType::float32 && type_ != ArrayType::float16) {
    throw Error(ErrorKind::internal, file_.path() + ": floats go into float32 or float16 arrays");
  }
  missing_ -= values.size();
  if (type_ == ArrayType::float32) {
    file_.write(values.data(), values.size_bytes());
    return;
  }
  std::vector<Float16> narrow(values.size());
  std::transform(values.begin(), values.end(), narrow.begin(), to_float16);
  file_.write(narrow.data(), narrow.size() * sizeof(Float16));
}

void NpyWriter::append(std::span<const std::int8_t> values) {
  if (type_ != ArrayType::int8) {
    throw Error(ErrorKind::internal, file_.path() + ": single bytes go into int8 arrays");
  }
  missing_ -= values.size();
  file_.write(values.data(), values.size_bytes());
}

void NpyWriter::append(std::span<const std::int64_t> values) {
  if (type_ != ArrayType::int64)
    throw Error(file_.path() + ": integers cannot be written to a float array");
  missing_ -= values.size();
  file_.write(values.data(), values.size_bytes());
}

void NpyWriter::commit() {
  if (missing_ != 0)
    throw Error(file_.path() + ": the number of written elements must be that of its shape");
  file_.commit();
}

}  // namespace diml
