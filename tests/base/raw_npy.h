#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace diml::test {

// The bytes of any .npy file, including those that the library never writes and must refuse.
// Written by hand, so that reading is tested against the format and not against the library's own
// writer.
inline std::string npy_with_header(std::string header, const std::string& data, int version = 1) {
  const std::size_t preamble = version == 1 ? 10 : 12;
  header.append(63 - (preamble + header.size()) % 64, ' ');
  header += '\n';
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(version);
  bytes += '\0';
  for (std::size_t k = 0; k < preamble - 8; ++k) {
    bytes += static_cast<char>((header.size() >> (8 * k)) & 0xff);
  }
  return bytes + header + data;
}

// As numpy.save writes it: shape (3,) for one dimension, (3, 4) for two.
inline std::string npy(const std::string& descr, const std::vector<std::size_t>& shape,
                       const std::string& data, const std::string& fortran_order = "False") {
  std::string extents;
  for (const std::size_t extent : shape) {
    if (!extents.empty()) extents += ' ';
    extents += std::to_string(extent);
    extents += ',';
  }
  if (shape.size() > 1) extents.pop_back();
  return npy_with_header("{'descr': '" + descr + "', 'fortran_order': " + fortran_order +
                             ", 'shape': (" + extents + "), }",
                         data);
}

template <class T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace diml::test
