// SPDX-License-Identifier: BSD-3-Clause
/// sparse-cholesky and sparse-lu on a GPU, as a user calls them.
#include "gpu/gpu_fixture.hpp"
#include "support/dense/symmetric.hpp"
#include "support/problems.hpp"
#include "support/sparse_systems.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace echelon {
namespace {

using generate::anisotropic_2d;
using generate::convection_diffusion_2d;
using generate::poisson_2d;
using generate::poisson_3d;
using test::random_dense;
using test::random_symmetric;

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

TYPED_TEST(GpuSparseDirectOf, PreconditionerColumns_Solved) {
  using T = TypeParam;
  const Csr<T> A = poisson_3d<T>(12, 11, 10);
  const std::int64_t n = A.rows();
  const Csr<T> on_gpu = A.to(this->gpu);
  SparseCholesky<T> cholesky(this->gpu);
  ASSERT_TRUE(cholesky.factor(on_gpu).ready());
  PreconditionerApplication<T> apply(cholesky, n);
  for (const std::int64_t columns : {0, 1, 8, 11}) {
    const Dense<T> R = random_dense<T>(n, columns, 5).to(this->gpu);
    Dense<T> Z(this->gpu, n, columns);
    apply(R.view(), Z.view());
    Dense<T> residual = R.to(Device::serial());
    const Dense<T> solution = Z.to(Device::serial());
    multiply<T>(T{-1}, A, solution.view(), T{1}, residual.view());
    for (std::int64_t k = 0; k < n * columns; ++k)
      ASSERT_LT(std::abs(static_cast<double>(residual.data()[k])), 1000 * this->eps) << columns << " columns";
  }
}

TYPED_TEST(GpuSparseDirectOf, Lu_Convection_Solved) {
  for (const Ordering ordering : {Ordering::automatic, Ordering::amd, Ordering::metis, Ordering::natural}) {
    SparseLu<TypeParam> lu(this->gpu, {.ordering = ordering});
    this->expect_solved(lu, convection_diffusion_2d<TypeParam>(40, 30, 20, -10), 3);
  }
}

/// Fronts of different sizes take different amounts of shared memory in the same kernels.
TYPED_TEST(GpuSparseDirectOf, SeveralThreads_FactorAtTheSameTime) {
  constexpr int threads = 4;
  constexpr int factorizations = 8;
  std::vector<int> solved(threads, 0);
  {
    std::vector<std::jthread> workers;
    for (int t = 0; t < threads; ++t) {
      workers.emplace_back([&, t] {
        const Csr<TypeParam> a = poisson_3d<TypeParam>(4 + 3 * t, 9, 9).to(this->gpu);
        const Dense<TypeParam> b = random_dense<TypeParam>(a.rows(), 1, 7).to(this->gpu);
        Dense<TypeParam> x(this->gpu, a.rows(), 1);
        for (int i = 0; i < factorizations; ++i) {
          SparseLu<TypeParam> lu(this->gpu);
          SparseCholesky<TypeParam> cholesky(this->gpu);
          if (!lu.factor(a).ready() || !cholesky.factor(a).ready()) continue;
          solved[static_cast<std::size_t>(t)] +=
              lu.solve(b, x).solved() && cholesky.solve(b, x).solved() ? 1 : 0;
        }
      });
    }
  }
  EXPECT_EQ(solved, std::vector<int>(threads, factorizations));
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

/// The set-up stops before its factorisation, the update within it; both leave a solver that can be used.
template <class Method, class T>
void expect_cancelled_and_usable(const Device& gpu, const Csr<T>& a) {
  std::stop_source source;
  source.request_stop();
  Control stopped;
  stopped.cancel = source.get_token();
  Method method(gpu);
  EXPECT_EQ(method.factor(a, stopped).status, Status::cancelled);
  ASSERT_TRUE(method.factor(a).ready());
  EXPECT_EQ(method.update_values(a, stopped).status, Status::cancelled);
  ASSERT_TRUE(method.factor(a).ready());
  const Dense<T> b = random_dense<T>(a.rows(), 1, 3).to(gpu);
  Dense<T> x(gpu, a.rows(), 1);
  EXPECT_LT(method.solve(b, x).backward_error, 20 * std::numeric_limits<T>::epsilon());
}

TYPED_TEST(GpuSparseDirectOf, Cancelled_BeforeAndWithinTheFactorization) {
  using T = TypeParam;
  const Csr<T> a = poisson_2d<T>(60, 60).to(this->gpu);
  expect_cancelled_and_usable<SparseCholesky<T>>(this->gpu, a);
  expect_cancelled_and_usable<SparseLu<T>>(this->gpu, a);
  expect_cancelled_and_usable<SparseLdlt<T>>(this->gpu, a);
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

/// [H C^T; C 0] for a grid's H, whose constraints couple neighbours; constraints come first or last.
template <class T>
Csr<T> saddle_point_on_grid(std::int32_t side, bool constraints_first) {
  const Csr<T> h = poisson_2d<T>(side, side);
  const auto n = static_cast<std::int32_t>(h.rows());
  const std::int32_t m = n / 3;
  const std::int32_t variable = constraints_first ? m : 0;
  const std::int32_t constraint = constraints_first ? 0 : n;
  CsrBuilder<T> builder(n + m, n + m);
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int64_t e = h.row_offsets()[i]; e < h.row_offsets()[i + 1]; ++e)
      builder.add(variable + i, variable + h.column_indices()[e], h.values()[e]);
  }
  for (std::int32_t k = 0; k < m; ++k) {
    for (const std::int32_t j : {3 * k, 3 * k + 1, (3 * k + side) % n}) {
      const auto value = static_cast<T>(1 + j % 3 - 3 * (j % 2));
      builder.add(constraint + k, variable + j, value);
      builder.add(variable + j, constraint + k, value);
    }
  }
  return builder.build();
}

/// Inertia of the factors, compared with that of the host's.
template <class T>
void expect_inertia_of_host(const Report& on_gpu, const Csr<T>& a) {
  EXPECT_TRUE(on_gpu.warnings.empty()) << on_gpu.warnings[0];
  SparseLdlt<T> host(Device::serial());
  const Report expected = host.factor(a);
  for (const char* name : {"positive_eigenvalues", "negative_eigenvalues", "zero_eigenvalues"})
    EXPECT_EQ(test::statistic(on_gpu, name), test::statistic(expected, name)) << name;
}

TYPED_TEST(GpuSparseDirectOf, Ldlt_SaddlePoints_SolvedWithInertia) {
  using T = TypeParam;
  for (const std::int32_t side : {2, 8, 40}) {
    for (const bool constraints_first : {false, true}) {
      const Csr<T> a = saddle_point_on_grid<T>(side, constraints_first);
      SparseLdlt<T> ldlt(this->gpu);
      this->expect_solved(ldlt, a, 3);
      const Csr<T> on_gpu = a.to(this->gpu);
      const Report report = ldlt.factor(on_gpu);
      EXPECT_EQ(test::statistic(report, "negative_eigenvalues"), side * side / 3);
      expect_inertia_of_host(report, a);
    }
  }
}

/// Eigenvalues of the grid below the shift become negative. Fronts have up to some hundred pivots.
TYPED_TEST(GpuSparseDirectOf, Ldlt_ShiftedGrids_SolvedWithInertia) {
  using T = TypeParam;
  for (const std::int64_t side : {1, 2, 5, 6, 13, 15}) {
    const Csr<T> grid = poisson_3d<T>(side, side, side);
    CsrBuilder<T> builder(grid.rows(), grid.rows());
    for (std::int64_t i = 0; i < grid.rows(); ++i) {
      for (std::int64_t e = grid.row_offsets()[i]; e < grid.row_offsets()[i + 1]; ++e) {
        const std::int32_t j = grid.column_indices()[e];
        builder.add(static_cast<std::int32_t>(i), j, grid.values()[e] - (i == j ? T{2.345} : T{0}));
      }
    }
    const Csr<T> a = builder.build();
    SparseLdlt<T> ldlt(this->gpu);
    this->expect_solved(ldlt, a, 1);
    const Csr<T> on_gpu = a.to(this->gpu);
    expect_inertia_of_host(ldlt.factor(on_gpu), a);
  }
}

/// One front, whose columns are tested block by block.
TYPED_TEST(GpuSparseDirectOf, Ldlt_DensePattern_SolvedWithInertia) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 2, 31, 32, 33, 64, 65, 127, 300, 1025}) {
    const Csr<T> sparse = to_csr<T>(random_symmetric<T>(n, 7));
    SparseLdlt<T> ldlt(this->gpu);
    this->expect_solved(ldlt, sparse, 1);
    const Csr<T> on_gpu = sparse.to(this->gpu);
    const Report report = ldlt.factor(on_gpu);
    // Where elements grow, only refinement makes the factors accurate, and the report gives no inertia.
    if (n <= 300) expect_inertia_of_host(report, sparse);
  }
}

