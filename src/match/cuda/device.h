#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <span>
#include <utility>

#include "diml/error.h"

// Memory, streams and errors of the GPU, as values.
namespace diml::cuda {

inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  const std::string line =
      std::string("the GPU failed to ") + what + ": " + cudaGetErrorString(status);
  if (status != cudaErrorMemoryAllocation) throw Error(ErrorKind::internal, line);
  throw Error(ErrorKind::out_of_resources,
              line + ": match fewer grids at a time, or use the cpu matcher", "matcher");
}

class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "start a stream"); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  operator cudaStream_t() const { return stream_; }
  void wait() const { check(cudaStreamSynchronize(stream_), "finish its work"); }

 private:
  cudaStream_t stream_ = nullptr;
};

// An array in the GPU's memory. Grows, never shrinks: allocated once, reused for every batch.
template <class T>
class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(std::size_t size) { reserve(size); }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(DeviceArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), capacity_(std::exchange(other.capacity_, 0)) {}
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }

  // Its content is lost when it grows.
  T* reserve(std::size_t size) {
    if (size > capacity_) {
      cudaFree(std::exchange(data_, nullptr));
      capacity_ = 0;
      void* memory = nullptr;
      check(cudaMalloc(&memory, size * sizeof(T)), "give memory");
      data_ = static_cast<T*>(memory);
      capacity_ = size;
    }
    return data_;
  }

  T* upload(std::span<const T> values, cudaStream_t stream) {
    reserve(values.size());
    check(
        cudaMemcpyAsync(data_, values.data(), values.size_bytes(), cudaMemcpyHostToDevice, stream),
        "take data");
    return data_;
  }

  void download(std::span<T> values, cudaStream_t stream) const {
    check(
        cudaMemcpyAsync(values.data(), data_, values.size_bytes(), cudaMemcpyDeviceToHost, stream),
        "copy data back");
  }

  T* data() const { return data_; }

 private:
  T* data_ = nullptr;
  std::size_t capacity_ = 0;
};

}  // namespace diml::cuda
