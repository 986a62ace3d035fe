#include "embed_queue.h"

#include <algorithm>

#include "refusal.h"

namespace diml::server {

EmbedQueue::EmbedQueue(GridFormat format, std::unique_ptr<Embedder> embedder,
                       std::size_t most_waiting)
    : format_(std::move(format)),
      embedder_(std::move(embedder)),
      most_waiting_(most_waiting),
      thread_([this] { serve(); }) {}

EmbedQueue::~EmbedQueue() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  arrived_.notify_all();
  thread_.join();
}

GridSet EmbedQueue::embed(const Patience& patience, std::vector<Crop> crops) {
  GridSet grids(crops.size(), format_.cells_per_grid, format_.dim, format_.type);
  std::vector<std::shared_ptr<Photo>> photos;
  for (std::size_t i = 0; i < crops.size(); ++i) {
    photos.push_back(std::make_shared<Photo>());
    photos.back()->client = patience.client;
    photos.back()->crop = std::move(crops[i]);
    photos.back()->grids = &grids;
    photos.back()->place = i;
  }
  const auto all = [&](auto is) { return std::all_of(photos.begin(), photos.end(), is); };
  const auto begun = [](const auto& photo) { return photo->state != Photo::State::waiting; };
  const auto ended = [](const auto& photo) { return photo->state == Photo::State::done; };

  std::unique_lock lock(mutex_);
  if (line_.size() + photos.size() > most_waiting_) {
    throw Refusal(kBusy, "too many photos wait for the network: try again in a moment");
  }
  const auto is_mine = [&](const auto& one) {
    return std::find(photos.begin(), photos.end(), one) != photos.end();
  };
  try {
    for (const auto& photo : photos) line_.push(patience.client, photo);
  } catch (...) {
    line_.remove_if(patience.client, is_mine);  // they refer to `grids`
    throw;
  }
  arrived_.notify_one();
  const Waited waited = wait_with(patience, done_, lock, [&] { return all(begun); });
  if (waited != Waited::ready) {
    line_.remove_if(patience.client, is_mine);
    // Started photos write into `grids`.
    done_.wait(lock, [&] {
      return all([&](const auto& photo) { return photo->state != Photo::State::running; });
    });
    if (waited == Waited::gone) throw Refusal(kGone, "the client disconnected");
    throw Refusal(kBusy, "the photo waited too long for the network: try again in a moment");
  }
  done_.wait(lock, [&] { return all(ended); });
  for (const auto& photo : photos) {
    if (photo->failure) std::rethrow_exception(photo->failure);
  }
  return grids;
}

// One photo of each client, then a second of each: a client that sends many does not delay others.
std::vector<std::shared_ptr<EmbedQueue::Photo>> EmbedQueue::next_batch() {
  std::vector<std::shared_ptr<Photo>> batch;
  batch.reserve(embedder_->params().batch);
  const auto of_client = [&](const std::string& client) {
    return static_cast<double>(std::count_if(
        batch.begin(), batch.end(), [&](const auto& photo) { return photo->client == client; }));
  };
  while (!line_.empty() && batch.size() < embedder_->params().batch) {
    batch.push_back(*line_.pop(of_client));
    batch.back()->state = Photo::State::running;
  }
  return batch;
}

void EmbedQueue::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    arrived_.wait(lock, [&] { return closed_ || !line_.empty(); });
    if (line_.empty()) return;
    std::vector<std::shared_ptr<Photo>> batch;
    try {
      batch = next_batch();
    } catch (const std::exception&) {
      // One photo is refused, so that the queue moves on.
      const std::shared_ptr<Photo> photo = *line_.pop([](const std::string&) { return 0.0; });
      photo->failure = std::current_exception();
      photo->state = Photo::State::done;
      done_.notify_all();
      continue;
    }
    ++count_.batches;
    count_.images += batch.size();
    lock.unlock();
    done_.notify_all();  // wakes threads that wait for it to start
    try {
      embed_batch(batch);
    } catch (...) {
      for (const auto& photo : batch) photo->failure = std::current_exception();
    }
    lock.lock();
    for (const auto& photo : batch) photo->state = Photo::State::done;
    done_.notify_all();
  }
}

void EmbedQueue::embed_batch(const std::vector<std::shared_ptr<Photo>>& batch) {
  std::vector<Crop> crops;
  crops.reserve(batch.size());
  for (const auto& photo : batch) crops.push_back(std::move(photo->crop));
  const GridSet grids = embedder_->embed(crops, format_.type);
  for (std::size_t i = 0; i < batch.size(); ++i) batch[i]->grids->put(batch[i]->place, grids[i]);
}

EmbedQueue::Count EmbedQueue::count() const {
  const std::lock_guard lock(mutex_);
  Count now = count_;
  now.waiting = line_.size();
  return now;
}

}  // namespace diml::server
