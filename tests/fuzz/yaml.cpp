// Settings of a run and of a table: names with dots, and values.
#include <string>

#include "base/yaml_document.h"
#include "fuzz/fuzz_target.h"

namespace {

void read(std::span<const std::uint8_t> bytes) {
  const diml::YamlDocument document("settings.yaml", std::string(bytes.begin(), bytes.end()),
                                    "settings");
  document.each_setting(document.root(),
                        [&](const std::string& name, const std::string&, const YAML::Node& node) {
                          (void)document.text_of(node, name);
                        });
}

}  // namespace

DIML_FUZZ_TARGET(read)
