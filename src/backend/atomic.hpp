// SPDX-License-Identifier: BSD-3-Clause
/// Atomic operations for loop bodies, on the host and on other devices. All but load_acquire and
/// store_release are relaxed: loops are separated by barriers, so no operation has to make other data
/// visible.
#pragma once

#include <echelon/annotate.hpp>

#include <atomic>
#include <cstdint>

namespace echelon {

// clang-tidy does not see that an atomic_ref writes to its argument.
// NOLINTBEGIN(readability-non-const-parameter)

/// Replaces *target by `desired` if it equals `expected`. Returns the previous value.
ECHELON_ANYWHERE inline std::int32_t compare_exchange(std::int32_t* target, std::int32_t expected,
                                                      std::int32_t desired) {
#ifdef __CUDA_ARCH__
  return atomicCAS(target, expected, desired);
#elif defined(ECHELON_OPENCL_DEVICE)
  return opencl_device::compare_exchange(target, expected, desired);
#else
  std::atomic_ref<std::int32_t>(*target).compare_exchange_strong(expected, desired,
                                                                 std::memory_order_relaxed);
  return expected;
#endif
}

/// Replaces *target. Returns the previous value.
ECHELON_ANYWHERE inline std::int32_t atomic_exchange(std::int32_t* target, std::int32_t value) {
#ifdef __CUDA_ARCH__
  return atomicExch(target, value);
#elif defined(ECHELON_OPENCL_DEVICE)
  return opencl_device::exchange(target, value);
#else
  return std::atomic_ref<std::int32_t>(*target).exchange(value, std::memory_order_relaxed);
#endif
}

/// Value of *target, which other threads may modify concurrently.
ECHELON_ANYWHERE inline std::int32_t atomic_load(std::int32_t* target) {
#if defined(__CUDA_ARCH__) || defined(ECHELON_OPENCL_DEVICE)
  return *static_cast<volatile std::int32_t*>(target);
#else
  return std::atomic_ref<std::int32_t>(*target).load(std::memory_order_relaxed);
#endif
}

/// Computes *target += value.
ECHELON_ANYWHERE inline void atomic_add(std::int32_t* target, std::int32_t value) {
#ifdef __CUDA_ARCH__
  atomicAdd(target, value);
#elif defined(ECHELON_OPENCL_DEVICE)
  opencl_device::add(target, value);
#else
  std::atomic_ref<std::int32_t>(*target).fetch_add(value, std::memory_order_relaxed);
#endif
}

/// Computes *target += value. Returns the previous value.
ECHELON_ANYWHERE inline std::int64_t fetch_add(std::int64_t* target, std::int64_t value) {
#ifdef __CUDA_ARCH__
  return static_cast<std::int64_t>(
      atomicAdd(reinterpret_cast<unsigned long long*>(target), static_cast<unsigned long long>(value)));
#elif defined(ECHELON_OPENCL_DEVICE)
  return opencl_device::add(target, value);
#else
  return std::atomic_ref<std::int64_t>(*target).fetch_add(value, std::memory_order_relaxed);
#endif
}

/// Stores value in *target, which several threads may do concurrently.
ECHELON_ANYWHERE inline void atomic_store(std::uint8_t* target, std::uint8_t value) {
#if defined(__CUDA_ARCH__) || defined(ECHELON_OPENCL_DEVICE)
  *static_cast<volatile std::uint8_t*>(target) = value;
#else
  std::atomic_ref<std::uint8_t>(*target).store(value, std::memory_order_relaxed);
#endif
}
ECHELON_ANYWHERE inline void atomic_store(std::int32_t* target, std::int32_t value) {
#if defined(__CUDA_ARCH__) || defined(ECHELON_OPENCL_DEVICE)
  *static_cast<volatile std::int32_t*>(target) = value;
#else
  std::atomic_ref<std::int32_t>(*target).store(value, std::memory_order_relaxed);
#endif
}

/// Value of *flag. A thread that reads what store_release wrote also sees what its writer wrote before, on
/// the whole device.
ECHELON_ANYWHERE inline std::int32_t load_acquire(std::int32_t* flag) {
#ifdef __CUDA_ARCH__
  std::int32_t value = 0;
  asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
#elif defined(ECHELON_OPENCL_DEVICE)
  const std::int32_t value = *static_cast<volatile std::int32_t*>(flag);
  opencl_device::fence();
  return value;
#else
  return std::atomic_ref<std::int32_t>(*flag).load(std::memory_order_acquire);
#endif
}
ECHELON_ANYWHERE inline void store_release(std::int32_t* flag, std::int32_t value) {
#ifdef __CUDA_ARCH__
  asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
#elif defined(ECHELON_OPENCL_DEVICE)
  opencl_device::fence();
  *static_cast<volatile std::int32_t*>(flag) = value;
#else
  std::atomic_ref<std::int32_t>(*flag).store(value, std::memory_order_release);
#endif
}

// NOLINTEND(readability-non-const-parameter)

/// Computes *target = min(*target, value).
ECHELON_ANYWHERE inline void atomic_min(std::int32_t* target, std::int32_t value) {
#ifdef __CUDA_ARCH__
  atomicMin(target, value);
#elif defined(ECHELON_OPENCL_DEVICE)
  opencl_device::min(target, value);
#else
  std::int32_t held = atomic_load(target);
  while (value < held) {
    const std::int32_t found = compare_exchange(target, held, value);
    if (found == held) return;
    held = found;
  }
#endif
}

/// Computes *target = max(*target, value).
ECHELON_ANYWHERE inline void atomic_max(std::int32_t* target, std::int32_t value) {
#ifdef __CUDA_ARCH__
  atomicMax(target, value);
#elif defined(ECHELON_OPENCL_DEVICE)
  opencl_device::max(target, value);
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
