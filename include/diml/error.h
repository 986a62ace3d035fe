#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace diml {

// What kind of thing went wrong. Programs map kinds, not words, to exit codes, HTTP statuses and
// exceptions of other languages.
enum class ErrorKind : std::uint8_t {
  bad_input,         // the caller gave something that cannot be used: change it
  not_found,         // a file, item, class or name that is not there
  conflict,          // it is there already, or somebody else changed it meanwhile
  unsupported,       // this build, machine or version cannot do it
  damaged,           // stored data is not what was written
  out_of_resources,  // disk, memory, addresses or time have run out: try again with more
  internal,          // a mistake of this program
};
const char* name_of(ErrorKind kind);

// What went wrong, in one line, with the remedy. The library throws nothing else of its own.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& line) : Error(ErrorKind::bad_input, line) {}
  // parameter: text that is never freed, as a literal.
  Error(ErrorKind kind, const std::string& line, const char* parameter = "")
      : std::runtime_error(line), kind_(kind), parameter_(parameter) {}

  ErrorKind kind() const { return kind_; }

  // The parameter of the call that offers a way out ("resume", "skip_bad"); "" where none does. A
  // program tells its users how to set it: a flag, a field of a request.
  const char* parameter() const { return parameter_; }

 private:
  ErrorKind kind_;
  const char* parameter_;
};

// The same error, told with where it happened: before is "photo.jpg: " or the like.
Error with_context(const Error& error, const std::string& before, const std::string& after = "");

}  // namespace diml
