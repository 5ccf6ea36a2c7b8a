// SPDX-License-Identifier: BSD-3-Clause
/// Where data lives and where work is done.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace echelon {

enum class DeviceKind { serial, openmp, cuda };

/// A small value: one core, the host's cores through OpenMP, or one NVIDIA GPU. `serial` and `openmp` share
/// the host's memory, so data made for one may be used by the other; a GPU has its own.
class Device {
 public:
  /// All cores of the host.
  Device() = default;
  static Device serial() { return {DeviceKind::serial, 1}; }
  /// `threads` = 0 takes as many as OpenMP offers (OMP_NUM_THREADS).
  static Device openmp(int threads = 0);
  static Device cuda(int id = 0);
  /// Reads "serial", "openmp", "openmp:4", "cuda" or "cuda:1". Throws BadOption.
  static Device parse(std::string_view text);

  [[nodiscard]] DeviceKind kind() const { return kind_; }
  [[nodiscard]] bool on_host() const { return kind_ != DeviceKind::cuda; }
  /// OpenMP threads; 1 for `serial`. Meaningless for a GPU.
  [[nodiscard]] int threads() const;
  /// The GPU's number; meaningless on the host.
  [[nodiscard]] int id() const { return number_; }
  /// As `parse` reads it.
  [[nodiscard]] std::string name() const;

  friend bool operator==(const Device&, const Device&) = default;

 private:
  Device(DeviceKind kind, int number) : kind_(kind), number_(number) {}
  DeviceKind kind_ = DeviceKind::openmp;
  int number_ = 0;  // threads (0: OpenMP's choice) or GPU id
};

/// Whether both devices address the same memory.
[[nodiscard]] bool same_memory(const Device& a, const Device& b);

/// Whether the library was built with the CUDA backend.
[[nodiscard]] bool cuda_built();
/// GPUs that can be used now; 0 without the CUDA backend, a driver or a GPU. Never throws.
[[nodiscard]] int cuda_device_count();
/// Throws NotBuilt or NoDevice, saying what to do, unless work can be done on `device`.
void require(const Device& device);
/// The hardware's own name: "NVIDIA H200", "host, 16 threads".
[[nodiscard]] std::string hardware(const Device& device);

struct MemoryInfo {
  std::size_t total = 0;      ///< bytes
  std::size_t available = 0;  ///< bytes that an allocation could get now, the container's limit respected
};
[[nodiscard]] MemoryInfo memory(const Device& device);

}  // namespace echelon
