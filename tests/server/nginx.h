#pragma once

#include <string>

#include <sys/types.h>

#include "base/temporary_folder.h"

namespace diml::test {

// Whether somebody listens at a port of 127.0.0.1.
bool listens(int port);
// Of a process of root: from here on it has nobody's rights.
void become_nobody();

// nginx in a folder of its own, until the end of the object.
class Nginx {
 public:
  // The program, or "" where it is not installed.
  static std::string program();
  // A port of 127.0.0.1 that is free now.
  static int free_port();

  // With a master process it can reload its configuration and certificates.
  enum class Master { no, yes };
  // A test that is run by root can run it as somebody without rights.
  enum class User { own, ordinary };

  // http: the lines of the block http { }. Throws Error where nginx does not start to listen at
  // the port.
  Nginx(const std::string& http, int port, Master master = Master::no, User user = User::own);
  ~Nginx() { stop(); }
  Nginx(const Nginx&) = delete;
  Nginx& operator=(const Nginx&) = delete;

  // A file below its folder: logs, certificates.
  std::string at(const std::string& name) const { return folder_ / name; }
  void stop();
  void reload() const;

 private:
  TemporaryFolder folder_;
  pid_t process_ = -1;
};

}  // namespace diml::test
