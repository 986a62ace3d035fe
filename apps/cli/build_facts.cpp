#include "build_facts.h"

#include "commit.h"
#include "diml/version.h"
#include "diml_features.h"

namespace diml::cli {

std::string build_facts() {
  std::string in;
  std::string out;
  for (const Feature& feature : kFeatures) {
    (feature.built_in() ? in : out).append(" ").append(feature.name);
  }
  return std::string("diml ") + kVersion + "\ncommit    " + kCommit + "\ncompiler  " + kCompiler +
         ", " + kBuildType + "\nfeatures " + in + "\nwithout  " + (out.empty() ? " none" : out);
}

const char* build_commit() { return kCommit; }

}  // namespace diml::cli
