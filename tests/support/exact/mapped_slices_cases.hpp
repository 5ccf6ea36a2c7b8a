// SPDX-License-Identifier: BSD-3-Clause
/// Cases of elimination to mapped echelon form in slices, for every device.
#pragma once

#include "support/exact/mapped_echelon_cases.hpp"

namespace echelon::test {

inline std::int64_t count_of(const Report& report, std::string_view statistic) {
  return std::get<std::int64_t>(report.find_statistic(statistic)->value);
}

/// Solves A x = b in slices on a device, and holds the answer against that of one core. Returns the number of
/// slices that were eliminated in the memory of one multiprocessor or thread.
inline std::int64_t check_local_slices(const Device& device, const Csr<double>& A,
                                       const MappedSolution<double>& serial, const Dense<double>& b) {
  SCOPED_TRACE(device.name());
  const MappedSolution<double> solution = solve_mapped(device, A, b, {.order = UnknownOrder::slices});
  EXPECT_EQ(solution.report.status, serial.report.status);
  EXPECT_EQ(solution.report.message, serial.report.message);
  EXPECT_TRUE(same_bits(solution.x, serial.x));
  for (const char* statistic : {"rounds", "levels", "reductions", "factor_elements"}) {
    EXPECT_EQ(count_of(solution.report, statistic), count_of(serial.report, statistic)) << statistic;
  }
  return count_of(solution.report, "local_slices");
}

/// Bands long enough for several levels of slices: the accuracy and the bits of one core. Claims that prove
/// unstable are repeated in natural order, without slices. In single precision, x overflows.
inline void check_mapped_slices(const std::vector<Device>& devices) {
  const MappedEchelonOptions slices = {.order = UnknownOrder::slices};
  std::int64_t most_levels = 0;
  std::int64_t local = 0;
  for (const std::int64_t width : {1, 3, 8}) {
    for (const std::int64_t n : {1, 31, 33, 200, 1025, 9000}) {
      SCOPED_TRACE("n " + std::to_string(n) + ", width " + std::to_string(width));
      const Csr<double> A = random_band<double>(n, width, width + 1, 5);
      const Dense<double> b = random_dense<double>(n, 2, 7);
      const MappedSolution<double> serial = solve_mapped(Device::serial(), A, b, slices);
      ASSERT_EQ(serial.report.status, Status::direct) << serial.report.message;
      EXPECT_LT(assess(A, serial.x, b, 0).scaled_residual, mapped_passing);
      const std::int64_t levels = count_of(serial.report, "levels");
      if (levels > 1) {
        EXPECT_LT(count_of(serial.report, "rounds"), n / 4 + 128);
      }
      most_levels = std::max(most_levels, levels);
      for (const Device& device : devices) local += check_local_slices(device, A, serial, b);
    }
  }
  EXPECT_GT(most_levels, 1);
  EXPECT_GT(local, 0);
}

/// A tridiagonal matrix, but for the rows from 1000 to 1200, which have a half-width of `widest`.
inline Csr<double> band_with_wide_part(std::int64_t n, std::int64_t widest) {
  std::mt19937 random(9);
  std::uniform_real_distribution<double> value(-1, 1);
  std::vector<Triplet<double>> triplets;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t width = i >= 1000 && i < 1200 ? widest : 1;
    for (std::int64_t j = std::max<std::int64_t>(0, i - width); j <= std::min(n - 1, i + width); ++j) {
      triplets.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j),
                          i == j ? 4 + value(random) : value(random)});
    }
  }
  return Csr<double>::from_triplets(n, n, triplets);
}

/// Slices of which none, those of the wide part, or all do not fit into the memory of a multiprocessor or of
/// a thread.
inline void check_slices_that_do_not_fit(const std::vector<Device>& devices) {
  for (const std::int64_t widest : {20, 30, 60}) {
    SCOPED_TRACE("half-width " + std::to_string(widest));
    const Csr<double> A = band_with_wide_part(5000, widest);
    const Dense<double> b = random_dense<double>(5000, 2, 7);
    const MappedSolution<double> serial =
        solve_mapped(Device::serial(), A, b, {.order = UnknownOrder::slices});
    ASSERT_EQ(serial.report.status, Status::direct) << serial.report.message;
    for (const Device& device : devices) {
      const std::int64_t local = check_local_slices(device, A, serial, b);
      if (widest == 20) {
        EXPECT_GT(local, 0);
      }
    }
  }
}

/// A band with two more rows, sums of two others each: consistent or not, the equations that contradict each
/// other are those that one core names.
inline void check_slices_with_dependent_rows(const std::vector<Device>& devices) {
  constexpr std::int64_t n = 1025;
  Csr<double> band = random_band<double>(n, 2, 3, 5);
  // Sums of integers are exact, so that the contradiction is proven.
  for (std::int64_t k = 0; k < band.nonzeros(); ++k) band.values()[k] = std::round(1000 * band.values()[k]);
  std::vector<Triplet<double>> triplets;
  const auto append = [&](std::int64_t source, std::int64_t target) {
    for (std::int64_t k = band.row_offsets()[source]; k < band.row_offsets()[source + 1]; ++k) {
      triplets.push_back({static_cast<std::int32_t>(target), band.column_indices()[k], band.values()[k]});
    }
  };
  for (std::int64_t i = 0; i < n; ++i) append(i, i);
  for (const std::int64_t offset : {0, 1}) {
    append(5 + offset, n);
    append(500 + offset, n + 1);
  }
  const Csr<double> A = Csr<double>::from_triplets(n + 2, n, triplets);
  Dense<double> b = consistent_rhs(A, 1, 3);
  for (const Status expected : {Status::direct, Status::inconsistent}) {
    const MappedSolution<double> serial =
        solve_mapped(Device::serial(), A, b, {.order = UnknownOrder::slices});
    ASSERT_EQ(serial.report.status, expected) << serial.report.message;
    for (const Device& device : devices) {
      EXPECT_GT(check_local_slices(device, A, serial, b), 0);
    }
    b(n + 1, 0) += 1000;
  }
}

/// A tridiagonal matrix modulo a prime, whose solution is a vector of ones, whichever rows own the unknowns.
inline void check_slices_modulo(const std::vector<Device>& devices) {
  std::vector<Triplet<double>> elements;
  for (std::int32_t i = 0; i < 2000; ++i) {
    elements.push_back({i, i, 3});
    if (i > 0) elements.push_back({i, i - 1, 1});
    if (i + 1 < 2000) elements.push_back({i, i + 1, 2});
  }
  const Csr<double> A = Csr<double>::from_triplets(2000, 2000, elements);
  std::vector<double> sums(2000, 6);
  sums.front() = 5;
  sums.back() = 4;
  const Dense<double> b = Dense<double>(2000, 1, Array<double>(Device(), std::span<const double>(sums)));
  for (const Device& device : devices) {
    for (const ClaimRule claim : {ClaimRule::largest, ClaimRule::first}) {
      const auto solution = solve_mapped<double>(
          device, A, b, {.claim = claim, .order = UnknownOrder::slices, .field = "mod:65537"});
      ASSERT_TRUE(solution.report.solved()) << solution.report.message;
      EXPECT_GT(count_of(solution.report, "local_slices"), 0);
      for (std::int64_t i = 0; i < 2000; ++i) ASSERT_EQ(solution.x[i], 1);
    }
  }
}

}  // namespace echelon::test