TYPED_TEST(GpuSparseDirectOf, DeterminantInertiaFactors_ThoseOfHost) {
  using T = TypeParam;
  const Csr<T> spd = poisson_2d<T>(20, 30);
  const Csr<T> saddle = saddle_point_on_grid<T>(8, true);
  for (const char* method : {"sparse-cholesky", "sparse-ldlt", "sparse-lu", "ldlt"}) {
    SCOPED_TRACE(method);
    const Csr<T>& a = method == std::string("sparse-ldlt") ? saddle : spd;
    const Csr<T> on_gpu = a.to(this->gpu);
    Solver<T> there = make_solver<T>(method, this->gpu);
    Solver<T> host = make_solver<T>(method, Device());
    EXPECT_THROW((void)there.determinant(), Error) << "before the set-up";
    ASSERT_TRUE(there.setup(on_gpu).ready());
    ASSERT_TRUE(host.setup(a).ready());
    EXPECT_EQ(there.determinant().sign, host.determinant().sign);
    EXPECT_NEAR(there.determinant().log_abs(), host.determinant().log_abs(), 1e-3);
    EXPECT_EQ(there.factors().row_permutation, host.factors().row_permutation);
    if (method == std::string("sparse-lu")) {
      EXPECT_THROW((void)there.inertia(), Error);
    } else {
      EXPECT_EQ(there.inertia(), host.inertia());
    }
  }
}

