#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>

#include "device.h"
#include "finish.h"

namespace diml::learn::kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kBytes = 16;                 // per read of a thread
constexpr std::size_t kMostParts = 1024;   // some blocks for every multiprocessor of any GPU
constexpr std::size_t kRowsOfThread = 16;  // at least: fewer are not worth a block

template <typename T>
struct alignas(kBytes) Vector {
  static constexpr int kSize = kBytes / sizeof(T);
  T values[kSize];
};

__device__ float number(float value) { return value; }
__device__ float number(__nv_bfloat16 value) { return __bfloat162float(value); }
__device__ void put(float& to, float value) { to = value; }
__device__ void put(__nv_bfloat16& to, float value) { to = __float2bfloat16(value); }

template <typename T>
__global__ void __launch_bounds__(kThreads)
    finish_kernel(Vector<T>* map, const Vector<T>* bias, const Vector<T>* shortcut,
                  std::size_t vectors, unsigned of_row) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * kThreads;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x; i < vectors;
       i += step) {
    Vector<T> value = map[i];
    const Vector<T> shift = bias[i % of_row];
    Vector<T> other{};
    if (shortcut != nullptr) other = shortcut[i];
    for (int k = 0; k < Vector<T>::kSize; ++k) {
      float sum = number(value.values[k]) + number(shift.values[k]);
      if (shortcut != nullptr) sum += number(other.values[k]);
      // Not fmaxf, which drops NaN: NaN must stay NaN.
      put(value.values[k], sum < 0.0F ? 0.0F : sum);
    }
    map[i] = value;
  }
}

// A thread handles the channels of one vector, so that their sums stay in registers; the threads of
// a block that share a vector are summed through shared memory, in a fixed order.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    backward_kernel(const Vector<T>* gradient, const Vector<T>* map, Vector<T>* before,
                    float* parts, std::size_t rows, unsigned of_row) {
  constexpr int kSize = Vector<T>::kSize;
  __shared__ float shared[kThreads * kSize];
  const unsigned width = min(of_row, static_cast<unsigned>(kThreads));  // columns of this block
  const unsigned rows_at_once = kThreads / width;
  const unsigned column = blockIdx.y * width + threadIdx.x % width;
  const unsigned lane = threadIdx.x / width;
  float sums[kSize] = {};
  if (lane < rows_at_once) {
    const std::size_t step = static_cast<std::size_t>(gridDim.x) * rows_at_once;
    for (std::size_t row = static_cast<std::size_t>(blockIdx.x) * rows_at_once + lane; row < rows;
         row += step) {
      const std::size_t i = row * of_row + column;
      Vector<T> value = gradient[i];
      const Vector<T> after = map[i];
      for (int k = 0; k < kSize; ++k) {
        // Where ReLU gave 0, the gradient is 0; NaN passes.
        const float passed = number(after.values[k]) <= 0.0F ? 0.0F : number(value.values[k]);
        put(value.values[k], passed);
        sums[k] += passed;
      }
      before[i] = value;
    }
  }
  for (int k = 0; k < kSize; ++k) shared[k * kThreads + threadIdx.x] = sums[k];
  __syncthreads();
  if (threadIdx.x >= width) return;
  for (int k = 0; k < kSize; ++k) {
    float sum = 0.0F;
    for (unsigned other = 0; other < rows_at_once; ++other) {
      sum += shared[k * kThreads + other * width + threadIdx.x];
    }
    parts[static_cast<std::size_t>(blockIdx.x) * of_row * kSize + column * kSize + k] = sum;
  }
}

template <typename T>
void run_finish(const Rows& shape, void* map, const void* bias, const void* shortcut,
                cudaStream_t stream) {
  using V = Vector<T>;
  const std::size_t vectors = shape.rows * shape.channels / V::kSize;
  constexpr std::size_t kMostBlocks = 4096;
  const auto blocks =
      static_cast<unsigned>(std::min(kMostBlocks, (vectors + kThreads - 1) / kThreads));
  finish_kernel<T><<<blocks, kThreads, 0, stream>>>(
      static_cast<V*>(map), static_cast<const V*>(bias), static_cast<const V*>(shortcut), vectors,
      static_cast<unsigned>(shape.channels / V::kSize));
  cuda::check(cudaGetLastError(), "start a kernel");
}

template <typename T>
void run_backward(const Rows& shape, const void* gradient, const void* map, void* before,
                  float* parts, cudaStream_t stream) {
  using V = Vector<T>;
  const auto of_row = static_cast<unsigned>(shape.channels / V::kSize);
  const dim3 blocks(static_cast<unsigned>(parts_of(shape)), (of_row + kThreads - 1) / kThreads);
  backward_kernel<T>
      <<<blocks, kThreads, 0, stream>>>(static_cast<const V*>(gradient), static_cast<const V*>(map),
                                        static_cast<V*>(before), parts, shape.rows, of_row);
  cuda::check(cudaGetLastError(), "start a kernel");
}

std::size_t vector_of(MapType type) {
  return kBytes / (type == MapType::bfloat16 ? sizeof(__nv_bfloat16) : sizeof(float));
}

}  // namespace

bool can_finish(const Rows& shape) {
  const std::size_t size = vector_of(shape.type);
  const std::size_t of_row = shape.channels / size;
  return shape.rows > 0 && of_row > 0 && shape.channels % size == 0 &&
         (of_row <= kThreads || of_row % kThreads == 0);
}

std::size_t parts_of(const Rows& shape) {
  const std::size_t of_row = shape.channels / vector_of(shape.type);
  const std::size_t rows_at_once = kThreads / std::min<std::size_t>(kThreads, of_row);
  const std::size_t of_block = rows_at_once * kRowsOfThread;
  return std::clamp<std::size_t>((shape.rows + of_block - 1) / of_block, 1, kMostParts);
}

void finish(const Rows& shape, void* map, const void* bias, const void* shortcut, void* stream) {
  const auto on = static_cast<cudaStream_t>(stream);
  if (shape.type == MapType::bfloat16) {
    run_finish<__nv_bfloat16>(shape, map, bias, shortcut, on);
  } else {
    run_finish<float>(shape, map, bias, shortcut, on);
  }
}

void finish_backward(const Rows& shape, const void* gradient, const void* map, void* before,
                     float* parts, void* stream) {
  const auto on = static_cast<cudaStream_t>(stream);
  if (shape.type == MapType::bfloat16) {
    run_backward<__nv_bfloat16>(shape, gradient, map, before, parts, on);
  } else {
    run_backward<float>(shape, gradient, map, before, parts, on);
  }
}

}  // namespace diml::learn::kernels
