// SPDX-License-Identifier: BSD-3-Clause
// Scans, sorts and selections by CUB. Values are moved as bits.
#include "backend/cuda/cuda.cuh"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

namespace echelon {

namespace {

/// counts[i] for i < n, and 0 for i = n.
struct CountOrZero {
  const std::int64_t* counts;
  std::int64_t n;
  __host__ __device__ std::int64_t operator()(std::int64_t i) const { return i < n ? counts[i] : 0; }
};

}  // namespace

/// Runs a CUB algorithm, call(scratch, bytes, result): once to query the size of its temporary memory, then
/// with that memory. Returns the address of the number that the algorithm wrote to *result, if it does.
template <class Call>
std::int64_t* Cuda::with_cub_scratch(Call call) {
  const CurrentDevice current(device_.id());
  constexpr std::size_t alignment = 256;  // of CUB's memory; the result lies in front of it
  std::size_t bytes = 0;
  check(call(nullptr, bytes, static_cast<std::int64_t*>(nullptr)));
  auto* begin = static_cast<unsigned char*>(scratch(alignment + bytes));
  auto* number = reinterpret_cast<std::int64_t*>(begin);
  check(call(begin + alignment, bytes, number));
  return number;
}

void Cuda::scan(std::int64_t n, const std::int64_t* counts, std::int64_t* offsets) {
  const auto in = thrust::make_transform_iterator(thrust::make_counting_iterator(std::int64_t{0}),
                                                  CountOrZero{counts, n});
  with_cub_scratch([&](void* scratch, std::size_t& bytes, std::int64_t*) {
    return cub::DeviceScan::ExclusiveSum(scratch, bytes, in, offsets, n + 1, stream());
  });
}

std::int64_t Cuda::exclusive_scan(std::int64_t n, const std::int64_t* counts, std::int64_t* offsets) {
  scan(n, counts, offsets);
  return read(offsets + n);
}

template <class K, class V>
void Cuda::sort_pairs(std::int64_t n, int first_bit, int last_bit, const K* keys, K* sorted_keys,
                      const V* values, V* sorted_values) {
  with_cub_scratch([&](void* scratch, std::size_t& bytes, std::int64_t*) {
    return cub::DeviceRadixSort::SortPairs(scratch, bytes, keys, sorted_keys, values, sorted_values, n,
                                           first_bit, last_bit, stream());
  });
}

template <class V>
std::int64_t Cuda::select_bits(std::int64_t n, const std::uint8_t* flags, const V* source, V* target) {
  if (n == 0) return 0;
  return read(with_cub_scratch([&](void* scratch, std::size_t& bytes, std::int64_t* selected) {
    return cub::DeviceSelect::Flagged(scratch, bytes, source, flags, target, selected, n, stream());
  }));
}

template void Cuda::sort_pairs(std::int64_t, int, int, const std::uint32_t*, std::uint32_t*,
                               const std::uint32_t*, std::uint32_t*);
template void Cuda::sort_pairs(std::int64_t, int, int, const std::uint32_t*, std::uint32_t*,
                               const std::uint64_t*, std::uint64_t*);
template void Cuda::sort_pairs(std::int64_t, int, int, const std::uint64_t*, std::uint64_t*,
                               const std::uint32_t*, std::uint32_t*);
template void Cuda::sort_pairs(std::int64_t, int, int, const std::uint64_t*, std::uint64_t*,
                               const std::uint64_t*, std::uint64_t*);
template std::int64_t Cuda::select_bits(std::int64_t, const std::uint8_t*, const std::uint32_t*,
                                        std::uint32_t*);
template std::int64_t Cuda::select_bits(std::int64_t, const std::uint8_t*, const std::uint64_t*,
                                        std::uint64_t*);

}  // namespace echelon
