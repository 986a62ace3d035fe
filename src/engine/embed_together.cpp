#include "engine/embed_together.h"
#include "engine/process_group.h"

#include <algorithm>

#include "base/message.h"
#include "diml/error.h"

namespace diml {
namespace {

// Images that a process embeds between two exchanges: enough that an exchange costs little, few
// enough to hold in memory.
constexpr std::size_t kBlock = 64;

const std::string kStop = "stop";
const std::string kFailed = "failed: ";

std::string to_bytes(const EmbeddedBatch& batch) {
  MessageWriter message;
  message.put(std::uint64_t{batch.first});
  message.put(std::uint64_t{batch.count});
  message.put(batch.indices);
  message.put(batch.cells);
  message.put(batch.globals);
  for (const BadImage& bad : batch.bad) {
    message.put(std::uint64_t{bad.index});
    message.put(bad.why);
  }
  return message.take();
}

EmbeddedBatch from_bytes(const std::string& bytes) {
  MessageReader message(bytes);
  EmbeddedBatch batch;
  batch.first = message.get<std::uint64_t>();
  batch.count = message.get<std::uint64_t>();
  batch.indices = message.get<std::vector<std::size_t>>();
  batch.cells = message.get<std::vector<float>>();
  batch.globals = message.get<std::vector<float>>();
  while (!message.at_end()) {
    const std::size_t index = message.get<std::uint64_t>();
    batch.bad.push_back({index, message.get<std::string>()});
  }
  return batch;
}

template <typename T>
void append(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

template <typename T>
std::vector<T> taken(std::vector<T>& from, std::size_t count) {
  const auto end = from.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<T> part(std::make_move_iterator(from.begin()), std::make_move_iterator(end));
  from.erase(from.begin(), end);
  return part;
}

// Removes the first `count` images of the batch and returns them.
EmbeddedBatch taken(EmbeddedBatch& batch, std::size_t count) {
  const std::size_t kept = batch.indices.size();
  const std::size_t end = batch.first + count;
  const auto first_after = std::lower_bound(batch.indices.begin(), batch.indices.end(), end);
  const auto good = static_cast<std::size_t>(first_after - batch.indices.begin());
  EmbeddedBatch part;
  part.first = batch.first;
  part.count = count;
  part.indices = taken(batch.indices, good);
  part.bad = taken(batch.bad, count - good);
  if (kept > 0) {
    part.cells = taken(batch.cells, batch.cells.size() / kept * good);
    part.globals = taken(batch.globals, batch.globals.size() / kept * good);
  }
  batch.first = end;
  batch.count -= count;
  return part;
}

// One process among several: every size()-th block of the list is its own.
class Companion {
 public:
  Companion(ProcessGroup& processes, std::span<const std::string> paths,
            const std::function<void(const EmbeddedBatch&)>& sink, const Progress& progress)
      : processes_(processes), total_(paths.size()), sink_(sink), progress_(progress) {
    const std::size_t in_round = kBlock * processes.size();
    rounds_ = (paths.size() + in_round - 1) / in_round;
    for (std::size_t first = kBlock * processes.rank(); first < paths.size(); first += in_round) {
      const auto block = paths.subspan(first, std::min(kBlock, paths.size() - first));
      own_.insert(own_.end(), block.begin(), block.end());
    }
  }

  void embed(Embedder& embedder, const EmbedFilesParams& params) {
    const auto take = [&](const EmbeddedBatch& batch) {
      pending_.count += batch.count;
      append(pending_.indices, batch.indices);
      append(pending_.cells, batch.cells);
      append(pending_.globals, batch.globals);
      append(pending_.bad, batch.bad);
      while (going_ && pending_.count >= kBlock) exchange(taken(pending_, kBlock));
    };
    const Progress until_all_agree = Progress().with([&] { return !going_; });
    try {
      embedder.embed_files(own_, params, take, until_all_agree);
    } catch (const Error& error) {
      if (exchanging_) throw;
      if (error.kind() != ErrorKind::cancelled) tell_failure(error);
    }
    // The last block of the list is short, and some have none in the last round.
    while (going_ && round_ < rounds_) exchange(taken(pending_, pending_.count));
    if (round_ < rounds_) until_all_agree.stop_if_cancelled();
  }

 private:
  // The block with indices of the whole list in place of those of its own part.
  EmbeddedBatch placed(EmbeddedBatch block) const {
    const std::size_t shift =
        (round_ * processes_.size() + processes_.rank()) * kBlock - block.first;
    block.first += shift;
    for (std::size_t& index : block.indices) index += shift;
    for (BadImage& bad : block.bad) bad.index += shift;
    return block;
  }

  void exchange(EmbeddedBatch block) {
    exchanging_ = true;  // the other processes notice an exception from here on
    const bool empty = block.count == 0;
    agree(progress_.cancelled() ? kStop : "");
    const std::string own = empty ? "" : to_bytes(placed(std::move(block)));
    for (const std::string& bytes : processes_.gather(own)) {
      if (bytes.empty()) continue;
      const EmbeddedBatch batch = from_bytes(bytes);
      sink_(batch);
      progress_(batch.first + batch.count, total_);
    }
    ++round_;
    exchanging_ = false;
  }

  void tell_failure(const Error& error) {
    MessageWriter message;
    message.put(static_cast<std::uint64_t>(error.kind()));
    message.put(std::string(error.what()));
    message.put(std::string(error.parameter()));
    agree(kFailed + message.take());
  }

  [[noreturn]] static void throw_told(const std::string& bytes) {
    MessageReader message(bytes);
    const auto kind = static_cast<ErrorKind>(message.get<std::uint64_t>());
    const auto what = message.get<std::string>();
    // An Error keeps a literal: a bad image is the one failure that a parameter helps with.
    constexpr const char* kSkipBad = "skip_bad";
    throw Error(kind, what, message.get<std::string>() == kSkipBad ? kSkipBad : "");
  }

  void agree(const std::string& own) {
    for (const std::string& word : processes_.all_gather(own)) {
      if (word.starts_with(kFailed)) throw_told(word.substr(kFailed.size()));
      if (word == kStop) going_ = false;
    }
  }

  ProcessGroup& processes_;
  std::size_t total_;
  const std::function<void(const EmbeddedBatch&)>& sink_;
  const Progress& progress_;
  std::vector<std::string> own_;
  std::size_t rounds_ = 0;
  std::size_t round_ = 0;
  EmbeddedBatch pending_;  // embedded, not yet handed on
  bool going_ = true;
  bool exchanging_ = false;
};

}  // namespace

void embed_together(ProcessGroup& processes, Embedder& embedder, std::span<const std::string> paths,
                    const EmbedFilesParams& params,
                    const std::function<void(const EmbeddedBatch&)>& sink,
                    const Progress& progress) {
  if (processes.size() == 1) {
    embedder.embed_files(paths, params, sink, progress);
  } else {
    Companion(processes, paths, sink, progress).embed(embedder, params);
  }
}

EmbeddedFiles embed_to_memory(ProcessGroup& processes, Embedder& embedder,
                              std::span<const std::string> paths, const EmbedFilesParams& params,
                              CellType storage, const Progress& progress) {
  EmbeddedFiles files;
  files.set = GridSet(processes.is_root() ? paths.size() : 0, embedder.cells_per_grid(),
                      embedder.dim(), storage);
  const auto keep = [&](const EmbeddedBatch& batch) {
    put_grids(batch, files.set, files.kept.size());
    append(files.kept, batch.indices);
    for (const BadImage& one : batch.bad) files.bad.push_back(one.why);
  };
  embed_together(processes, embedder, paths, params, keep, progress);
  return files;
}

}  // namespace diml
