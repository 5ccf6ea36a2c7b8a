// SPDX-License-Identifier: BSD-3-Clause
/// Atomic operations for loop bodies, on the host and on a GPU. All are relaxed: loops are separated by
/// barriers, so that nothing else has to become visible with the value.
#pragma once

#include <echelon/annotate.hpp>

#include <atomic>
#include <cstdint>

namespace echelon {

// The check overlooks that an atomic_ref writes to what it refers to.
// NOLINTBEGIN(readability-non-const-parameter)

/// Replaces *target by `desired` if it is `expected`. Returns the value that was found.
ECHELON_ANYWHERE inline std::int32_t compare_exchange(std::int32_t* target, std::int32_t expected,
                                                      std::int32_t desired) {
#ifdef __CUDA_ARCH__
  return atomicCAS(target, expected, desired);
#else
  std::atomic_ref<std::int32_t>(*target).compare_exchange_strong(expected, desired,
                                                                 std::memory_order_relaxed);
  return expected;
#endif
}

/// Replaces *target. Returns the value that was found.
ECHELON_ANYWHERE inline std::int32_t atomic_exchange(std::int32_t* target, std::int32_t value) {
#ifdef __CUDA_ARCH__
  return atomicExch(target, value);
#else
  return std::atomic_ref<std::int32_t>(*target).exchange(value, std::memory_order_relaxed);
#endif
}

/// The value of *target, which other threads may be changing.
ECHELON_ANYWHERE inline std::int32_t atomic_load(std::int32_t* target) {
#ifdef __CUDA_ARCH__
  return *static_cast<volatile std::int32_t*>(target);
#else
  return std::atomic_ref<std::int32_t>(*target).load(std::memory_order_relaxed);
#endif
}

/// *target += value.
ECHELON_ANYWHERE inline void atomic_add(std::int32_t* target, std::int32_t value) {
#ifdef __CUDA_ARCH__
  atomicAdd(target, value);
#else
  std::atomic_ref<std::int32_t>(*target).fetch_add(value, std::memory_order_relaxed);
#endif
}

/// *target = value, which several threads may write.
ECHELON_ANYWHERE inline void atomic_store(std::uint8_t* target, std::uint8_t value) {
#ifdef __CUDA_ARCH__
  *static_cast<volatile std::uint8_t*>(target) = value;
#else
  std::atomic_ref<std::uint8_t>(*target).store(value, std::memory_order_relaxed);
#endif
}
ECHELON_ANYWHERE inline void atomic_store(std::int32_t* target, std::int32_t value) {
#ifdef __CUDA_ARCH__
  *static_cast<volatile std::int32_t*>(target) = value;
#else
  std::atomic_ref<std::int32_t>(*target).store(value, std::memory_order_relaxed);
#endif
}

// NOLINTEND(readability-non-const-parameter)

/// *target = min(*target, value).
ECHELON_ANYWHERE inline void atomic_min(std::int32_t* target, std::int32_t value) {
#ifdef __CUDA_ARCH__
  atomicMin(target, value);
#else
  std::int32_t held = atomic_load(target);
  while (value < held) {
    const std::int32_t found = compare_exchange(target, held, value);
    if (found == held) return;
    held = found;
  }
#endif
}

/// *target = max(*target, value).
ECHELON_ANYWHERE inline void atomic_max(std::int32_t* target, std::int32_t value) {
#ifdef __CUDA_ARCH__
  atomicMax(target, value);
#else
  std::int32_t held = atomic_load(target);
  while (value > held) {
    const std::int32_t found = compare_exchange(target, held, value);
    if (found == held) return;
    held = found;
  }
#endif
}

}  // namespace echelon
