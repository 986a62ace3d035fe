#include "calls.h"

#include <filesystem>

#include "base/system_error.h"

namespace diml::python {
namespace {

py::list names_of_backends() {
  py::list names;
  for (const Backend backend : available_backends()) names.append(name_of(backend));
  return names;
}

py::dict features() {
  py::dict features;
  features["images"] = static_cast<bool>(DIML_HAS_IMAGES);
  features["drawing"] = static_cast<bool>(DIML_HAS_DRAWING);
  features["json"] = static_cast<bool>(DIML_HAS_JSON);
  features["networks"] = static_cast<bool>(DIML_HAS_NETWORKS);
  features["cuda"] = static_cast<bool>(DIML_HAS_CUDA);
  features["gallery"] = static_cast<bool>(DIML_HAS_GALLERY);
  return features;
}

}  // namespace
}  // namespace diml::python

PYBIND11_MODULE(_diml, module) {
  using namespace diml::python;
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const diml::Error& error) {
      raise(error);
    } catch (const std::filesystem::filesystem_error& error) {
      raise(diml::system_error(error.path1().string() + ": cannot be used", error.code()));
    } catch (const std::system_error& error) {  // threads that cannot be started
      raise(diml::Error(diml::kind_of_errno(error.code().value()), error.what()));
    }
  });
  module.attr("__version__") = DIML_VERSION;
  module.def(
      "set_threads", &set_threads, py::arg("count"),
      "Limits the threads of later calls. 0, the default: $DIML_THREADS, else OpenMP's limit "
      "($OMP_NUM_THREADS, torch.set_num_threads), else all cores.\n\n"
      ">>> import diml\n>>> diml.set_threads(2)\n>>> diml.threads()\n2\n"
      ">>> diml.set_threads(0)");
  module.def("threads", &threads, "The limit of set_threads().");
  module.def("backends", &names_of_backends,
             "What can match on this machine: reference, cpu, cuda, exact.");
  module.def("features", &features,
             "What this build has: images, drawing, json, networks, gallery.");
  bind_grids(module);
  bind_match(module);
  bind_pairs(module);
  bind_search(module);
  bind_evaluate(module);
  bind_tensors(module);
  bind_generated(module);
  bind_samples(module);
  bind_timing(module);
#if DIML_HAS_NETWORKS
  bind_embedder(module);
  bind_weights(module);
#if DIML_HAS_GALLERY
  bind_gallery(module);
#endif
#endif
}
