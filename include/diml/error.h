#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace diml {

// The kind of an error. Programs map kinds, not messages, to exit codes, HTTP statuses and
// exceptions of other languages.
enum class ErrorKind : std::uint8_t {
  bad_input,         // the caller gave something that cannot be used: change it
  not_found,         // a file, item, class or name that does not exist
  conflict,          // it exists already, or another process changed it meanwhile
  unsupported,       // this build, machine or version cannot do it
  damaged,           // stored data is not what was written
  out_of_resources,  // disk, memory, addresses or time have run out, or a disk takes nothing
  internal,          // a bug of this program
  cancelled,         // the caller ended the work through its Progress
};
const char* name_of(ErrorKind kind);

// What went wrong, in one line, with the remedy. The library throws no other type of its own.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& line) : Error(ErrorKind::bad_input, line) {}
  // parameter: a string that is never freed, such as a literal.
  Error(ErrorKind kind, const std::string& line, const char* parameter = "")
      : std::runtime_error(line), kind_(kind), parameter_(parameter) {}

  ErrorKind kind() const { return kind_; }

  // What solves the problem: a parameter of the call ("resume", "skip_bad") or another call
  // ("verify", "build_index"); "" for none. A program tells its users how: a flag, a command, a
  // field of a request.
  const char* parameter() const { return parameter_; }

 private:
  ErrorKind kind_;
  const char* parameter_;
};

// The same error with its place in the message: before is "photo.jpg: " or similar.
Error with_context(const Error& error, const std::string& before, const std::string& after = "");

}  // namespace diml
