// What a build without FAISS says.

#include "diml/approximate_index.h"
#include "diml/error.h"

namespace diml {
namespace {

[[noreturn]] void refuse() {
  throw Error(ErrorKind::unsupported,
              "this build has no approximate index: install libfaiss-dev and build again");
}

}  // namespace

bool has_approximate_index() { return false; }

std::unique_ptr<ApproximateIndex> build_index(IndexKind, VectorsView, std::span<const std::int64_t>,
                                              IndexOrigin, int, const Progress&) {
  refuse();
}

std::unique_ptr<ApproximateIndex> load_index(const std::string&) { refuse(); }

}  // namespace diml
