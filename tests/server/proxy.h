#pragma once

#include <map>
#include <memory>
#include <string>

#include <sys/types.h>

#include "base/temporary_folder.h"
#include "server/nginx.h"

namespace diml::test {

// A proxy with a configuration of deploy/, as an ordinary user, until the end of the object.
class Proxy {
 public:
  // Of its configuration: nginx for .conf, HAProxy for .cfg; "" where that is not installed.
  static std::string program_for(const std::string& configuration);
  static int free_port() { return Nginx::free_port(); }

  // ports: those of the servers, by how the configuration has them.
  Proxy(const std::string& configuration, const std::map<std::string, int>& ports);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  int port() const { return port_; }

 private:
  void start_haproxy(const std::string& lines);

  const int port_ = free_port();
  std::unique_ptr<Nginx> nginx_;
  TemporaryFolder folder_;
  pid_t process_ = -1;
};

}  // namespace diml::test
