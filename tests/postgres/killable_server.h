#pragma once

#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include <sys/wait.h>

#include "base/temporary_folder.h"
#include "diml/error.h"

namespace diml::test {

// A PostgreSQL server that belongs to one test, which may do anything to it; until the end of the
// object.
class KillableServer {
 public:
  // Whether there is PostgreSQL on this machine.
  static bool is_possible() {
    return std::system("ls /usr/lib/postgresql/*/bin/initdb > /dev/null 2>&1") == 0;
  }

  KillableServer() { run("start " + folder_.path()); }
  // A standby of another one.
  explicit KillableServer(const KillableServer& primary) {
    run("standby " + folder_.path() + " " + primary.folder_.path());
  }
  ~KillableServer() { (void)std::system(command("stop " + folder_.path()).c_str()); }
  KillableServer& operator=(const KillableServer&) = delete;

  // At once, with all processes, as when its machine goes away.
  void kill() const { run("kill " + folder_.path()); }
  void start_again() const { run("again " + folder_.path()); }
  void promote() const { run("promote " + folder_.path()); }

  // postgres://diml@/tests/GALLERY?host=FOLDER, and what comes after that.
  std::string address(const std::string& gallery, const std::string& more = "") const {
    std::ifstream file(folder_ / "address");
    std::string address;
    std::getline(file, address);
    return address.insert(address.find('?'), gallery) + more;
  }
  // The folder of its socket, which is libpq's host.
  std::string host() const {
    const std::string whole = address("");
    return whole.substr(whole.find("host=") + std::string_view("host=").size());
  }

 private:
  static std::string command(const std::string& what) {
    return std::string(DIML_POSTGRES_SERVER) + " " + what;
  }
  static void run(const std::string& what) {
    const int status = std::system(command(what).c_str());
    if (status != 0) throw Error("tests/postgres/server " + what + " fails");
  }

  TemporaryFolder folder_;
};

}  // namespace diml::test
