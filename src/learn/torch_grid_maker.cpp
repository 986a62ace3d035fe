#include "torch_grid_maker.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "device.h"
#include "diml/error.h"
#include "diml/learn/grids.h"
#include "pixels.h"
#include "torch_error.h"

namespace diml::learn {
namespace {

class TorchGridMaker final : public GridMaker {
 public:
  TorchGridMaker(RunNetwork run, torch::Device device, const GridMakerParams& params)
      : run_(std::move(run)),
        device_(device),
        params_(params),
        pixels_(params.preprocessing, device),
        rooms_(device.is_cuda() ? 3 : 1) {
    const auto size = static_cast<std::int64_t>(params.preprocessing.crop);
    for (Room& room : rooms_) {
      room.planes = host_memory({static_cast<std::int64_t>(params.batch), 3, size, size},
                                torch::kUInt8, device);
      room.planes.zero_();
    }
  }

  std::size_t rooms() const override { return rooms_.size(); }
  std::size_t images() const override { return params_.batch; }
  std::span<std::uint8_t> planes(std::size_t room) override {
    const torch::Tensor& planes = rooms_[room].planes;
    return {planes.data_ptr<std::uint8_t>(), static_cast<std::size_t>(planes.numel())};
  }

  void begin(std::size_t number, std::size_t used) override {
    Room& room = rooms_[number];
    room.done.reset();
    if (used == 0) return;
    in_one_line([&] { run(room, static_cast<std::int64_t>(used)); });
  }

  void finish(std::size_t number, std::span<float> cells, std::span<float> globals) override {
    Room& room = rooms_[number];
    if (!room.done) return;
    room.done->wait();
    const c10::InferenceMode inference;
    copy(room.cells, cells);
    copy(room.globals, globals);
  }

 private:
  struct Room {
    torch::Tensor planes;
    torch::Tensor cells;
    torch::Tensor globals;
    std::optional<DeviceMark> done;
  };

  void run(Room& room, std::int64_t count) {
    const c10::InferenceMode inference;
    // Always a whole batch: by its size cuDNN and LibTorch choose among algorithms that round
    // differently. What stands in the empty places must not be left to what was there before.
    room.planes.narrow(0, count, room.planes.size(0) - count).zero_();
    const torch::Tensor map = run_(pixels_(room.planes)).to(torch::kFloat32);
    const Grids grids = make_grids(map, params_.grid, params_.pooling);
    room.cells = to_host(grids.cells.narrow(0, 0, count));
    room.globals = to_host(grids.globals.narrow(0, 0, count));
    room.done.emplace(device_);
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
  GridMakerParams params_;
  Pixels pixels_;
  std::vector<Room> rooms_;
};

}  // namespace

std::unique_ptr<GridMaker> make_torch_grid_maker(RunNetwork run, torch::Device device,
                                                 const GridMakerParams& params) {
  return std::make_unique<TorchGridMaker>(std::move(run), device, params);
}

}  // namespace diml::learn
