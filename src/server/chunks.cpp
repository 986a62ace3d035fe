#include "chunks.h"

#include <algorithm>
#include <array>

#include "head.h"
#include "refusal.h"

namespace diml::server {
namespace {

constexpr std::size_t kMostSizeLine = 4096;
// Headers about the end of a request, its host and its rights: they must not come after the body.
constexpr std::array kNotInTrailers = {"authorization",
                                       "connection",
                                       "content-encoding",
                                       "content-length",
                                       "content-type",
                                       "expect",
                                       "host",
                                       "origin",
                                       "te",
                                       "trailer",
                                       "transfer-encoding",
                                       "upgrade"};

[[noreturn]] void refuse(const std::string& why) {
  throw Refusal(400, "the body is malformed: " + why);
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// One of the parts of an extension at the front of the text; it is taken away.
void skip_blanks(std::string_view& text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
}

bool take_token(std::string_view& text) {
  const auto end =
      std::find_if_not(text.begin(), text.end(), [](char c) { return is_token_character(c); });
  const auto size = static_cast<std::size_t>(end - text.begin());
  text.remove_prefix(size);
  return size > 0;
}

bool take_quoted(std::string_view& text) {
  if (text.empty() || text.front() != '"') return false;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return true;
    }
    if (text[i] == '\\') ++i;
  }
  return false;
}

// *( BWS ";" BWS name [ BWS "=" BWS value ] )
bool is_extension_list(std::string_view text) {
  while (!text.empty()) {
    skip_blanks(text);
    if (text.empty() || text.front() != ';') return false;
    text.remove_prefix(1);
    skip_blanks(text);
    if (!take_token(text)) return false;
    std::string_view after = text;
    skip_blanks(after);
    if (after.empty() || after.front() != '=') continue;
    after.remove_prefix(1);
    skip_blanks(after);
    if (!take_quoted(after) && !take_token(after)) return false;
    text = after;
  }
  return true;
}

void read_trailer(std::string_view line) {
  const auto [name, value] = header_of(line);
  if (std::find(kNotInTrailers.begin(), kNotInTrailers.end(), name) != kNotInTrailers.end()) {
    refuse("'" + name + "' after the last chunk");
  }
}

}  // namespace

std::size_t ChunkReader::take(std::string_view bytes, std::string& body) {
  std::size_t taken = 0;
  while (taken < bytes.size() && state_ != State::whole) {
    const std::string_view rest = bytes.substr(taken);
    const std::size_t before = taken;
    switch (state_) {
      case State::size:
      case State::trailer:
        taken += take_line(rest);
        break;
      case State::data:
        taken += take_data(rest, body);
        continue;
      case State::data_end:
        taken += take_data_end(rest);
        break;
      case State::whole:
        break;
    }
    framing_ += taken - before;
    // Chunks of one byte are allowed; a body that consists of framing is not.
    if (framing_ > limits_.body / 4 + 65536) refuse("its chunks are too small");
  }
  return taken;
}

std::size_t ChunkReader::take_line(std::string_view bytes) {
  const std::size_t found = bytes.find('\n');
  const std::size_t count = found == std::string_view::npos ? bytes.size() : found + 1;
  const bool is_size = state_ == State::size;
  if (line_.size() + count > (is_size ? kMostSizeLine : limits_.head - trailer_bytes_)) {
    refuse(is_size ? "the line of a chunk's length is too long"
                   : "the headers after the last chunk are too long");
  }
  line_.append(bytes.substr(0, count));
  if (found == std::string_view::npos) return count;
  if (line_.size() < 2 || line_[line_.size() - 2] != '\r') refuse("a line ends without CR LF");
  const std::string line = line_.substr(0, line_.size() - 2);
  line_.clear();
  if (is_size) {
    read_size_line(line);
  } else if (line.empty()) {
    state_ = State::whole;
  } else {
    trailer_bytes_ += line.size() + 2;
    read_trailer(line);
  }
  return count;
}

void ChunkReader::read_size_line(std::string_view line) {
  if (std::any_of(line.begin(), line.end(),
                  [](char c) { return (c >= 0 && c < ' ' && c != '\t') || c == '\x7f'; })) {
    refuse("control characters in the line of a chunk's length");
  }
  std::size_t digits = 0;
  std::uint64_t size = 0;
  for (; digits < line.size() && digit_of(line[digits]) >= 0; ++digits) {
    size = size * 16 + static_cast<std::uint64_t>(digit_of(line[digits]));
    // Checked at each digit, so that no number of digits overflows.
    if (total_ + size > limits_.body) {
      throw Refusal(413, "the body is larger than the " + std::to_string(limits_.body) +
                             " bytes that are allowed");
    }
  }
  if (digits == 0) refuse("a chunk without a length");
  if (!is_extension_list(line.substr(digits))) refuse("a chunk's length is not hexadecimal");
  total_ += size;
  left_ = size;
  state_ = size == 0 ? State::trailer : State::data;
}

std::size_t ChunkReader::take_data(std::string_view bytes, std::string& body) {
  const std::size_t count = std::min<std::uint64_t>(left_, bytes.size());
  body.append(bytes.substr(0, count));
  left_ -= count;
  if (left_ == 0) state_ = State::data_end;
  return count;
}

std::size_t ChunkReader::take_data_end(std::string_view bytes) {
  constexpr std::string_view kEnd = "\r\n";
  if (bytes.front() != kEnd[end_]) refuse("a chunk is longer than its length");
  if (++end_ == kEnd.size()) {
    end_ = 0;
    state_ = State::size;
  }
  return 1;
}

}  // namespace diml::server
