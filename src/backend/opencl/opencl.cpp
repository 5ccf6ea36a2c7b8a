// SPDX-License-Identifier: BSD-3-Clause
#include "backend/opencl/opencl.hpp"

#include <echelon/error.hpp>

namespace echelon {

namespace {
const Device& checked(const Device& device) {
  require(device);
  if (device.kind() == DeviceKind::opencl) return device;
  throw DeviceMismatch("opencl cannot work in the memory of " + device.name() +
                       ": move the operand with to(device), or run on " + device.name());
}
}  // namespace

OpenCl::OpenCl(const Device& device)
    : device_(checked(device)), loop_size_(opencl::loop_group_size(device.id())) {}

/// Sums of parts, their scan by one work-item, and the scan of each part.
void OpenCl::scan(std::int64_t n, const std::int64_t* counts, std::int64_t* offsets) {
  using namespace opencl_kernels;
  const Parts parts = parts_of(n);
  auto* const sums = scratch<std::int64_t>(most_parts + 1);
  for_each(parts.count, SumPart{parts, counts, sums});
  for_each(1, ScanSums{parts.count, sums, offsets + n});
  for_each(parts.count, ScanPart{parts, counts, sums, offsets});
}

}  // namespace echelon
