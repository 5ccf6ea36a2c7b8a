// SPDX-License-Identifier: BSD-3-Clause
#include "backend/device/memory.hpp"
#include "backend/device/thread_start.hpp"

#include <echelon/device.hpp>
#include <echelon/error.hpp>

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>

namespace echelon {

namespace {
int parse_number(std::string_view text, std::string_view digits, int low, int high) {
  int value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || value < low || value > high) {
    throw BadOption("device", fmt::format("'{}' is not a device: '{}' is not a number from {} to {}", text,
                                          digits, low, high));
  }
  return value;
}

/// Number of processors that the control group grants, rounded up; without a limit the largest int. The
/// kernel suspends the threads of a process that exceeds its quota.
int granted_processors() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");  // "QUOTA PERIOD" or "max PERIOD"
  double quota = 0;
  double period = 0;
  if (!(file >> quota >> period) || !(period > 0)) return std::numeric_limits<int>::max();
  return std::max(1, static_cast<int>(std::ceil(quota / period)));
}

/// Number of threads of OpenMP, which respects OMP_NUM_THREADS and the process's affinity. Unless the user
/// set it, at most the number of processors that the control group grants, which OpenMP ignores.
int default_threads() {
  static const int limit =
      std::getenv("OMP_NUM_THREADS") == nullptr ? granted_processors() : std::numeric_limits<int>::max();
  return std::min(omp_get_max_threads(), limit);
}
}  // namespace

Device Device::openmp(int threads) {
  if (threads < 0 || threads > most_threads) {
    throw BadOption("device", fmt::format("{} OpenMP threads: give 1 to {}, or 0 for OpenMP's choice",
                                          threads, most_threads));
  }
  return {DeviceKind::openmp, threads};
}

Device Device::cuda(int id) {
  if (id < 0) throw BadOption("device", fmt::format("GPU {}: numbers start at 0", id));
  return {DeviceKind::cuda, id};
}

Device Device::opencl(int id) {
  if (id < 0) throw BadOption("device", fmt::format("OpenCL device {}: numbers start at 0", id));
  return {DeviceKind::opencl, id};
}

Device Device::parse(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const bool numbered = colon != std::string_view::npos;
  const std::string_view digits = numbered ? text.substr(colon + 1) : std::string_view();
  if (kind == "serial" && !numbered) return serial();
  if (kind == "openmp") return openmp(numbered ? parse_number(text, digits, 1, most_threads) : 0);
  if (kind == "cuda") return cuda(numbered ? parse_number(text, digits, 0, most_threads) : 0);
  if (kind == "opencl") return opencl(numbered ? parse_number(text, digits, 0, most_threads) : 0);
  throw BadOption("device",
                  fmt::format("there is no device '{}'; devices are serial, openmp[:threads], cuda[:id] and "
                              "opencl[:id]",
                              text),
                  nearest_name(kind, {"serial", "openmp", "cuda", "opencl"}));
}

int Device::threads() const {
  if (kind_ == DeviceKind::serial) return startable_threads(1);
  return startable_threads(number_ > 0 ? number_ : default_threads());
}

std::string Device::name() const {
  switch (kind_) {
    case DeviceKind::serial:
      return "serial";
    case DeviceKind::openmp:
      return number_ > 0 ? fmt::format("openmp:{}", number_) : "openmp";
    case DeviceKind::cuda:
      return number_ > 0 ? fmt::format("cuda:{}", number_) : "cuda";
    case DeviceKind::opencl:
      return number_ > 0 ? fmt::format("opencl:{}", number_) : "opencl";
  }
  return {};
}

bool same_memory(const Device& a, const Device& b) {
  return a.on_host() ? b.on_host() : a.kind() == b.kind() && a.id() == b.id();
}

bool cuda_built() {
  return cuda_memory::built();
}

int cuda_device_count() {
  return cuda_memory::device_count();
}

bool opencl_built() {
  return opencl_memory::built();
}

int opencl_device_count() {
  return opencl_memory::device_count();
}

std::vector<OpenClDeviceInfo> opencl_devices() {
  return opencl_memory::devices();
}

void require(const Device& device) {
  if (device.on_host()) return;
  if (device.kind() == DeviceKind::opencl) return opencl_memory::require(device.id());
  if (!cuda_built()) cuda_memory::hardware(device.id());  // throws with instructions
  const int count = cuda_device_count();
  if (count == 0) {
    throw NoDevice(
        "no NVIDIA GPU can be used here (no GPU or no driver; `nvidia-smi` tells more): use "
        "device openmp");
  }
  if (device.id() >= count) {
    throw NoDevice(
        fmt::format("there is no GPU {}: this machine has {}, numbered from 0", device.id(), count));
  }
}

std::string hardware(const Device& device) {
  require(device);
  if (device.kind() == DeviceKind::cuda) return cuda_memory::hardware(device.id());
  if (device.kind() == DeviceKind::opencl) {
    const OpenClDeviceInfo info = opencl_devices().at(static_cast<std::size_t>(device.id()));
    return fmt::format("{} ({})", info.name, info.platform);
  }
  return fmt::format("host, {} thread{}", device.threads(), device.threads() == 1 ? "" : "s");
}

}  // namespace echelon
