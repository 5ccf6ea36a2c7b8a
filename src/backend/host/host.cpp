// SPDX-License-Identifier: BSD-3-Clause
#include "backend/host/host.hpp"

#include <echelon/error.hpp>

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <vector>

namespace echelon {

namespace {

bool may_choose_threads(const Device& device) {
  return device == Device::openmp() && std::getenv("OMP_NUM_THREADS") == nullptr;
}

const Device& checked(const Device& device) {
  if (device.on_host()) return device;
  throw DeviceMismatch("serial and openmp cannot work in the memory of " + device.name() +
                       ": move the operand with to(device), or run on " + device.name());
}

/// offsets[i] = `sum` and the counts in [begin, i) for the elements of a part. Returns the sum with all
/// counts of the part.
std::int64_t scan_part(std::int64_t begin, std::int64_t end, std::int64_t sum, const std::int64_t* counts,
                       std::int64_t* offsets) {
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t count = counts[i];  // counts and offsets may be the same array
    offsets[i] = sum;
    sum += count;
  }
  return sum;
}

}  // namespace

Host::Host(const Device& device)
    : device_(checked(device)),
      threads_(device.threads()),
      throttle_(threads_ > 1 && may_choose_threads(device)) {}

bool Host::is_throttled() const {
  return throttle_.is_enabled() && throttle_.is_serial(std::chrono::steady_clock::now());
}

void Host::run_parts(PartFunction function, const void* body) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = throttle_.is_enabled() ? Clock::now() : Clock::time_point();
  if (throttle_.is_serial(start)) return function(body, 0, 1);
  const ThreadThrottle::Seconds cpu_start = throttle_.cpu_time();
  ThreadThrottle::Seconds cpu_end{};
  int parts = 1;
#pragma omp parallel num_threads(threads_)
  {
    function(body, omp_get_thread_num(), omp_get_num_threads());
#pragma omp master
    {
      cpu_end = throttle_.cpu_time();
      parts = omp_get_num_threads();
    }
  }
  const Clock::time_point end = Clock::now();
  throttle_.record(parts, cpu_end - cpu_start, end - start, end);
}

void Host::run_ranges(std::int64_t n, RangeFunction function, const void* body) {
  parallel(true, [=](int part, int parts) { function(body, n * part / parts, n * (part + 1) / parts); });
}

/// Two passes: each thread sums its part, then scans it from the sum of the parts before. The sum of the last
/// part is not needed.
std::int64_t Host::exclusive_scan(std::int64_t n, const std::int64_t* counts, std::int64_t* offsets) {
  const EqualParts parts = parts_of(n);
  std::vector<std::int64_t> start(static_cast<std::size_t>(parts.count), 0);
  if (parts.count > 1) {
    for_each_part(parts, [&](int p) {
      if (p + 1 == parts.count) return;
      start[static_cast<std::size_t>(p) + 1] =
          std::accumulate(counts + parts.begin(p), counts + parts.end(p), std::int64_t{0});
    });
    std::partial_sum(start.begin(), start.end(), start.begin());
  }
  for_each_part(parts, [&](int p) {
    const std::int64_t end = parts.end(p);
    const std::int64_t sum =
        scan_part(parts.begin(p), end, start[static_cast<std::size_t>(p)], counts, offsets);
    if (p + 1 == parts.count) offsets[n] = sum;
  });
  return offsets[n];
}

std::vector<std::int64_t> Host::places_of_selected(const EqualParts& parts, const std::uint8_t* flags) {
  std::vector<std::int64_t> places(static_cast<std::size_t>(parts.count) + 1, 0);
  for_each_part(parts, [&](int p) {
    if (p + 1 == parts.count) return;
    places[static_cast<std::size_t>(p) + 1] =
        parts.end(p) - parts.begin(p) - std::count(flags + parts.begin(p), flags + parts.end(p), 0);
  });
  std::partial_sum(places.begin(), places.end(), places.begin());
  return places;
}

unsigned char* Host::scratch(std::size_t bytes) {
  if (scratch_.bytes() < bytes) {
    scratch_ = Array<unsigned char>();  // frees the old array before the new one is allocated
    scratch_ = Array<unsigned char>(device_, static_cast<std::int64_t>(bytes));
  }
  return scratch_.data();
}

}  // namespace echelon
