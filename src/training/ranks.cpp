#include "ranks.h"

#include <algorithm>
#include <chrono>
#include <csignal>

#include <torch/version.h>
// PyTorch's own packages leave out Gloo's headers.
#if defined(USE_C10D_GLOO) && __has_include(<gloo/algorithm.h>)
#define DIML_HAS_GLOO 1
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#endif
#if DIML_HAS_NCCL
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif
#if DIML_HAS_GLOO || DIML_HAS_NCCL
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#endif

#include "diml/error.h"
#include "engine/environment.h"
#include "learn/device.h"

namespace diml::training {
namespace {

#if DIML_HAS_GLOO || DIML_HAS_NCCL

// LibTorch 2.4 and later use libuv by default; Debian's LibTorch is built without it.
template <class Options>
void without_libuv(Options& options) {
  if constexpr (requires { options.useLibUV; }) options.useLibUV = false;
}

#if TORCH_VERSION_MAJOR >= 2
using Group = c10d::Backend;
#else
using Group = c10d::ProcessGroup;
#endif

std::chrono::seconds timeout() {
  constexpr std::size_t kSeconds = 300;
  return std::chrono::seconds(variable("DIML_TIMEOUT").empty() ? kSeconds
                                                               : number_in("DIML_TIMEOUT"));
}

// While it exists, writing to a process that has ended is an error and does not kill this process:
// the libraries below expect that SIGPIPE is ignored, as Python does. A handler of an embedding
// program stays.
class BrokenPipesAreErrors {
 public:
  BrokenPipesAreErrors() : before_(std::signal(SIGPIPE, SIG_IGN)) {
    if (before_ != SIG_DFL) std::signal(SIGPIPE, before_);
  }
  ~BrokenPipesAreErrors() { std::signal(SIGPIPE, before_); }
  BrokenPipesAreErrors(const BrokenPipesAreErrors&) = delete;
  BrokenPipesAreErrors& operator=(const BrokenPipesAreErrors&) = delete;

 private:
  void (*before_)(int);
};

// Over the network with Gloo, between GPUs with NCCL.
class GroupRanks final : public Ranks {
 public:
  // carrier: the device of transferred tensors, the CPU for Gloo and this process's GPU for NCCL.
  GroupRanks(ProcessPlace place, torch::Device carrier) : place_(place), carrier_(carrier) {
    std::string host = variable("MASTER_ADDR");
    if (host.empty()) {
      if (!variable("SLURM_NNODES").empty() && variable("SLURM_NNODES") != "1") {
        throw Error("several machines need MASTER_ADDR, the name of the first one");
      }
      host = "127.0.0.1";
    }
    c10d::TCPStoreOptions options;
    options.port = static_cast<std::uint16_t>(
        variable("MASTER_PORT").empty() ? 29500 : number_in("MASTER_PORT"));
    // torchrun's agent serves the store already.
    options.isServer = place.rank == 0 && variable("TORCHELASTIC_USE_AGENT_STORE") != "True";
    options.numWorkers = static_cast<decltype(options.numWorkers)::value_type>(place.size);
    options.waitWorkers = false;
    options.timeout = timeout();
    without_libuv(options);
    guarded("join", [&] {
      store_ = c10::make_intrusive<c10d::TCPStore>(host, options);
      group_ = carrier_.is_cuda() ? join_with_nccl() : join_with_gloo(host);
    });
  }

  std::size_t rank() const override { return place_.rank; }
  std::size_t size() const override { return place_.size; }

  torch::Tensor all_gather(const torch::Tensor& own) override {
    std::vector<torch::Tensor> input = {own.detach().to(carrier_).contiguous()};
    std::vector<std::vector<torch::Tensor>> output(1);
    for (std::size_t r = 0; r < size(); ++r) output[0].push_back(torch::empty_like(input[0]));
    guarded("gather", [&] { group_->allgather(output, input)->wait(); });
    std::vector<torch::Tensor> parts;
    for (std::size_t r = 0; r < size(); ++r) {
      parts.push_back(r == rank() ? own : output[0][r].to(own.device()));
    }
    return torch::cat(parts);
  }

  std::vector<std::string> all_gather(const std::string& own) override {
    const std::vector<std::int64_t> sizes = sizes_of_all(own);
    const torch::Tensor all = all_gather(padded(own, sizes));
    return texts_of(std::vector<torch::Tensor>(all.chunk(static_cast<std::int64_t>(size()))),
                    sizes);
  }

  std::vector<std::string> gather(const std::string& own) override {
    const std::vector<std::int64_t> sizes = sizes_of_all(own);
    std::vector<torch::Tensor> input = {padded(own, sizes).to(carrier_)};
    std::vector<std::vector<torch::Tensor>> output;
    if (is_root()) {
      output.emplace_back();
      for (std::size_t r = 0; r < size(); ++r) output[0].push_back(torch::empty_like(input[0]));
    }
    c10d::GatherOptions to_writer;
    to_writer.rootRank = 0;
    guarded("gather", [&] { group_->gather(output, input, to_writer)->wait(); });
    return is_root() ? texts_of(output[0], sizes) : std::vector<std::string>{};
  }

