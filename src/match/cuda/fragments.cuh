#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>

#include "diml/grid.h"

// Cells as operands of the tensor cores' m16n8k16 product.
//
// A dot product does not care in which order its dimensions come, as long as both sides agree. So a
// lane loads eight dimensions of a row as they lie in memory and uses them as the columns that the
// instruction needs from it in two successive steps: no shared memory, no shuffles. Four lanes hold
// 32 dimensions of a row, a chunk; lane t of them holds the t-th octet.
//
// float32 values are split into two float16 planes, high and low part, whose products sum to
// float32's accuracy: unit vectors never leave float16's range, and the low part's rounding is
// below 3e-8.
namespace diml::cuda {

// Eight consecutive values of one row, packed by twos, for each plane.
template <int kPlanes>
struct Octet {
  std::uint32_t plane[kPlanes][4];
};

__device__ inline std::uint32_t pack(__half low, __half high) {
  return __half_as_ushort(low) | static_cast<std::uint32_t>(__half_as_ushort(high)) << 16;
}
__device__ inline std::uint32_t pack(__nv_bfloat16 low, __nv_bfloat16 high) {
  return __bfloat16_as_ushort(low) | static_cast<std::uint32_t>(__bfloat16_as_ushort(high)) << 16;
}

// How a cell type enters the product. Part: the 16-bit type; kGlobalParts: how many of them carry a
// float32 global to full accuracy.
template <class Cell>
struct CellTraits;
template <>
struct CellTraits<float> {
  using Part = __half;
  static constexpr int kPlanes = 2;
  static constexpr int kGlobalParts = 2;
};
template <>
struct CellTraits<__half> {
  using Part = __half;
  static constexpr int kPlanes = 1;
  static constexpr int kGlobalParts = 2;
};
template <>
struct CellTraits<__nv_bfloat16> {
  using Part = __nv_bfloat16;
  static constexpr int kPlanes = 1;
  static constexpr int kGlobalParts = 3;
};

// Calls `use` with a value of the cells' own type: selects the kernel on the host.
template <class Use>
void with_cell(CellType type, const Use& use) {
  switch (type) {
    case CellType::float16:
      return use(__half{});
    case CellType::bfloat16:
      return use(__nv_bfloat16{});
    default:
      return use(float{});
  }
}

__device__ inline __half to_part(float value, __half) { return __float2half_rn(value); }
__device__ inline __nv_bfloat16 to_part(float value, __nv_bfloat16) {
  return __float2bfloat16_rn(value);
}
__device__ inline float from_part(__half value) { return __half2float(value); }
__device__ inline float from_part(__nv_bfloat16 value) { return __bfloat162float(value); }

// Octet `t` of a chunk of 32 dimensions. 16-bit cells: eight in a row, one load. float32 cells:
// four and four, 16 dimensions apart, so that each of the two loads fills whole sectors.
template <class Half>
__device__ inline Octet<1> load_octet(const Half* chunk, int t) {
  const uint4 bits = __ldg(reinterpret_cast<const uint4*>(chunk) + t);
  return {{{bits.x, bits.y, bits.z, bits.w}}};
}
__device__ inline Octet<2> load_octet(const float* chunk, int t) {
  const float4 first = __ldg(reinterpret_cast<const float4*>(chunk) + t);
  const float4 second = __ldg(reinterpret_cast<const float4*>(chunk) + 4 + t);
  const float2 values[4] = {
      {first.x, first.y}, {first.z, first.w}, {second.x, second.y}, {second.z, second.w}};
  Octet<2> octet;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const __half2 high = __float22half2_rn(values[k]);
    const float2 kept = __half22float2(high);
    const __half2 low = __floats2half2_rn(values[k].x - kept.x, values[k].y - kept.y);
    octet.plane[0][k] = *reinterpret_cast<const std::uint32_t*>(&high);
    octet.plane[1][k] = *reinterpret_cast<const std::uint32_t*>(&low);
  }
  return octet;
}

// A global of kDim dimensions in shared memory, as parts of 16 bits in the order of the cells'
// octets.
template <class Cell, int kDim>
struct GlobalParts {
  using Traits = CellTraits<Cell>;
  using Part = typename Traits::Part;
  static_assert(kDim == 128, "four dimensions a lane");

  alignas(16) std::uint32_t parts[Traits::kGlobalParts][kDim / 2];

  // values: dimensions 4 lane to 4 lane + 3.
  __device__ void store(float4 values, int lane) {
    const int within = lane % 8;
    const int octet = lane / 8 * 4 + (Traits::kPlanes == 2 ? within % 4 : within / 2);
    const int half = Traits::kPlanes == 2 ? within / 4 : within % 2;
#pragma unroll
    for (int part = 0; part < Traits::kGlobalParts; ++part) {
      const Part x = to_part(values.x, Part{});
      const Part y = to_part(values.y, Part{});
      const Part z = to_part(values.z, Part{});
      const Part w = to_part(values.w, Part{});
      *reinterpret_cast<uint2*>(&parts[part][octet * 4 + half * 2]) =
          make_uint2(pack(x, y), pack(z, w));
      values.x -= from_part(x);
      values.y -= from_part(y);
      values.z -= from_part(z);
      values.w -= from_part(w);
    }
  }

  // Octet t of a chunk of part number `which`; nothing where there is no such part.
  __device__ Octet<1> octet(int chunk, int t, int which) const {
    uint4 bits = make_uint4(0, 0, 0, 0);
    if (which < Traits::kGlobalParts) {
      bits = *reinterpret_cast<const uint4*>(&parts[which][(chunk * 4 + t) * 4]);
    }
    return {{{bits.x, bits.y, bits.z, bits.w}}};
  }
};

// sum[16 x 8] += A[16 x 16] B[16 x 8], float32 sums.
__device__ inline void multiply_add(float (&sum)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                    std::uint32_t b1, __half) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
}
__device__ inline void multiply_add(float (&sum)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                    std::uint32_t b1, __nv_bfloat16) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
}

// The two steps that eight dimensions a lane make. upper, lower: rows g and g + 8 of the left side.
template <class Part>
__device__ inline void multiply_octets(float (&sum)[4], const std::uint32_t (&upper)[4],
                                       const std::uint32_t (&lower)[4],
                                       const std::uint32_t (&right)[4]) {
  const std::uint32_t first[4] = {upper[0], lower[0], upper[1], lower[1]};
  const std::uint32_t second[4] = {upper[2], lower[2], upper[3], lower[3]};
  multiply_add(sum, first, right[0], right[1], Part{});
  multiply_add(sum, second, right[2], right[3], Part{});
}

// Every product of planes that matters: the low parts' own product is below float32's rounding.
template <class Part, int kLeft, int kRight>
__device__ inline void multiply_planes(float (&sum)[4], const Octet<kLeft>& upper,
                                       const Octet<kLeft>& lower, const Octet<kRight>& right) {
#pragma unroll
  for (int l = 0; l < kLeft; ++l) {
#pragma unroll
    for (int r = 0; r < kRight; ++r) {
      if (l + r == kLeft + kRight - 2 && kLeft + kRight > 3) continue;
      multiply_octets<Part>(sum, upper.plane[l], lower.plane[l], right.plane[r]);
    }
  }
}

}  // namespace diml::cuda
