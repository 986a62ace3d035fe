#include "checkpoint.h"

#include <gtest/gtest.h>

#include "base/temporary_folder.h"
#include "diml/error.h"

namespace diml::training {
namespace {

TEST(Checkpoint, ComesBackBitForBit) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "checkpoint.safetensors";
  Checkpoint checkpoint;
  checkpoint.epochs_done = 7;
  checkpoint.steps_done = 3;
  checkpoint.loss_sum = 0.1 + 0.2;
  checkpoint.best_p_at_1 = 2.0 / 3.0;
  checkpoint.best_epoch = 5;
  checkpoint.replaced = 11;
  checkpoint.model = make_model("small", StridePlace::in_3x3, 8, 2);
  checkpoint.tensors["optimiser.steps"] = torch::tensor(std::int64_t{1} << 40);
  checkpoint.tensors["optimiser.first.x"] = torch::tensor({1e-42F, -0.0F, 1.0F / 3.0F});
  checkpoint.tensors["loss.proxies"] = torch::randn({4, 3, 2});
  save_checkpoint(path, checkpoint);

  const Checkpoint back = load_checkpoint(path, checkpoint.model);
  EXPECT_EQ(back.epochs_done, 7u);
  EXPECT_EQ(back.steps_done, 3u);
  EXPECT_EQ(back.loss_sum, checkpoint.loss_sum);
  EXPECT_EQ(back.best_p_at_1, checkpoint.best_p_at_1);
  EXPECT_EQ(back.best_epoch, 5u);
  EXPECT_EQ(back.replaced, 11u);
  EXPECT_EQ(back.model.architecture, "small");
  ASSERT_EQ(back.model.tensors.size(), checkpoint.model.tensors.size());
  for (const auto& [name, tensor] : checkpoint.model.tensors) {
    EXPECT_EQ(back.model.tensors.at(name).bytes, tensor.bytes) << name;
  }
  ASSERT_EQ(back.tensors.size(), checkpoint.tensors.size());
  for (const auto& [name, tensor] : checkpoint.tensors) {
    EXPECT_EQ(back.tensors.at(name).scalar_type(), tensor.scalar_type());
    EXPECT_TRUE(back.tensors.at(name).equal(tensor)) << name;
  }
  EXPECT_TRUE(torch::signbit(back.tensors.at("optimiser.first.x"))[1].item<bool>());
  // Written again it is the same file.
  save_checkpoint(folder / "again", back);
  EXPECT_EQ(test::bytes_of(folder / "again"), test::bytes_of(path));
}

TEST(Checkpoint, OtherFilesAreRefusedByName) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "model.safetensors";
  const Model model = make_model("small", StridePlace::in_3x3, 8, 2);
  save_model(path, model);
  try {
    load_checkpoint(path, model);
    FAIL() << "it was read";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), path + ": is not a checkpoint of a training run");
  }
  test::write_bytes(path, "half");
  EXPECT_THROW(load_checkpoint(path, model), Error);
}

}  // namespace
}  // namespace diml::training
