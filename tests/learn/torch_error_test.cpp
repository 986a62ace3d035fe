#include "torch_error.h"

#include <torch/torch.h>

#include "base/refusal.h"

namespace diml::learn {
namespace {

using test::expect_refused;

TEST(TorchErrorTest, OfMemoryAsksForMore) {
  expect_refused([] { in_one_line([] { return torch::empty({std::int64_t{1} << 50}); }); },
                 "LibTorch: ", ErrorKind::out_of_resources);
}

TEST(TorchErrorTest, OfAnythingElseIsAMistakeOfTheProgram) {
  expect_refused([] { in_one_line([] {
                        return torch::ones({2, 3}).mm(torch::ones({2, 3}));
                      }); },
                 "LibTorch: mat1 and mat2 shapes cannot be multiplied", ErrorKind::internal);
}

TEST(TorchErrorTest, LeavesOurOwnAlone) {
  expect_refused([] { in_one_line([] { throw Error(ErrorKind::conflict, "ours"); }); }, "ours",
                 ErrorKind::conflict);
}

}  // namespace
}  // namespace diml::learn
