// SPDX-License-Identifier: BSD-3-Clause
/// Determinants and inertia of all direct methods.
#include "support/dense/symmetric.hpp"
#include "support/gallery.hpp"
#include "support/solver/determinants.hpp"
#include "support/sparse_direct/indefinite_systems.hpp"
#include "support/sparse_systems.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace echelon {
namespace {

using test::eliminated_determinant;
using test::random_dense;
using test::SignAndLog;

const std::vector<Device> host_devices = {Device::serial(), Device::openmp(2)};

/// A method with options.
struct Case {
  std::string method;
  Options options = {};
};

template <class T>
Determinant determinant_of(const Case& of, const Device& device, MatrixRef<T> A) {
  Solver<T> solver = make_solver<T>(of.method, device, of.options);
  const Report report = solver.setup(A);
  EXPECT_TRUE(report.ready()) << of.method << ": " << report.message;
  return solver.determinant();
}

/// Compares with the oracle, up to the rounding errors of a matrix of condition 1 / `reciprocal`.
template <class T>
void expect_determinant(const Case& of, MatrixRef<T> A, const SignAndLog& expected, double reciprocal) {
  const double tolerance = 100 * static_cast<double>(std::numeric_limits<T>::epsilon()) *
                           static_cast<double>(A.rows()) / reciprocal;
  for (const Device& device : host_devices) {
    SCOPED_TRACE(of.method + " on " + device.name() + ", n = " + std::to_string(A.rows()));
    const Determinant determinant = determinant_of(of, device, A);
    EXPECT_EQ(determinant.sign, expected.sign);
    EXPECT_NEAR(determinant.log_abs(), static_cast<double>(expected.log), tolerance);
  }
}

/// Direct methods of the host that factor A: mapped-echelon has no triangles, and augmented factors another
/// matrix.
std::vector<std::string> factoring_methods() {
  std::vector<std::string> names;
  for (const Method& method : methods()) {
    const bool factors =
        method.kind == MethodKind::direct && method.name != "mapped-echelon" && method.name != "augmented";
    if (factors && method.serial) names.push_back(method.name);
  }
  return names;
}

const std::vector<Case> unsymmetric = {{"lu"},
                                       {"lu", {{"factor_precision", "single"}}},
                                       {"lu", {{"equilibrate", false}}},
                                       {"lapack-lu"},
                                       {"crout"},
                                       {"crout-parallel"},
                                       {"crout-blocked"},
                                       {"crout-iterative"},
                                       {"qr"},
                                       {"gauss-jordan"},
                                       {"gauss-jordan", {{"factor_precision", "single"}}},
                                       {"banded-lu"},
                                       {"sparse-lu"},
                                       {"sparse-lu", {{"factorization", "left-looking"}}},
                                       {"sparse-lu", {{"factorization", "multifrontal"}}}};

const std::vector<Case> indefinite = {{"ldlt"}, {"ldlt", {{"equilibrate", false}}}, {"sparse-ldlt"}};

/// B^T B + I for a B of integers from -3 to 3.
test::IntegerRows positive_integers(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<std::int64_t> digit(-3, 3);
  test::IntegerRows b(n, std::vector<std::int64_t>(n));
  for (auto& row : b) std::generate(row.begin(), row.end(), [&] { return digit(random); });
  test::IntegerRows a(n, std::vector<std::int64_t>(n, 0));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t k = 0; k < n; ++k) a[i][j] += b[k][i] * b[k][j];
      if (i == j) ++a[i][j];
    }
  }
  return a;
}

template <class T>
Dense<T> dense_of(const test::IntegerRows& rows) {
  const auto n = static_cast<std::int64_t>(rows.size());
  Dense<T> a(Device(), n, n);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < rows.size(); ++j)
      a(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)) = static_cast<T>(rows[i][j]);
  }
  return a;
}

/// Rows of A in a random order.
template <class T>
Dense<T> with_permuted_rows(const Dense<T>& A, unsigned seed) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(A.rows()));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  Dense<T> permuted(Device(), A.rows(), A.columns());
  for (std::int64_t j = 0; j < A.columns(); ++j) {
    for (std::int64_t i = 0; i < A.rows(); ++i) permuted(i, j) = A(order[static_cast<std::size_t>(i)], j);
  }
  return permuted;
}

