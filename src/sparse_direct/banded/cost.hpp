// SPDX-License-Identifier: BSD-3-Clause
/// Predicted cost of a band factorisation.
#pragma once

#include "sparse_direct/banded/assemble.hpp"

#include <cstddef>
#include <cstdint>

namespace echelon::banded {

/// Flops of LU of an n-by-n matrix with pivoting, in one or two partitions.
[[nodiscard]] inline double factor_flops(std::int64_t n, Bandwidths widths) {
  const auto lower = static_cast<double>(widths.lower);
  return 2 * static_cast<double>(n) * lower * (lower + static_cast<double>(widths.upper));
}

/// Bytes of multipliers, pivot rows, and the numbers kept for each row.
[[nodiscard]] inline std::size_t predicted_bytes(std::int64_t n, Bandwidths widths,
                                                 std::size_t element_size) {
  return static_cast<std::size_t>(n) *
         (static_cast<std::size_t>(2 * widths.lower + widths.upper + 9) * element_size + 4);
}

/// Seconds on one core for assembly, factorisation, condition estimate and one solution. The rates are those
/// of half-bandwidths 1 to 256, 0.2 to 19 us a row: the factors are written once and read by about ten
/// substitutions.
[[nodiscard]] inline double predicted_seconds(std::int64_t n, Bandwidths widths, std::size_t element_size) {
  constexpr double factor_bytes_per_second = 5e8;
  constexpr double flops_per_second = 3.5e10;
  return static_cast<double>(predicted_bytes(n, widths, element_size)) / factor_bytes_per_second +
         factor_flops(n, widths) / flops_per_second;
}

/// Seconds on an H200 for the same: 20 ms for a million rows with half-bandwidth 32, 40 ms with 64. Bands
/// whose interfaces are too wide for panels are eliminated in one partition, 32 columns in 70 us.
[[nodiscard]] inline double predicted_gpu_seconds(std::int64_t n, Bandwidths widths) {
  constexpr double launches = 1e-3;
  const std::int64_t interface = widths.lower + widths.upper;
  const double seconds_per_row = interface <= 512 ? 3e-9 + 4e-10 * static_cast<double>(interface) : 2.2e-6;
  return launches + static_cast<double>(n) * seconds_per_row;
}

/// Seconds of a reverse Cuthill-McKee numbering on the host. `entries`: rows and stored elements, which are
/// read in random order.
[[nodiscard]] constexpr double ordering_seconds(double entries) {
  return 6e-8 * entries;
}

/// Seconds of the same numbering on a core of an H200's host. Measured: 0.014 us an entry for matrices that
/// stay in the cache, 0.03 to 0.09 us for others.
[[nodiscard]] constexpr double ordering_seconds_beside_gpu(double entries) {
  return 3e-8 * entries;
}

}  // namespace echelon::banded
