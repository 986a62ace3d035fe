#include "engine/torch_plugin.h"

#include <cstdlib>
#include <filesystem>

#include <dlfcn.h>

#include "diml/error.h"

namespace diml {
namespace {

namespace fs = std::filesystem;

const char* const kFile = "libdiml_torch.so";

std::vector<fs::path> folders() {
  std::vector<fs::path> list;
  if (const char* own = std::getenv("DIML_PLUGINS")) list.emplace_back(own);
  // The program, or the library that this code was linked into.
  Dl_info here{};
  if (::dladdr(reinterpret_cast<const void*>(&torch_plugin), &here) != 0 && here.dli_fname) {
    std::error_code unknown;
    fs::path file = fs::canonical(here.dli_fname, unknown);
    if (unknown) file = fs::canonical("/proc/self/exe", unknown);
    list.push_back(file.parent_path());
    list.push_back(file.parent_path() / "diml");
    list.push_back(file.parent_path().parent_path() / DIML_PLUGIN_FOLDER);
  }
  return list;
}

const TorchPlugin* load() {
  for (const fs::path& folder : folders()) {
    const fs::path file = folder / kFile;
    if (!fs::exists(file)) continue;
    // Its copies of our own functions stay its own.
    void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      throw Error(ErrorKind::unsupported, file.string() + ": cannot be loaded: " + ::dlerror());
    }
    const auto entry =
        reinterpret_cast<const TorchPlugin* (*)()>(::dlsym(library, "diml_torch_plugin"));
    if (entry == nullptr)
      throw Error(ErrorKind::unsupported, file.string() + ": is not a plugin of diml");
    return entry();
  }
  throw Error(
      ErrorKind::unsupported,
      std::string(kFile) +
          " is not there: install the package diml-torch, build with libtorch-dev and "
          "libyaml-cpp-dev, or set DIML_PLUGINS to its folder");
}

}  // namespace

const TorchPlugin& torch_plugin() {
  static const TorchPlugin* const plugin = load();
  return *plugin;
}

}  // namespace diml