/// A diagonally dominant band whose rows are exchanged in pairs, so that pivoting has to exchange them back.
Csr<double> band(std::int64_t n, std::int64_t lower, std::int64_t upper, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  test::Elements elements;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t row = (i ^ 1) < n ? i ^ 1 : i;
    for (std::int64_t j = std::max<std::int64_t>(0, i - lower + 1); j < std::min(n, i + upper); ++j) {
      const double dominance = i == j ? static_cast<double>(lower + upper) : 0;
      elements.push_back(
          {static_cast<std::int32_t>(row), static_cast<std::int32_t>(j), value(random) - dominance});
    }
  }
  return test::csr_of<double>(n, elements);
}

template <class T>
class DeterminantOf : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(DeterminantOf, Reals);

TYPED_TEST(DeterminantOf, EveryMethod_ExactForIntegers) {
  using T = TypeParam;
  for (std::size_t n = 1; n <= 5; ++n) {
    for (unsigned seed = 1; seed <= 3; ++seed) {
      const test::IntegerRows rows = positive_integers(n, seed);
      const std::int64_t exact = test::exact_determinant(rows);
      const Dense<T> A = dense_of<T>(rows);
      for (const std::string& method : factoring_methods()) {
        const SignAndLog expected = {1, std::log(static_cast<long double>(exact))};
        expect_determinant<T>({method}, A, expected, 1e-2);
      }
    }
  }
}

TYPED_TEST(DeterminantOf, UnsymmetricMatrices) {
  using T = TypeParam;
  for (const std::int64_t n : {2, 3, 7, 40}) {
    for (unsigned seed = 1; seed <= 4; ++seed) {
      const Dense<T> A = random_dense<T>(n, n, seed);
      const Dense<T> permuted = with_permuted_rows(A, seed);
      for (const Case& of : unsymmetric) {
        expect_determinant<T>(of, A, eliminated_determinant(A), 1e-3);
        expect_determinant<T>(of, permuted, eliminated_determinant(permuted), 1e-3);
      }
    }
  }
}

TYPED_TEST(DeterminantOf, IndefiniteMatrices) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 2, 3, 8, 70, 150}) {
    for (unsigned seed = 1; seed <= 4; ++seed) {
      const Dense<T> A = test::random_symmetric<T>(n, seed);
      for (const Case& of : indefinite) expect_determinant<T>(of, A, eliminated_determinant(A), 1e-3);
    }
  }
}

/// Norms far from 1 are scaled by the solver, rows and columns by the methods.
TYPED_TEST(DeterminantOf, ScaledMatrices) {
  using T = TypeParam;
  const std::int64_t n = 21;
  const int far = std::is_same_v<T, double> ? 300 : 60;
  const Dense<T> general = random_dense<T>(n, n, 3);
  const Dense<T> definite = test::positive_definite<T>(n, 3);
  const auto check = [&](const Case& of, const Dense<T>& A) {
    SignAndLog expected = eliminated_determinant(A);
    for (const int exponent : {-far, far}) {
      SCOPED_TRACE("times 2^" + std::to_string(exponent));
      const Dense<T> scaled = test::scaled(A, std::ldexp(T{1}, exponent));
      const long double shift = static_cast<long double>(n * exponent) * std::log(2.0L);
      expect_determinant<T>(of, scaled, {expected.sign, expected.log + shift}, 1e-3);
    }
  };
  for (const Case& of : unsymmetric) {
    check(of, general);
    const bool scales = of.options.empty() || of.options.entries().front().first != "equilibrate";
    const Dense<T> graded = test::graded<T>(n, 5);
    if (scales) expect_determinant<T>(of, graded, eliminated_determinant(graded), 1e-3);
  }
  for (const std::string& method : factoring_methods()) check({method}, definite);
  const Dense<T> uneven = test::scaled_symmetrically(definite);
  for (const char* method : {"cholesky", "ldlt", "sparse-cholesky", "sparse-ldlt"})
    expect_determinant<T>({method}, uneven, eliminated_determinant(uneven), 1e-3);
}

