#include <cstdio>
#include <filesystem>
#include <string>

#include <dlfcn.h>
#include <sys/sysinfo.h>

#include "base/amx.h"
#include "base/threads.h"
#include "command.h"
#include "diml/error.h"
#include "diml/matcher.h"
#include "diml/version.h"
#include "diml_features.h"
#include "match/match_on_device.h"

namespace diml::cli {
namespace {

const char* name_of(FeatureState state) {
  switch (state) {
    case FeatureState::built_in:
      return "yes";
    case FeatureState::missing:
      return "no";
    case FeatureState::broken:
      return "broken";
  }
  return "";
}

std::string remedy(const Feature& feature) {
  switch (feature.state) {
    case FeatureState::built_in:
      return "";
    case FeatureState::missing:
      return std::string(": install ") + feature.package;
    case FeatureState::broken:
      return std::string(": ") + feature.package + " is there but does not work (" + feature.why +
             ")";
  }
  return "";
}

std::vector<std::string> names_of(const std::vector<Backend>& backends) {
  std::vector<std::string> names;
  for (const Backend backend : backends) names.emplace_back(diml::name_of(backend));
  return names;
}

// The matrix products of LibTorch and FAISS on the CPU: the file behind libblas.so.3, or
// "none".
std::string blas() {
  void* library = ::dlopen("libblas.so.3", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return "none";
  Dl_info info{};
  const void* product = ::dlsym(library, "sgemm_");
  if (product == nullptr || ::dladdr(product, &info) == 0) return "none";
  std::error_code error;
  const auto real = std::filesystem::canonical(info.dli_fname, error);
  return error ? info.dli_fname : real.string();
}

// What is missing although `./run` installs it. The features of a GPU are the user's choice.
std::vector<std::string> incomplete() {
  std::vector<std::string> found;
  for (const Feature& feature : kFeatures) {
    const std::string name = feature.name;
    if (name == "CUDA" || name == "NCCL") continue;
    if (feature.state == FeatureState::missing || feature.state == FeatureState::broken) {
      found.push_back(name + remedy(feature));
    }
  }
  if (blas().find("openblas") == std::string::npos) {
    found.push_back("a fast BLAS (here: " + blas() + "): install libopenblas0-openmp");
  }
  return found;
}

struct DoctorCommand {
  std::string json;
  bool complete = false;

  void run() const {
    JsonOutput output(json);
    struct sysinfo memory {};
    ::sysinfo(&memory);
    const double gib =
        static_cast<double>(memory.totalram) * memory.mem_unit / (1024.0 * 1024.0 * 1024.0);
    Json report = {{"version", kVersion},
                   {"compiler", kCompiler},
                   {"build", kBuildType},
                   {"threads", default_threads()},
                   {"memory_gib", gib},
                   {"matchers", names_of(available_backends())},
                   {"simd_targets", simd_targets()},
                   {"active_simd_target", active_simd_target()},
                   {"blas", blas()},
                   {"amx_left_out", amx_is_broken()},
                   {"card", cuda::describe_device()}};
    report["features"] = Json::array();
    for (const Feature& feature : kFeatures) {
      report["features"].push_back({{"name", feature.name},
                                    {"built_in", feature.built_in()},
                                    {"state", name_of(feature.state)},
                                    {"purpose", feature.purpose},
                                    {"package", feature.package}});
    }
    output.write(report);
    if (!output.takes_standard_output()) print(gib);
    if (complete) refuse_gaps();
  }

  static void refuse_gaps() {
    const std::vector<std::string> gaps = incomplete();
    if (gaps.empty()) return;
    std::string all;
    for (const std::string& gap : gaps) all += (all.empty() ? "" : "; ") + gap;
    throw Error(ErrorKind::unsupported, "this build lacks " + all);
  }

  static void print(double gib) {
    std::printf("diml %s, %s, %s\n", kVersion, kCompiler, kBuildType);
    std::printf("threads       %d\nmemory        %.1f GiB\n", default_threads(), gib);
    const auto print_list = [](const char* label, const std::vector<std::string>& names) {
      std::printf("%-13s", label);
      for (const std::string& name : names) std::printf(" %s", name.c_str());
      std::printf("%s\n", names.empty() ? " none" : "");
    };
    print_list("matchers", names_of(available_backends()));
    print_list("SIMD targets", simd_targets());
    std::printf("in use        %s\n", active_simd_target().c_str());
    std::printf("BLAS          %s\n", blas().c_str());
    if (amx_is_broken()) {
      std::printf("AMX           not used: the CPU reports it, but not the size of its tiles\n");
    }
    std::printf("GPU           %s\n", cuda::describe_device().c_str());
    std::printf("\n");
    for (const Feature& feature : kFeatures) {
      std::printf("%-3s  %-11s %s%s\n", feature.built_in() ? "yes" : "no", feature.name,
                  feature.purpose, remedy(feature).c_str());
    }
  }
};

}  // namespace

Run define_doctor(CLI::App& command) {
  auto options = std::make_shared<DoctorCommand>();
  command.add_option("--json", options->json, "The report for programs; - for standard output");
  command.add_flag("--complete", options->complete,
                   "Fail if a feature of the packages of ./run is not built in");
  return [options] { options->run(); };
}

}  // namespace diml::cli