  void all_reduce(const std::map<std::string, torch::Tensor>& values) override {
    const torch::NoGradGuard no_gradient;
    // One message for all: the cost of small arrays is latency, not bytes.
    std::vector<torch::Tensor> flat;
    for (const auto& [name, value] : values) {
      flat.push_back(value.grad().defined() ? value.grad().flatten()
                                            : torch::zeros({value.numel()}, value.options()));
    }
    std::vector<torch::Tensor> sum = {torch::cat(flat).to(carrier_)};
    guarded("sum", [&] { group_->allreduce(sum)->wait(); });
    std::int64_t offset = 0;
    for (const auto& [name, value] : values) {
      const torch::Tensor part = sum[0].narrow(0, offset, value.numel()).view(value.sizes());
      offset += value.numel();
      torch::Tensor target = value;
      if (target.grad().defined()) {
        target.mutable_grad().copy_(part);
      } else {
        target.mutable_grad() = part.to(target.device()).clone();
      }
    }
  }

  // A key in the store: a barrier of Gloo would fail after the timeout, while the end of the
  // process that serves the store is noticed at once.
  void barrier() override {
    constexpr std::chrono::hours kForEver(24 * 365);
    const std::string word = "diml_writer_" + std::to_string(++words_);
    guarded("wait", [&] {
      if (is_root()) {
        store_->set(word, std::vector<std::uint8_t>{1});
      } else {
        store_->wait({word}, kForEver);
      }
    });
    // The process that serves the store must not end before the others have read the key.
    all_gather("");
  }

 private:
  c10::intrusive_ptr<Group> join_with_gloo([[maybe_unused]] const std::string& host) const {
#if DIML_HAS_GLOO
    auto settings = c10d::ProcessGroupGloo::Options::create(timeout());
    settings->devices.push_back(host == "127.0.0.1" || host == "localhost"
                                    ? c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1")
                                    : c10d::ProcessGroupGloo::createDefaultDevice());
    settings->threads = 2;
    return c10::make_intrusive<c10d::ProcessGroupGloo>(store_, static_cast<int>(place_.rank),
                                                       static_cast<int>(place_.size), settings);
#else
    return {};
#endif
  }

  c10::intrusive_ptr<Group> join_with_nccl() const {
#if DIML_HAS_NCCL
    auto settings = c10d::ProcessGroupNCCL::Options::create();
    settings->timeout = timeout();
    return c10::make_intrusive<c10d::ProcessGroupNCCL>(store_, static_cast<int>(place_.rank),
                                                       static_cast<int>(place_.size), settings);
#else
    return {};
#endif
  }

  std::vector<std::int64_t> sizes_of_all(const std::string& own) {
    const torch::Tensor sizes =
        all_gather(torch::tensor({static_cast<std::int64_t>(own.size())}, torch::kInt64));
    return {sizes.data_ptr<std::int64_t>(), sizes.data_ptr<std::int64_t>() + sizes.numel()};
  }

  // The arrays of all ranks must have the same length, above 0.
  static torch::Tensor padded(const std::string& own, const std::vector<std::int64_t>& sizes) {
    const std::int64_t longest = *std::max_element(sizes.begin(), sizes.end());
    torch::Tensor bytes = torch::zeros({std::max<std::int64_t>(1, longest)}, torch::kUInt8);
    std::copy(own.begin(), own.end(), bytes.data_ptr<std::uint8_t>());
    return bytes;
  }

  static std::vector<std::string> texts_of(const std::vector<torch::Tensor>& arrays,
                                           const std::vector<std::int64_t>& sizes) {
    std::vector<std::string> texts;
    for (std::size_t r = 0; r < arrays.size(); ++r) {
      const torch::Tensor array = arrays[r].to(torch::kCPU);
      const std::uint8_t* bytes = array.data_ptr<std::uint8_t>();
      texts.emplace_back(bytes, bytes + sizes[r]);
    }
    return texts;
  }

  template <typename Work>
  void guarded(const char* doing, const Work& work) {
    try {
      work();
    } catch (const std::exception& error) {
      const std::string text = error.what();
      throw Error(
          ErrorKind::out_of_resources,
          "process " + std::to_string(rank()) + " of " + std::to_string(size()) + " could not " +
              doing + " with the others: one of them has ended, or was silent for " +
              std::to_string(timeout().count()) + " s (DIML_TIMEOUT); its own message says why" +
              " (" + text.substr(0, text.find('\n')) + ")",
          "resume");
    }
  }

  BrokenPipesAreErrors pipes_;  // outlives the group, which may still write
  ProcessPlace place_;
  torch::Device carrier_;
  std::size_t words_ = 0;
  c10::intrusive_ptr<c10d::TCPStore> store_;
  c10::intrusive_ptr<Group> group_;
};

#endif

}  // namespace

std::unique_ptr<Ranks> join_ranks(ProcessPlace place, [[maybe_unused]] torch::Device device) {
  if (place.size == 1) return std::make_unique<Ranks>();
#if DIML_HAS_NCCL
#if !DIML_HAS_GLOO
  if (torch::cuda::is_available()) device = learn::device_named("cuda");
#endif
  if (device.is_cuda()) return std::make_unique<GroupRanks>(place, device);
#endif
#if DIML_HAS_GLOO
  return std::make_unique<GroupRanks>(place, torch::kCPU);
#else
  throw Error(
      ErrorKind::unsupported,
      "this build works in one process: several need Gloo's headers, libgloo-dev, or a GPU each "
      "and NCCL");
#endif
}

}  // namespace diml::training