TEST(Determinant, SparseMatrices) {
  for (const std::int32_t n : {20, 101}) {
    for (unsigned seed = 1; seed <= 3; ++seed) {
      const test::SparseSystem indefinite_system = test::zero_diagonal(n + n % 2, 2, seed);
      const Csr<double> symmetric = test::csr_of<double>(indefinite_system.n, indefinite_system.elements);
      const SignAndLog expected = eliminated_determinant(to_dense<double>(MatrixRef<double>(symmetric)));
      for (const Case& of : {Case{"sparse-ldlt"}, Case{"sparse-lu"}, unsymmetric[13], unsymmetric[14]})
        expect_determinant<double>(of, symmetric, expected, 1e-6);
    }
  }
  const test::SparseSystem grid = test::grid_system(9, 7, 1, 0.1, 0.3);
  const Csr<double> wind = test::csr_of<double>(grid.n, grid.elements);
  const SignAndLog expected = eliminated_determinant(to_dense<double>(MatrixRef<double>(wind)));
  for (const Case& of : unsymmetric) expect_determinant<double>(of, wind, expected, 1e-3);
}

TEST(Determinant, BlockTriangularMatrix) {
  const test::SparseSystem grid = test::grid_system(5, 5, 1, 0.1, 0.3);
  test::Elements elements;
  for (std::int32_t block = 0; block < 3; ++block) {
    for (const auto& e : grid.elements)
      elements.push_back({(e.row + 25 * block) * 37 % 75, e.column + 25 * block, e.value});
  }
  for (std::int32_t i = 0; i < 25; ++i) elements.push_back({i * 37 % 75, i + 50, 0.5});
  const Csr<double> A = test::csr_of<double>(75, elements);
  const SignAndLog expected = eliminated_determinant(to_dense<double>(MatrixRef<double>(A)));
  for (const Case& of : unsymmetric) expect_determinant<double>(of, A, expected, 1e-3);
}

TEST(Determinant, BandsInPartitions) {
  for (const auto& [lower, upper] : {std::pair(1, 1), {2, 1}, {1, 3}, {5, 4}, {20, 17}}) {
    for (const std::int64_t n : {30, 257}) {
      const Csr<double> A = band(n, lower, upper, static_cast<unsigned>(n));
      const SignAndLog expected = eliminated_determinant(to_dense<double>(MatrixRef<double>(A)));
      for (const int partitions : {1, 2, 3, 8}) {
        expect_determinant<double>({"banded-lu", {{"partitions", partitions}, {"ordering", "natural"}}}, A,
                                   expected, 1e-6);
      }
      expect_determinant<double>({"banded-lu", {{"ordering", "rcm"}}}, A, expected, 1e-6);
    }
  }
}

TEST(Determinant, NewValues_GiveNewDeterminant) {
  const test::SparseSystem grid = test::grid_system(6, 5, 1, 1);
  Csr<double> A = test::csr_of<double>(grid.n, grid.elements);
  Csr<double> tripled = A;
  for (std::int64_t k = 0; k < A.nonzeros(); ++k) tripled.values()[k] *= -3;
  for (const char* method : {"sparse-lu", "sparse-ldlt", "banded-lu", "lu"}) {
    Solver<double> solver = make_solver<double>(method, Device());
    solver.setup(A);
    const Determinant first = solver.determinant();
    solver.update_values(tripled);
    const Determinant second = solver.determinant();
    EXPECT_EQ(second.sign, first.sign) << method;  // 30 rows
    EXPECT_NEAR(second.log_abs(), first.log_abs() + 30 * std::log(3.0), 1e-12) << method;
  }
}

TEST(Determinant, SingularMatrix_IsZero) {
  Dense<double> A = test::random_symmetric<double>(12, 4);
  for (std::int64_t i = 0; i < 12; ++i) A(i, 7) = A(7, i) = 0;
  for (const Case& of : unsymmetric) {
    Solver<double> solver = make_solver<double>(of.method, Device(), of.options);
    EXPECT_EQ(solver.setup(A).status, Status::singular) << of.method;
    EXPECT_EQ(solver.determinant().sign, 0) << of.method;
    EXPECT_EQ(solver.determinant().log_abs(), -std::numeric_limits<double>::infinity()) << of.method;
  }
  for (const Case& of : indefinite) {
    Solver<double> solver = make_solver<double>(of.method, Device(), of.options);
    EXPECT_EQ(solver.setup(A).status, Status::singular) << of.method;
    EXPECT_EQ(solver.determinant().sign, 0) << of.method;
  }
}

