// SPDX-License-Identifier: BSD-3-Clause
// mapped-echelon with order=slices, on the host.
#include "support/mapped_echelon_cases.hpp"

#include <gtest/gtest.h>

namespace echelon::test {
namespace {

const std::vector<Device> host_devices = {Device::openmp(2), Device::openmp(5)};
const MappedEchelonOptions slices = {.order = UnknownOrder::slices};

TEST(MappedSlices, Systems_AreSolved) {
  check_mapped_systems<double>(host_devices, slices);
  check_mapped_systems<float>(host_devices, slices);
}

TEST(MappedSlices, Deficient_HaveTheirRank) {
  check_mapped_deficient<double>(Device::openmp(2), slices);
  check_mapped_deficient<float>(Device::serial(), slices);
}

TEST(MappedSlices, Bands_TakeFewRounds) {
  check_mapped_slices(host_devices);
}

TEST(MappedSlices, ModuloPrime_SolvesExactly) {
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
  const auto solution =
      solve_mapped<double>(Device::openmp(2), A, b, {.order = UnknownOrder::slices, .field = "mod:65537"});
  ASSERT_TRUE(solution.report.solved()) << solution.report.message;
  for (std::int64_t i = 0; i < 2000; ++i) EXPECT_EQ(solution.x[i], 1);
}

}  // namespace
}  // namespace echelon::test
