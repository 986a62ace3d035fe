#include <cstdio>
#include <string>

#include <sys/sysinfo.h>

#include "command.h"
#include "diml/cuda_matcher.h"
#include "diml/matcher.h"
#include "diml/threads.h"
#include "diml/version.h"
#include "diml_features.h"

namespace diml::cli {
namespace {

struct DoctorCommand {
  std::string json;

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
                   {"matchers", matcher_names()},
                   {"simd_targets", simd_targets()},
                   {"active_simd_target", active_simd_target()},
                   {"card", cuda::describe_device()}};
    report["features"] = Json::array();
    for (const Feature& feature : kFeatures) {
      report["features"].push_back({{"name", feature.name},
                                    {"built_in", feature.built_in},
                                    {"purpose", feature.purpose},
                                    {"package", feature.package}});
    }
    output.write(report);
    if (output.takes_standard_output()) return;

    std::printf("diml %s, %s, %s\n", kVersion, kCompiler, kBuildType);
    std::printf("threads       %d\nmemory        %.1f GiB\n", default_threads(), gib);
    const auto print_list = [](const char* label, const std::vector<std::string>& names) {
      std::printf("%-13s", label);
      for (const std::string& name : names) std::printf(" %s", name.c_str());
      std::printf("%s\n", names.empty() ? " none" : "");
    };
    print_list("matchers", matcher_names());
    print_list("SIMD targets", simd_targets());
    std::printf("in use        %s\n", active_simd_target().c_str());
    std::printf("card          %s\n", cuda::describe_device().c_str());
    std::printf("\n");
    for (const Feature& feature : kFeatures) {
      std::printf("%-3s  %-11s %s%s%s\n", feature.built_in ? "yes" : "no", feature.name,
                  feature.purpose, feature.built_in ? "" : ": install ",
                  feature.built_in ? "" : feature.package);
    }
  }
};

}  // namespace

Run define_doctor(CLI::App& command) {
  auto options = std::make_shared<DoctorCommand>();
  command.add_option("--json", options->json, "The report for programs; - for standard output");
  return [options] { options->run(); };
}

}  // namespace diml::cli