TEST(Determinant, EmptyMatrix_IsOne) {
  const Dense<double> empty(Device(), 0, 0);
  for (const std::string& method : factoring_methods()) {
    Solver<double> solver = make_solver<double>(method, Device());
    solver.setup(empty);
    EXPECT_EQ(solver.determinant().value(), 1) << method;
  }
}

std::string error_of(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Determinant, Misuse_ErrorExplains) {
  Dense<double> A = test::positive_definite<double>(5, 1);
  Solver<double> cg = make_solver<double>("cg", Device());
  EXPECT_NE(error_of([&] { (void)cg.determinant(); }).find("before setup"), std::string::npos);
  cg.setup(A);
  EXPECT_NE(error_of([&] { (void)cg.determinant(); }).find("'cg' has no determinant"), std::string::npos);
  EXPECT_NE(error_of([&] { (void)cg.inertia(); }).find("'cg' has no inertia"), std::string::npos);
  Solver<double> lu = make_solver<double>("lu", Device());
  lu.setup(A);
  EXPECT_NE(error_of([&] { (void)lu.inertia(); }).find("'lu' has no inertia"), std::string::npos);
  A(2, 2) = -1;
  Solver<double> cholesky = make_solver<double>("cholesky", Device());
  cholesky.setup(A);
  EXPECT_NE(error_of([&] { (void)cholesky.determinant(); }).find("without factors"), std::string::npos);
  EXPECT_NE(error_of([&] { (void)cholesky.inertia(); }).find("without factors"), std::string::npos);
  A(1, 3) = std::numeric_limits<double>::quiet_NaN();
  lu.setup(A);
  EXPECT_NE(error_of([&] { (void)lu.determinant(); }).find("NaN"), std::string::npos);
  const Dense<double> wide = random_dense<double>(3, 5, 1);
  Solver<double> elimination = make_solver<double>("gauss-jordan", Device());
  elimination.setup(wide);
  EXPECT_THROW((void)elimination.determinant(), DimensionMismatch);
}

/// M^T D M has the inertia of D.
TEST(Inertia, Congruence_KeepsSigns) {
  for (const std::int64_t n : {1, 2, 9, 64, 130}) {
    for (unsigned seed = 1; seed <= 3; ++seed) {
      std::mt19937 random(seed);
      std::vector<double> d;
      for (std::int64_t k = 0; k < n; ++k) d.push_back(random() % 3 == 0 ? -1.5 : 2);
      const auto negative = static_cast<std::int64_t>(std::count(d.begin(), d.end(), -1.5));
      Dense<double> A(Device(), n, n);
      std::fill_n(A.data(), n * n, 0.0);
      // M has ones on the diagonal and 1/2 above it.
      for (std::int64_t k = 0; k < n; ++k) {
        const double value = d[static_cast<std::size_t>(k)];
        A(k, k) += value;
        if (k + 1 == n) continue;
        A(k, k + 1) += value / 2;
        A(k + 1, k) += value / 2;
        A(k + 1, k + 1) += value / 4;
      }
      for (const Case& of : indefinite) {
        for (const Device& device : host_devices) {
          Solver<double> solver = make_solver<double>(of.method, device, of.options);
          ASSERT_TRUE(solver.setup(A).ready()) << of.method;
          EXPECT_EQ(solver.inertia(), (Inertia{n - negative, negative, 0})) << of.method << ", n = " << n;
        }
      }
    }
  }
}

TEST(Inertia, DefiniteMatrix_AllPositive) {
  const Dense<double> A = test::positive_definite<double>(33, 2);
  for (const char* method : {"cholesky", "ldlt", "sparse-cholesky", "sparse-ldlt"}) {
    Solver<double> solver = make_solver<double>(method, Device());
    solver.setup(A);
    EXPECT_EQ(solver.inertia(), (Inertia{33, 0, 0})) << method;
  }
}

TEST(Inertia, SingularLaplacian_HasZero) {
  const Csr<double> A = test::csr_of<double>(
      3, {{0, 0, 1}, {0, 1, -1}, {1, 0, -1}, {1, 1, 2}, {1, 2, -1}, {2, 1, -1}, {2, 2, 1}});
  Solver<double> solver = make_solver<double>("sparse-ldlt", Device());
  solver.setup(A);
  EXPECT_EQ(solver.inertia(), (Inertia{2, 0, 1}));
  EXPECT_EQ(solver.determinant().sign, 0);
}

}  // namespace
}  // namespace echelon
