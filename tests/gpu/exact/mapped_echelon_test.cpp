// SPDX-License-Identifier: BSD-3-Clause
/// mapped-echelon on a GPU: the bits of one core of the host, in every order of the unknowns.
#include "gpu/gpu_fixture.hpp"
#include "support/exact/mapped_slices_cases.hpp"

#include <gtest/gtest.h>

namespace echelon::test {
namespace {

template <class T>
class GpuMappedEchelonOf : public GpuTest {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(GpuMappedEchelonOf, Reals);

TYPED_TEST(GpuMappedEchelonOf, Systems_HaveTheBitsOfTheHost) {
  check_mapped_systems<TypeParam>({this->gpu});
  check_mapped_systems<TypeParam>({this->gpu}, {.order = UnknownOrder::slices});
}

TYPED_TEST(GpuMappedEchelonOf, Deficient_HaveTheirRank) {
  check_mapped_deficient<TypeParam>(this->gpu);
  check_mapped_deficient<TypeParam>(this->gpu, {.order = UnknownOrder::slices});
}

TYPED_TEST(GpuMappedEchelonOf, RanksModuloPrimes) {
  check_ranks_modulo<TypeParam>(this->gpu);
}

class GpuMappedEchelon : public GpuTest {};

TEST_F(GpuMappedEchelon, Bands_InSlices) {
  check_mapped_slices({gpu});
}

TEST_F(GpuMappedEchelon, SlicesThatDoNotFit_HaveTheBitsOfTheHost) {
  check_slices_that_do_not_fit({gpu});
}

TEST_F(GpuMappedEchelon, DependentRowsInSlices_AreNamedAsOnTheHost) {
  check_slices_with_dependent_rows({gpu});
}

TEST_F(GpuMappedEchelon, SlicesModuloPrime_SolveExactly) {
  check_slices_modulo({gpu});
}

}  // namespace
}  // namespace echelon::test
