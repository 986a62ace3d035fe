#include "loader.h"

#include <algorithm>

#include "diml/error.h"
#include "learn/device.h"

namespace diml::training {
namespace {

// In an order that does not depend on the order of the threads.
void make_unique(std::vector<BadImage>& bad) {
  const auto before = [](const BadImage& one, const BadImage& other) {
    return one.index < other.index;
  };
  const auto same = [](const BadImage& one, const BadImage& other) {
    return one.index == other.index;
  };
  std::stable_sort(bad.begin(), bad.end(), before);
  bad.erase(std::unique(bad.begin(), bad.end(), same), bad.end());
}

}  // namespace

ImageCache::ImageCache(std::vector<std::string> paths, Orientation orientation,
                       std::size_t most_bytes)
    : paths_(std::move(paths)),
      orientation_(orientation),
      most_bytes_(most_bytes),
      images_(paths_.size()) {}

std::shared_ptr<const Image> ImageCache::get(std::size_t index) {
  {
    const std::lock_guard lock(mutex_);
    if (images_[index]) return images_[index];
  }
  auto image =
      std::make_shared<const Image>(read_image(paths_[index], {.orientation = orientation_}));
  const std::lock_guard lock(mutex_);
  if (!images_[index] && bytes_ + image->pixels.size() <= most_bytes_) {
    bytes_ += image->pixels.size();
    images_[index] = image;
  }
  return image;
}

Loader::Loader(ImageCache& cache, std::vector<std::vector<std::size_t>> batches, std::size_t first,
               LoaderParams params)
    : cache_(cache), batches_(std::move(batches)), params_(params), taken_(first), batch_(first) {
  for (std::size_t t = 0; t < std::max<std::size_t>(1, params_.threads); ++t) {
    threads_.emplace_back([this] { work(); });
  }
}

Loader::~Loader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Loader::work() {
  const std::size_t of_image = 3 * params_.size * params_.size;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] {
      return stopping_ || failure_ || batch_ == batches_.size() || batch_ < taken_ + params_.ahead;
    });
    if (stopping_ || failure_ || batch_ == batches_.size()) return;
    const std::size_t batch = batch_;
    const std::size_t place = place_;
    const std::vector<std::size_t>& indices = batches_[batch];
    Slot& slot = slots_[batch];
    if (place == 0 && !begin(slot, indices)) return;
    if (++place_ == indices.size()) {
      ++batch_;
      place_ = 0;
    }
    std::uint8_t* planes = slot.batch.pixels.data_ptr<std::uint8_t>() + place * of_image;
    lock.unlock();
    std::exception_ptr failure;
    std::vector<BadImage> bad;
    try {
      augment(*image_at(indices[place], bad), params_.size, params_.channels, params_.augment,
              Random(mixed_seed(params_.seed, batch, params_.first_place + place)),
              {planes, of_image});
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (!bad.empty()) {
      ++slot.batch.replaced;
      slot.batch.bad.insert(slot.batch.bad.end(), bad.begin(), bad.end());
    }
    // The image stays missing: its batch must never count as complete.
    if (failure && !failure_) failure_ = failure;
    if (failure || --slot.missing == 0) changed_.notify_all();
  }
}

std::shared_ptr<const Image> Loader::image_at(std::size_t index, std::vector<BadImage>& bad) {
  try {
    return cache_.get(index);
  } catch (const Error& error) {
    if (params_.stand_ins.empty()) {
      throw Error(error.kind(), error.what(), "skip_bad");
    }
    bad.push_back({index, error.what()});
    const std::size_t count = cache_.size();
    for (std::size_t k = 1; k < count; ++k) {
      const std::size_t other = (index + k) % count;
      if (params_.stand_ins[other] != params_.stand_ins[index]) continue;
      try {
        return cache_.get(other);
      } catch (const Error& also) {
        bad.push_back({other, also.what()});
      }
    }
    throw with_context(error, "", ", nor can any other image of its class");
  }
}

bool Loader::begin(Slot& slot, const std::vector<std::size_t>& indices) {
  slot.missing = indices.size();
  try {
    slot.batch.indices = indices;
    const auto side = static_cast<std::int64_t>(params_.size);
    slot.batch.pixels = learn::host_memory(
        {static_cast<std::int64_t>(indices.size()), 3, side, side}, torch::kUInt8, params_.device);
    return true;
  } catch (...) {  // out of memory
    failure_ = std::current_exception();
    changed_.notify_all();
    return false;
  }
}

TrainingBatch Loader::next() {
  std::unique_lock lock(mutex_);
  const auto ready = [&] {
    const auto found = slots_.find(taken_);
    return found != slots_.end() && found->second.missing == 0;
  };
  changed_.wait(lock, [&] { return failure_ || ready(); });
  // The failure is permanent: images in progress might still complete the batch.
  told_ = told_ || !ready();
  if (told_) std::rethrow_exception(failure_);
  TrainingBatch batch = std::move(slots_.at(taken_).batch);
  make_unique(batch.bad);
  slots_.erase(taken_);
  ++taken_;
  changed_.notify_all();
  return batch;
}

}  // namespace diml::training
