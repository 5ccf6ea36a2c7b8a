// SPDX-License-Identifier: BSD-3-Clause
// mapped-echelon with order=slices, on the host.
#include "mapped_echelon/system.hpp"
#include "support/exact/mapped_slices_cases.hpp"

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

TEST(MappedSlices, SlicesThatDoNotFit_AreEliminatedInRoundsOverAllRows) {
  check_slices_that_do_not_fit(host_devices);
}

TEST(MappedSlices, DependentRows_AreNamed) {
  check_slices_with_dependent_rows(host_devices);
}

TEST(MappedSlices, ModuloPrime_SolvesExactly) {
  check_slices_modulo(host_devices);
}

/// Reductions in their order, with the ends of the rounds.
template <class B>
mapped::MappedElimination<B, mapped::RealField<double>> eliminate_in_slices(B& backend, bool teams,
                                                                            const Csr<double>& A) {
  mapped::MappedElimination<B, mapped::RealField<double>> elimination(
      backend, {mapped::default_tolerance<double>}, ClaimRule::largest, UnknownOrder::slices, A.rows(),
      A.columns());
  if (!teams) elimination.disable_teams();
  elimination.run(A, {});
  return elimination;
}

TEST(MappedSlices, LocalSlices_LeaveTheRecordOfRoundsOverAllRows) {
  std::vector<Csr<double>> matrices;
  for (const std::int64_t width : {1, 3, 8}) {
    matrices.push_back(random_band<double>(3000, width, width + 1, 5));
  }
  // Slices of the wide part do not fit, and are eliminated together with others of their level.
  for (const std::int64_t widest : {20, 30}) matrices.push_back(band_with_wide_part(3000, widest));
  for (const Csr<double>& A : matrices) {
    SCOPED_TRACE(A.nonzeros());
    Host serial(Device::serial());
    auto expected = eliminate_in_slices(serial, false, A);
    EXPECT_EQ(expected.slices_of_teams(), 0);
    const auto expected_record = expected.record().to_host();
    const auto size = static_cast<std::size_t>(expected.record().size());
    for (const Device& device : {Device::serial(), Device::openmp(3)}) {
      Host backend(device);
      auto found = eliminate_in_slices(backend, true, A);
      EXPECT_GT(found.slices_of_teams(), 0);
      EXPECT_EQ(found.order(), expected.order());
      EXPECT_EQ(found.owner().to_vector(), expected.owner().to_vector());
      const auto record = found.record().to_host();
      ASSERT_EQ(found.record().ends(), expected.record().ends());
      for (std::size_t k = 0; k < size; ++k) {
        ASSERT_EQ(record.row[k], expected_record.row[k]) << k;
        ASSERT_EQ(record.pivot[k], expected_record.pivot[k]) << k;
        ASSERT_EQ(record.multiplier[k], expected_record.multiplier[k]) << k;
      }
    }
  }
}

}  // namespace
}  // namespace echelon::test
