#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "diml/server.h"

namespace diml::server {

// A chunked body, read strictly as RFC 9112, section 7.1, defines it. Input that another HTTP
// reader might interpret differently (a line without its CR, a size with a sign, an extension with
// a line break, a trailer that gives a length) is refused: it could hide a second request.
class ChunkReader {
 public:
  explicit ChunkReader(const ServerLimits& limits) : limits_(limits) {}

  // Appends data to body and returns how many bytes it has consumed: all of them, unless the body
  // ends before. Throws Refusal; the reader cannot be used after that.
  std::size_t take(std::string_view bytes, std::string& body);

  bool is_whole() const { return state_ == State::whole; }

 private:
  enum class State : std::uint8_t { size, data, data_end, trailer, whole };

  std::size_t take_line(std::string_view bytes);
  std::size_t take_data(std::string_view bytes, std::string& body);
  std::size_t take_data_end(std::string_view bytes);
  void read_size_line(std::string_view line);

  const ServerLimits& limits_;
  State state_ = State::size;
  std::string line_;           // of a size or a trailer, as far as it has arrived
  std::uint64_t left_ = 0;     // of the chunk's data
  std::uint64_t framing_ = 0;  // bytes that are not data
  std::uint64_t total_ = 0;    // bytes of data that the sizes have announced
  std::size_t end_ = 0;        // bytes of the line end after the data
  std::size_t trailer_bytes_ = 0;
};

}  // namespace diml::server
