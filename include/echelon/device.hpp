// SPDX-License-Identifier: BSD-3-Clause
/// Devices: where data is stored and where work runs.
#pragma once

#include <echelon/export.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace echelon {

enum class DeviceKind { serial, openmp, cuda, opencl };

/// A device: one core of the host (`serial`), the host's cores through OpenMP (`openmp`), one NVIDIA GPU
/// (`cuda`), or one device of an OpenCL driver (`opencl`). A small value type. `serial` and `openmp` share
/// the host's memory, so data made for one may be used by the other; each other device has a memory of its
/// own.
class ECHELON_API Device {
 public:
  /// Selects all cores of the host.
  Device() = default;
  static Device serial() { return {DeviceKind::serial, 1}; }
  /// Selects `threads` threads of the host; 0: as many as OpenMP offers (OMP_NUM_THREADS).
  static Device openmp(int threads = 0);
  static Device cuda(int id = 0);
  /// Selects a device of all OpenCL platforms: those that can be used are numbered first, GPUs before others.
  static Device opencl(int id = 0);
  /// Parses "serial", "openmp", "openmp:4", "cuda", "cuda:1", "opencl" or "opencl:1". Throws BadOption.
  static Device parse(std::string_view text);

  [[nodiscard]] DeviceKind kind() const { return kind_; }
  /// Whether this is `serial` or `openmp`.
  [[nodiscard]] bool on_host() const { return kind_ == DeviceKind::serial || kind_ == DeviceKind::openmp; }
  /// Number of OpenMP threads; 1 for `serial`. Meaningless for `cuda` and `opencl`.
  [[nodiscard]] int threads() const;
  /// Number of the GPU or OpenCL device; meaningless on the host.
  [[nodiscard]] int id() const { return number_; }
  /// Name that `parse` accepts.
  [[nodiscard]] std::string name() const;

  friend bool operator==(const Device&, const Device&) = default;

 private:
  Device(DeviceKind kind, int number) : kind_(kind), number_(number) {}
  DeviceKind kind_ = DeviceKind::openmp;
  int number_ = 0;  // threads (0: OpenMP's choice) or id
};

/// Whether both devices address the same memory.
[[nodiscard]] ECHELON_API bool same_memory(const Device& a, const Device& b);

/// Whether the library was built with the CUDA backend.
[[nodiscard]] ECHELON_API bool cuda_built();
/// Number of GPUs that can be used; 0 without the CUDA backend, a driver or a GPU. Never throws.
[[nodiscard]] ECHELON_API int cuda_device_count();
/// Whether the library was built with the OpenCL backend.
[[nodiscard]] ECHELON_API bool opencl_built();
/// Number of OpenCL devices that can be used; 0 without the OpenCL backend or a driver. Never throws.
[[nodiscard]] ECHELON_API int opencl_device_count();
/// An OpenCL device of this machine, for lists of devices.
struct ECHELON_API OpenClDeviceInfo {
  std::string platform;  ///< "Portable Computing Language"
  std::string name;      ///< of the hardware, as the driver calls it
  std::string driver;    ///< version
  std::string refusal;   ///< why the device cannot be used; empty if it can
};
/// All OpenCL devices in the order of their numbers; empty without the OpenCL backend or a driver.
[[nodiscard]] ECHELON_API std::vector<OpenClDeviceInfo> opencl_devices();
/// Checks that work can run on `device`; otherwise throws NotBuilt or NoDevice with a message that says what
/// to do.
ECHELON_API void require(const Device& device);
/// Name of the hardware: "NVIDIA H200", "host, 16 threads"; of an OpenCL device also its platform.
[[nodiscard]] ECHELON_API std::string hardware(const Device& device);

struct ECHELON_API MemoryInfo {
  std::size_t total = 0;      ///< bytes
  std::size_t available = 0;  ///< bytes that an allocation could get now, the container's limit respected
};
[[nodiscard]] ECHELON_API MemoryInfo memory(const Device& device);

}  // namespace echelon
