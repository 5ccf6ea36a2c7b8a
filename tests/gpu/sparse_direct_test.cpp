// SPDX-License-Identifier: BSD-3-Clause
/// sparse-cholesky and sparse-lu on a GPU, as a user calls them.
#include "gpu/gpu_fixture.hpp"
#include "support/problems.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace echelon {
namespace {

using generate::anisotropic_2d;
using generate::convection_diffusion_2d;
using generate::poisson_2d;
using generate::poisson_3d;
using test::random_dense;

template <class T>
class GpuSparseDirectOf : public test::GpuTest {
 protected:
  static constexpr double eps = std::numeric_limits<T>::epsilon();

  /// Factors and solves, and expects a backward error of rounding only for every column.
  template <class Method>
  Report expect_solved(Method& method, const Csr<T>& a, std::int64_t columns) {
    const Csr<T> on_gpu = a.to(this->gpu);
    const Report factored = method.factor(on_gpu);
    EXPECT_TRUE(factored.ready()) << factored.message;
    const Dense<T> b = random_dense<T>(a.rows(), columns, 11).to(this->gpu);
    Dense<T> x(this->gpu, a.rows(), columns);
    const Report report = method.solve(b, x);
    EXPECT_EQ(report.status, Status::direct) << report.message;
    for (const ColumnReport& column : report.columns) EXPECT_LT(column.backward_error, 20 * eps);
    return report;
  }
};

using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(GpuSparseDirectOf, Types);

TYPED_TEST(GpuSparseDirectOf, Cholesky_Grids_Solved) {
  SparseCholesky<TypeParam> cholesky(this->gpu);
  this->expect_solved(cholesky, poisson_2d<TypeParam>(1, 1), 1);
  this->expect_solved(cholesky, poisson_2d<TypeParam>(50, 70), 1);
  const Report report = this->expect_solved(cholesky, poisson_3d<TypeParam>(20, 20, 20), 11);
  EXPECT_TRUE(report.reciprocal_condition);
  EXPECT_FALSE(report.statistics.empty());
}

TYPED_TEST(GpuSparseDirectOf, Lu_Convection_Solved) {
  for (const Ordering ordering : {Ordering::automatic, Ordering::amd, Ordering::metis, Ordering::natural}) {
    SparseLu<TypeParam> lu(this->gpu, {.ordering = ordering});
    this->expect_solved(lu, convection_diffusion_2d<TypeParam>(40, 30, 20, -10), 3);
  }
}

TYPED_TEST(GpuSparseDirectOf, Lu_PermutedAndBadlyScaled_Solved) {
  const Csr<TypeParam> grid = convection_diffusion_2d<TypeParam>(30, 30, 5, 5);
  const std::int64_t n = grid.rows();
  CsrBuilder<TypeParam> builder(n, n);
  for (std::int64_t i = 0; i < n; ++i) {
    const auto scale = static_cast<TypeParam>(std::ldexp(1.0, static_cast<int>(i % 41) - 20));
    for (std::int64_t e = grid.row_offsets()[i]; e < grid.row_offsets()[i + 1]; ++e) {
      builder.add(static_cast<std::int32_t>((i * 7 + 3) % n), grid.column_indices()[e],
                  scale * grid.values()[e]);
    }
  }
  SparseLu<TypeParam> lu(this->gpu);
  this->expect_solved(lu, builder.build(), 1);
}

TYPED_TEST(GpuSparseDirectOf, UpdateValues_OtherValues_Solved) {
  Csr<TypeParam> a = poisson_2d<TypeParam>(30, 30).to(this->gpu);
  SparseCholesky<TypeParam> cholesky(this->gpu);
  ASSERT_TRUE(cholesky.factor(a).ready());
  const Csr<TypeParam> other = anisotropic_2d<TypeParam>(30, 30, 0.01).to(this->gpu);
  ASSERT_EQ(other.nonzeros(), a.nonzeros());
  const Report updated = cholesky.update_values(other);
  ASSERT_TRUE(updated.ready()) << updated.message;
  const Dense<TypeParam> b = random_dense<TypeParam>(900, 1, 3).to(this->gpu);
  Dense<TypeParam> x(this->gpu, 900, 1);
  EXPECT_LT(cholesky.solve(b, x).backward_error, 20 * this->eps);
}

TYPED_TEST(GpuSparseDirectOf, Cholesky_NotPositiveDefinite_Named) {
  SparseCholesky<TypeParam> cholesky(this->gpu);
  const Csr<TypeParam> unsymmetric = convection_diffusion_2d<TypeParam>(5, 5, 3, 0).to(this->gpu);
  EXPECT_EQ(cholesky.factor(unsymmetric).status, Status::not_spd);
  CsrBuilder<TypeParam> builder(3, 3);  // eigenvalues 1, 3 and -1
  for (std::int32_t i = 0; i < 3; ++i) builder.add(i, i, 1);
  builder.add(0, 2, 2);
  builder.add(2, 0, 2);
  const Csr<TypeParam> indefinite = builder.build().to(this->gpu);
  const Report report = cholesky.factor(indefinite);
  EXPECT_EQ(report.status, Status::not_spd);
  ASSERT_TRUE(report.row);
  EXPECT_NE(*report.row, 1);
}

TYPED_TEST(GpuSparseDirectOf, Lu_StructurallySingular_Named) {
  CsrBuilder<TypeParam> builder(3, 3);
  builder.add(0, 0, 1);
  builder.add(1, 0, 1);
  builder.add(2, 0, 1);
  builder.add(2, 2, 1);
  const Csr<TypeParam> a = builder.build().to(this->gpu);
  SparseLu<TypeParam> lu(this->gpu);
  const Report report = lu.factor(a);
  EXPECT_EQ(report.status, Status::singular);
  EXPECT_EQ(report.rank, 2);
}

/// A singular matrix of full structural rank: the host finds its rank, and a solution of a consistent system.
TYPED_TEST(GpuSparseDirectOf, Lu_SingularMatrix_IsFactoredOnTheHost) {
  using T = TypeParam;
  constexpr std::int32_t side = 30;
  std::vector<Triplet<T>> elements;
  const auto connect = [&elements](std::int32_t i, std::int32_t j) {
    elements.insert(elements.end(), {{i, i, 1}, {j, j, 1}, {i, j, -1}, {j, i, -1}});
  };
  for (std::int32_t i = 0; i < side * side; ++i) {
    if (i % side + 1 < side) connect(i, i + 1);
    if (i + side < side * side) connect(i, i + side);
  }
  const Csr<T> laplacian = Csr<T>::from_triplets(side * side, side * side, elements);
  const Csr<T> on_gpu = laplacian.to(this->gpu);
  SparseLu<T> lu(this->gpu);
  const Report factored = lu.factor(on_gpu);
  EXPECT_EQ(factored.rank, side * side - 1);
  ASSERT_FALSE(factored.warnings.empty());
  EXPECT_NE(factored.warnings[0].find("factored on the host"), std::string::npos) << factored.warnings[0];
  Dense<T> b(Device(), side * side, 2);
  for (std::int64_t i = 0; i < b.rows(); ++i) b[i] = i % 2 == 0 ? 1 : -1, b[b.rows() + i] = 1;
  Dense<T> x(this->gpu, side * side, 2);
  const Report report = lu.solve(b.to(this->gpu), x);
  EXPECT_EQ(report.columns[0].status, Status::underdetermined);
  EXPECT_LT(report.columns[0].backward_error, 20 * TestFixture::eps);
  EXPECT_EQ(report.columns[1].status, Status::inconsistent);
}

TYPED_TEST(GpuSparseDirectOf, Preconditioner_OfCg_ConvergesInTwoIterations) {
  const Csr<TypeParam> a = poisson_2d<TypeParam>(40, 40).to(this->gpu);
  Cg<TypeParam> cg(this->gpu, {.preconditioner = "sparse-cholesky"});
  ASSERT_TRUE(cg.setup(a).ready());
  const Dense<TypeParam> b = random_dense<TypeParam>(1600, 1, 3).to(this->gpu);
  Dense<TypeParam> x(this->gpu, 1600, 1);
  const Report report = cg.solve(b, x);
  EXPECT_TRUE(report.solved());
  EXPECT_LE(report.iterations, 2);
}

}  // namespace
}  // namespace echelon
