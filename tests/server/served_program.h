#pragma once

#include <csignal>
#include <functional>
#include <string>

#include "cli/photo_folder.h"
#include "server/http_client.h"

namespace diml::test {

// Of a child.
bool has_ended(int process);

// A gallery of photos, g, and `diml serve` of it.
class ServedProgram : public PhotoFolder {
 protected:
  ServedProgram();

  // Serves g; the call gets the port and the process, which ends by `signal` afterwards. A program
  // that ends before it serves anything is not called.
  ProgramResult served(const Arguments& more,
                       const std::function<void(int port, int process)>& call,
                       ProgramSettings settings = {}, int signal = SIGTERM) const;

  HttpResult add(HttpClient& client, const std::string& name) const;
  static HttpResult search(HttpClient& client);

  std::string photo_ = bytes_of(at(photos()[0]));
};

}  // namespace diml::test
