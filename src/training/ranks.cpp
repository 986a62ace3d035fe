#include "ranks.h"

#include <chrono>
#include <cstdlib>

// PyTorch's own packages leave out Gloo's headers.
#if defined(USE_C10D_GLOO) && __has_include(<gloo/algorithm.h>)
#define DIML_HAS_GLOO 1
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#endif

#include "diml/error.h"

namespace diml::training {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::size_t number_in(const char* name) {
  const std::string text = variable(name);
  char* end = nullptr;
  const unsigned long value = std::strtoul(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0') {
    throw Error(std::string(name) + " is '" + text + "', not a number: is it set by hand?");
  }
  return value;
}

struct Place {
  std::size_t rank = 0;
  std::size_t size = 1;
};

// torchrun, Open MPI and Slurm each have their own names for the same two numbers.
Place place_of() {
  constexpr const char* kNames[][2] = {{"RANK", "WORLD_SIZE"},
                                       {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                       {"PMI_RANK", "PMI_SIZE"},
                                       {"SLURM_PROCID", "SLURM_NTASKS"}};
  for (const auto& names : kNames) {
    if (variable(names[0]).empty() || variable(names[1]).empty()) continue;
    const Place place{number_in(names[0]), number_in(names[1])};
    if (place.rank >= place.size) {
      throw Error(std::string(names[0]) + " must be below " + names[1]);
    }
    return place;
  }
  return {};
}

#if DIML_HAS_GLOO

std::chrono::seconds timeout() {
  constexpr std::size_t kSeconds = 300;
  return std::chrono::seconds(variable("DIML_TIMEOUT").empty() ? kSeconds
                                                               : number_in("DIML_TIMEOUT"));
}

class GlooRanks final : public Ranks {
 public:
  explicit GlooRanks(Place place) : place_(place) {
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
    // torchrun's agent serves already.
    options.isServer = place.rank == 0 && variable("TORCHELASTIC_USE_AGENT_STORE") != "True";
    options.numWorkers = static_cast<decltype(options.numWorkers)::value_type>(place.size);
    options.waitWorkers = false;
    options.timeout = timeout();
    guarded("join", [&] {
      store_ = c10::make_intrusive<c10d::TCPStore>(host, options);
      auto settings = c10d::ProcessGroupGloo::Options::create(timeout());
      settings->devices.push_back(host == "127.0.0.1" || host == "localhost"
                                      ? c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1")
                                      : c10d::ProcessGroupGloo::createDefaultDevice());
      settings->threads = 2;
      group_ = c10::make_intrusive<c10d::ProcessGroupGloo>(store_, static_cast<int>(place.rank),
                                                           static_cast<int>(place.size), settings);
    });
  }

  std::size_t rank() const override { return place_.rank; }
  std::size_t size() const override { return place_.size; }

  torch::Tensor gathered(const torch::Tensor& own) override {
    std::vector<torch::Tensor> input = {own.detach().to(torch::kCPU).contiguous()};
    std::vector<std::vector<torch::Tensor>> output(1);
    for (std::size_t r = 0; r < size(); ++r) output[0].push_back(torch::empty_like(input[0]));
    guarded("gather", [&] { group_->allgather(output, input)->wait(); });
    std::vector<torch::Tensor> parts;
    for (std::size_t r = 0; r < size(); ++r) {
      parts.push_back(r == rank() ? own : output[0][r].to(own.device()));
    }
    return torch::cat(parts);
  }

  void sum_gradients(const std::map<std::string, torch::Tensor>& values) override {
    const torch::NoGradGuard no_gradient;
    // One message for all: latency, not bytes, is what small arrays cost.
    std::vector<torch::Tensor> flat;
    for (const auto& [name, value] : values) {
      flat.push_back(value.grad().defined() ? value.grad().flatten()
                                            : torch::zeros({value.numel()}, value.options()));
    }
    std::vector<torch::Tensor> sum = {torch::cat(flat).to(torch::kCPU)};
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

  // Its word in the store: a barrier of Gloo would give up after the timeout, while the end of the
  // process that serves the store is noticed at once.
  void wait_for_writer() override {
    constexpr std::chrono::hours kForEver(24 * 365);
    const std::string word = "diml_writer_" + std::to_string(++words_);
    guarded("wait", [&] {
      if (writes()) {
        store_->set(word, std::vector<std::uint8_t>{1});
      } else {
        store_->wait({word}, kForEver);
      }
    });
  }

 private:
  template <typename Work>
  void guarded(const char* doing, const Work& work) {
    try {
      work();
    } catch (const std::exception& error) {
      const std::string text = error.what();
      throw Error("process " + std::to_string(rank()) + " of " + std::to_string(size()) +
                  " could not " + doing +
                  " with the others: one of them has ended, or was silent " + "for " +
                  std::to_string(timeout().count()) +
                  " s (DIML_TIMEOUT); its own message says why, --resume goes on (" +
                  text.substr(0, text.find('\n')) + ")");
    }
  }

  Place place_;
  std::size_t words_ = 0;
  c10::intrusive_ptr<c10d::TCPStore> store_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
};

#endif

}  // namespace

std::size_t local_rank() {
  for (const char* name :
       {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"}) {
    if (!variable(name).empty()) return number_in(name);
  }
  return 0;
}

std::unique_ptr<Ranks> join_ranks() {
  const Place place = place_of();
  if (place.size == 1) return std::make_unique<Ranks>();
#if DIML_HAS_GLOO
  return std::make_unique<GlooRanks>(place);
#else
  throw Error("this build trains in one process: several need Gloo's headers, libgloo-dev");
#endif
}

}  // namespace diml::training
