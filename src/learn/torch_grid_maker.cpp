#include "torch_grid_maker.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "device.h"
#include "diml/error.h"
#include "diml/learn/measure.h"
#include "models/no_numbers.h"
#include "pixels.h"
#include "torch_error.h"

namespace diml::learn {
namespace {

class TorchGridMaker final : public GridMaker {
 public:
  TorchGridMaker(RunNetwork run, torch::Device device, const Preprocessing& preprocessing,
                 const EmbeddingParams& params)
      : run_(std::move(run)),
        device_(device),
        params_(params),
        pixels_(preprocessing, device),
        slots_(device.is_cuda() ? 3 : 1) {
    const auto size = static_cast<std::int64_t>(preprocessing.crop);
    for (Slot& slot : slots_) {
      slot.planes = host_memory({static_cast<std::int64_t>(params.batch), 3, size, size},
                                torch::kUInt8, device);
      slot.planes.zero_();
    }
  }

  std::size_t slots() const override { return slots_.size(); }
  std::size_t images() const override { return params_.batch; }
  std::span<std::uint8_t> planes(std::size_t slot) override {
    const torch::Tensor& planes = slots_[slot].planes;
    return {planes.data_ptr<std::uint8_t>(), static_cast<std::size_t>(planes.numel())};
  }

  void begin(std::size_t index, std::size_t used) override {
    Slot& slot = slots_[index];
    slot.done.reset();
    if (used == 0) return;
    in_one_line([&] { run(slot, static_cast<std::int64_t>(used)); });
  }

  void finish(std::size_t index, std::span<float> cells, std::span<float> globals) override {
    Slot& slot = slots_[index];
    if (!slot.done) return;
    slot.done->wait();
    const c10::InferenceMode inference;
    copy(slot.cells, cells);
    copy(slot.globals, globals);
  }

 private:
  struct Slot {
    torch::Tensor planes;
    torch::Tensor cells;
    torch::Tensor globals;
    std::optional<DeviceEvent> done;
  };

  void run(Slot& slot, std::int64_t count) {
    const c10::InferenceMode inference;
    // Always a whole batch: cuDNN and LibTorch choose among algorithms that round differently by
    // its size. The empty places are cleared, so that old images in them have no effect.
    slot.planes.narrow(0, count, slot.planes.size(0) - count).zero_();
    FeatureMap made = run_(pixels_(slot.planes));
    if (made.global.defined()) made.global = made.global.to(torch::kFloat32);
    const Grids grids =
        make_grids(made.map.to(torch::kFloat32), params_.grid, params_.pooling, made.global);
    slot.cells = to_host(grids.cells.narrow(0, 0, count));
    slot.globals = to_host(grids.globals.narrow(0, 0, count));
    slot.done.emplace(device_);
  }

  torch::Tensor to_host(const torch::Tensor& values) const {
    if (!device_.is_cuda()) return values.contiguous();
    torch::Tensor host = host_memory(values.sizes(), torch::kFloat32, device_);
    host.copy_(values, /*non_blocking=*/true);
    return host;
  }

  static void copy(const torch::Tensor& from, std::span<float> to) {
    if (static_cast<std::size_t>(from.numel()) != to.size()) {
      throw Error(ErrorKind::internal, "the network was given arrays of the wrong size");
    }
    const float* values = from.data_ptr<float>();
    if (!std::all_of(values, values + to.size(), [](float v) { return std::isfinite(v); })) {
      throw Error(kNoNumbers);
    }
    std::copy_n(values, to.size(), to.begin());
  }

  RunNetwork run_;
  torch::Device device_;
  EmbeddingParams params_;
  Pixels pixels_;
  std::vector<Slot> slots_;
};

}  // namespace

std::unique_ptr<GridMaker> make_torch_grid_maker(RunNetwork run, torch::Device device,
                                                 const Preprocessing& preprocessing,
                                                 const EmbeddingParams& params) {
  return std::make_unique<TorchGridMaker>(std::move(run), device, preprocessing, params);
}

}  // namespace diml::learn