TYPED_TEST(GpuSparseDirectOf, Ldlt_Singular_IsFactoredOnTheHost) {
  using T = TypeParam;
  // Equal constraints: singular by values.
  CsrBuilder<T> builder(4, 4);
  for (const auto& [i, j, value] :
       {Triplet<T>{0, 0, 2}, Triplet<T>{1, 1, 3}, Triplet<T>{0, 1, 1}, Triplet<T>{0, 2, 1},
        Triplet<T>{1, 2, 1}, Triplet<T>{0, 3, 1}, Triplet<T>{1, 3, 1}}) {
    builder.add(i, j, value);
    if (i != j) builder.add(j, i, value);
  }
  const Csr<T> a = builder.build().to(this->gpu);
  SparseLdlt<T> ldlt(this->gpu);
  const Report factored = ldlt.factor(a);
  EXPECT_EQ(factored.rank, 3);
  ASSERT_FALSE(factored.warnings.empty());
  EXPECT_NE(factored.warnings[0].find("factored on the host"), std::string::npos) << factored.warnings[0];
  Dense<T> b(Device(), 4, 2);
  for (std::int64_t i = 0; i < 8; ++i) b[i] = 1;
  b[7] = 2;
  Dense<T> x(this->gpu, 4, 2);
  const Report report = ldlt.solve(b.to(this->gpu), x);
  EXPECT_EQ(report.columns[0].status, Status::underdetermined);
  EXPECT_EQ(report.columns[1].status, Status::inconsistent);
}

TYPED_TEST(GpuSparseDirectOf, Ldlt_NotSymmetric_Named) {
  using T = TypeParam;
  const Csr<T> a = convection_diffusion_2d<T>(5, 5, 3, 0);
  SparseLdlt<T> host;
  SparseLdlt<T> ldlt(this->gpu);
  const Csr<T> on_gpu = a.to(this->gpu);
  const Report report = ldlt.factor(on_gpu);
  EXPECT_EQ(report.status, Status::breakdown);
  EXPECT_EQ(report.message, host.factor(a).message);
}

TYPED_TEST(GpuSparseDirectOf, Ldlt_UpdateValues_SameBitsEveryTime) {
  using T = TypeParam;
  const Csr<T> a = saddle_point_on_grid<T>(30, false).to(this->gpu);
  const Dense<T> b = random_dense<T>(a.rows(), 1, 3).to(this->gpu);
  SparseLdlt<T> ldlt(this->gpu);
  ASSERT_TRUE(ldlt.factor(a).ready());
  std::vector<T> first;
  for (int run = 0; run < 3; ++run) {
    ASSERT_TRUE(ldlt.update_values(a).ready());
    Dense<T> x(this->gpu, a.rows(), 1);
    ASSERT_TRUE(ldlt.solve(b, x).solved());
    if (first.empty()) first = x.to_vector();
    EXPECT_EQ(x.to_vector(), first);
  }
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
