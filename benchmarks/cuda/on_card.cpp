#include "on_card.h"

#include "device.h"
#include "device_grids.h"
#include "match/match_on_device.h"

namespace diml::bench {

struct OnCard::Memory {
  Memory(const GridSetView& set, std::span<const Pair> list)
      : grids(set, stream), scores(list.size()), count(list.size()) {
    pairs.upload(list, stream);
    stream.wait();
  }

  cuda::Stream stream;
  cuda::UploadedGrids grids;
  cuda::DeviceArray<Pair> pairs;
  cuda::DeviceArray<float> scores;
  std::size_t count;
};

OnCard::OnCard(const GridSetView& grids, std::span<const Pair> pairs)
    : memory_(std::make_unique<Memory>(grids, pairs)) {}

OnCard::~OnCard() = default;

void OnCard::match() {
  cuda::match_on_device(memory_->grids.view(), memory_->grids.view(), memory_->pairs.data(),
                        memory_->count, {}, {memory_->scores.data()}, memory_->stream);
  memory_->stream.wait();
}

void OnCard::download(std::span<float> scores) const {
  memory_->scores.download(scores, memory_->stream);
  memory_->stream.wait();
}

}  // namespace diml::bench
