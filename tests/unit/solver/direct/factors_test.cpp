// SPDX-License-Identifier: BSD-3-Clause
/// Factors as results: multiplied, they give the scaled and permuted matrix.
#include "support/dense/symmetric.hpp"
#include "support/gallery.hpp"
#include "support/sparse_direct/indefinite_systems.hpp"
#include "support/sparse_systems.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace echelon {
namespace {

const std::vector<Device> host_devices = {Device::serial(), Device::openmp(2)};

struct Case {
  std::string method;
  Options options = {};
};

const std::vector<Case> unsymmetric = {{"lu"},
                                       {"lu", {{"factor_precision", "single"}}},
                                       {"lapack-lu"},
                                       {"crout"},
                                       {"crout-parallel"},
                                       {"crout-blocked"},
                                       {"crout-iterative"},
                                       {"sparse-lu"},
                                       {"sparse-lu", {{"factorization", "left-looking"}}},
                                       {"sparse-lu", {{"factorization", "multifrontal"}}}};
const std::vector<Case> definite = {{"cholesky"}, {"sparse-cholesky"}, {"ldlt"}, {"sparse-ldlt"}};
const std::vector<Case> indefinite = {{"ldlt"}, {"sparse-ldlt"}};

template <class T>
Dense<T> dense_of(const Matrix<T>& matrix) {
  return to_dense<T>(MatrixRef<T>(matrix));
}

void expect_permutation(std::vector<std::int64_t> permutation, std::int64_t n) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), std::int64_t{0});
  std::sort(permutation.begin(), permutation.end());
  EXPECT_EQ(permutation, all);
}

/// Element (i, j) of a product of factors, and the sum of the magnitudes of its terms.
struct Sum {
  long double value = 0;
  long double size = 0;
  void add(long double term) {
    value += term;
    size += std::abs(term);
  }
};

/// The right factor: U, L^T or D L^T.
template <class T>
Dense<T> right_factor(const MatrixFactors<T>& factors, const Dense<T>& lower) {
  if (factors.form == FactorForm::lu) return dense_of(factors.upper);
  const std::int64_t n = lower.rows();
  Dense<T> right(Device(), n, n);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) {
      right(i, j) = lower(j, i);
      if (factors.form == FactorForm::cholesky) continue;
      const auto k = static_cast<std::size_t>(i);
      right(i, j) *= factors.diagonal[k];
      if (i > 0) right(i, j) += factors.subdiagonal[k - 1] * lower(j, i - 1);
      if (i + 1 < n) right(i, j) += factors.subdiagonal[k] * lower(j, i + 1);
    }
  }
  return right;
}

/// Checks the shapes, and every element of the equation that the factors satisfy, up to rounding errors of
/// the largest products.
template <class T>
void expect_factors(const MatrixFactors<T>& factors, const Dense<T>& A) {
  const std::int64_t n = A.rows();
  const Dense<T> lower = dense_of(factors.lower);
  const Dense<T> right = right_factor(factors, lower);
  const Dense<T> coupling =
      factors.coupling.rows() == n ? to_dense<T>(MatrixRef<T>(factors.coupling)) : Dense<T>();
  ASSERT_EQ(lower.rows(), n);
  ASSERT_EQ(right.rows(), n);
  expect_permutation(factors.row_permutation, n);
  expect_permutation(factors.column_permutation, n);
  ASSERT_EQ(factors.row_scales.size(), static_cast<std::size_t>(n));
  ASSERT_EQ(factors.column_scales.size(), static_cast<std::size_t>(n));
  const auto index = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  long double largest_error = 0;
  long double largest_size = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) {
      if (j > i) {
        ASSERT_EQ(lower(i, j), 0) << "L";
      }
      if (j < i && factors.form == FactorForm::lu) {
        ASSERT_EQ(right(i, j), 0) << "U";
      }
      const std::int64_t p = factors.row_permutation[index(i)];
      const std::int64_t q = factors.column_permutation[index(j)];
      const long double expected = std::ldexp(static_cast<long double>(A(p, q)), factors.exponent) *
                                   factors.row_scales[index(p)] * factors.column_scales[index(q)];
      Sum sum;
      for (std::int64_t k = 0; k < n; ++k)
        sum.add(static_cast<long double>(lower(i, k)) * static_cast<long double>(right(k, j)));
      if (coupling.rows() == n) sum.add(coupling(i, j));
      largest_error = std::max(largest_error, std::abs(sum.value - expected));
      largest_size = std::max(largest_size, sum.size);
    }
  }
  EXPECT_GT(largest_size, 0);
  EXPECT_LE(static_cast<double>(largest_error / largest_size),
            2 * static_cast<double>(n) * static_cast<double>(std::numeric_limits<T>::epsilon()));
}

template <class T>
void check(const Case& of, const Dense<T>& A) {
  for (const Device& device : host_devices) {
    SCOPED_TRACE(of.method + " on " + device.name() + ", n = " + std::to_string(A.rows()));
    Solver<T> solver = make_solver<T>(of.method, device, of.options);
    const Report report = solver.setup(A);
    ASSERT_TRUE(report.ready()) << report.message;
    expect_factors(solver.factors(), A);
  }
}

template <class T>
class FactorsOf : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(FactorsOf, Reals);

TYPED_TEST(FactorsOf, UnsymmetricMatrices) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 2, 3, 17, 70}) {
    const Dense<T> A = test::random_dense<T>(n, n, 3);
    for (const Case& of : unsymmetric) check(of, A);
  }
  for (const Case& of : unsymmetric) check(of, test::graded<T>(20, 2));
}

TYPED_TEST(FactorsOf, SymmetricMatrices) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 2, 3, 33, 140}) {
    for (const Case& of : definite) check(of, test::positive_definite<T>(n, 5));
    for (const Case& of : indefinite) check(of, test::random_symmetric<T>(n, 5));
  }
  for (const Case& of : definite) check(of, test::scaled_symmetrically(test::positive_definite<T>(20, 1)));
}

TYPED_TEST(FactorsOf, NormsFarFromOne) {
  using T = TypeParam;
  const int far = std::is_same_v<T, double> ? 300 : 60;
  for (const int exponent : {-far, far}) {
    const T factor = std::ldexp(T{1}, exponent);
    for (const Case& of : unsymmetric) check(of, test::scaled(test::random_dense<T>(9, 9, 2), factor));
    for (const Case& of : definite) check(of, test::scaled(test::positive_definite<T>(9, 2), factor));
  }
}

TEST(Factors, SparseMatrices) {
  const test::SparseSystem grid = test::grid_system(11, 9, 1, 0.1, 0.3);
  const Dense<double> wind = to_dense<double>(MatrixRef<double>(test::csr_of<double>(grid.n, grid.elements)));
  for (const Case& of : unsymmetric) check(of, wind);
  const test::SparseSystem mesh = test::grid_system(5, 5, 4, 0.1);
  const Dense<double> laplacian =
      to_dense<double>(MatrixRef<double>(test::csr_of<double>(mesh.n, mesh.elements)));
  for (const Case& of : definite) check(of, laplacian);
}

/// Pivots are delayed to later fronts.
TEST(Factors, ZeroDiagonals) {
  for (const unsigned seed : {1U, 2U, 3U}) {
    for (const test::SparseSystem& system :
         {test::zero_diagonal(60, 2, seed), test::quadratic_program(50, 20, seed),
          test::exchange_chain(20)}) {
      const Dense<double> A =
          to_dense<double>(MatrixRef<double>(test::csr_of<double>(system.n, system.elements)));
      SCOPED_TRACE(system.name);
      check({"sparse-ldlt"}, A);
      check({"sparse-lu", {{"factorization", "multifrontal"}}}, A);
      check({"sparse-lu", {{"factorization", "left-looking"}}}, A);
    }
  }
}

TEST(Factors, BlockTriangularMatrix_HasCoupling) {
  test::Elements elements;
  for (std::int32_t i = 0; i < 30; ++i) {
    elements.push_back({i, i, 2.0 + i});
    if (i % 3 != 2) elements.push_back({i, i + 1, 1}), elements.push_back({i + 1, i, -1});
    if (i + 3 < 30) elements.push_back({i, i + 3, 0.5});
  }
  const Dense<double> A = to_dense<double>(MatrixRef<double>(test::csr_of<double>(30, elements)));
  const Case left_looking = {"sparse-lu", {{"factorization", "left-looking"}}};
  check(left_looking, A);
  Solver<double> solver = make_solver<double>(left_looking.method, Device(), left_looking.options);
  solver.setup(A);
  EXPECT_EQ(solver.factors().coupling.nonzeros(), 27);
}

TEST(Factors, FormAndStorage_AreThoseOfMethod) {
  const Dense<double> A = test::positive_definite<double>(6, 1);
  const auto factors_of = [&](const char* method) {
    Solver<double> solver = make_solver<double>(method, Device());
    solver.setup(A);
    return solver.factors();
  };
  EXPECT_EQ(factors_of("lu").form, FactorForm::lu);
  EXPECT_TRUE(std::holds_alternative<Dense<double>>(factors_of("lu").lower));
  EXPECT_EQ(factors_of("sparse-cholesky").form, FactorForm::cholesky);
  EXPECT_TRUE(std::holds_alternative<Csr<double>>(factors_of("sparse-cholesky").lower));
  EXPECT_EQ(factors_of("ldlt").form, FactorForm::ldlt);
  EXPECT_EQ(factors_of("sparse-ldlt").diagonal.size(), 6U);
}

std::string error_of(Solver<double>& solver, const Dense<double>& A) {
  solver.setup(A);
  try {
    static_cast<void>(solver.factors());
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// The matrix of a word of an equation: a factor, a factor transposed, or A.
Dense<double> matrix_of(const std::string& word, const FactorMatrices& factors, const Dense<double>& A) {
  if (word == "A") return A;
  const OfAnyScalar<Matrix>* const factor = factors.find(word.substr(0, 1));
  EXPECT_NE(factor, nullptr) << word;
  const Dense<double> held = dense_of(std::get<Matrix<double>>(*factor));
  return word.ends_with("^T") ? to_dense<double>(MatrixRef<double>(transposed(held.view()))) : held;
}

/// The value of a side of an equation, products of words joined by +.
Dense<double> side_of(std::string_view side, const FactorMatrices& factors, const Dense<double>& A) {
  const std::int64_t n = A.rows();
  Context context{Device::serial()};
  Dense<double> sum(Device(), n, n);
  std::fill_n(sum.data(), n * n, 0.0);
  Dense<double> product = test::identity<double>(n);
  std::istringstream words{std::string(side)};
  const auto add_product = [&] {
    for (std::int64_t k = 0; k < n * n; ++k) sum.data()[k] += product.data()[k];
    product = test::identity<double>(n);
  };
  for (std::string word; words >> word;) {
    if (word == "+") {
      add_product();
    } else {
      Dense<double> next(Device(), n, n);
      gemm<double>(context, 1, product.view(), matrix_of(word, factors, A).view(), 0, next.view());
      product = std::move(next);
    }
  }
  add_product();
  return sum;
}

/// Evaluates the equation of the factors of A as it is written.
void expect_equation(const Dense<double>& A, const Case& method, bool sparse) {
  SCOPED_TRACE(method.method);
  const Csr<double> csr = to_csr<double>(MatrixRef<double>(A));
  Solver<double> solver = make_solver<double>(method.method, Device::serial(), method.options);
  ASSERT_EQ(solver.setup(sparse ? MatrixRef<double>(csr) : MatrixRef<double>(A)).status, Status::ready);
  const FactorMatrices factors = factor_matrices(solver.factors());
  const std::size_t equals = factors.equation.find(" = ");
  ASSERT_NE(equals, std::string::npos) << factors.equation;
  const Dense<double> left = side_of(factors.equation.substr(0, equals), factors, A);
  const Dense<double> right = side_of(factors.equation.substr(equals + 3), factors, A);
  double size = 0;
  double error = 0;
  for (std::int64_t k = 0; k < A.rows() * A.columns(); ++k) {
    size = std::max(size, std::abs(left.data()[k]));
    error = std::max(error, std::abs(left.data()[k] - right.data()[k]));
  }
  EXPECT_LE(error, 1e-13 * static_cast<double>(A.rows()) * size) << factors.equation;
}

TEST(Factors, Matrices_SatisfyTheirEquation) {
  Dense<double> general = test::random_dense<double>(40, 40, 7);
  for (std::int64_t j = 0; j < 40; ++j) general(3, j) *= 1e9;  // a row that is scaled
  for (const Case& method : unsymmetric) expect_equation(general, method, method.method == "sparse-lu");
  Dense<double> symmetric = test::random_dense<double>(40, 40, 8);
  for (std::int64_t j = 0; j < 40; ++j) {
    for (std::int64_t i = 0; i < j; ++i) symmetric(j, i) = symmetric(i, j);
    symmetric(j, j) = 0;  // pivots of order two
  }
  for (const Case& method : indefinite) expect_equation(symmetric, method, method.method == "sparse-ldlt");
  for (std::int64_t j = 0; j < 40; ++j) symmetric(j, j) = 50;
  for (const Case& method : definite) expect_equation(symmetric, method, method.method.starts_with("sparse"));
  Dense<double> blocks = general;
  for (std::int64_t j = 0; j < 20; ++j) std::fill_n(blocks.data() + j * 40 + 20, 20, 0.0);
  expect_equation(blocks, {"sparse-lu", {{"factorization", "left-looking"}}}, true);
  expect_equation(test::identity<double>(5), {"lu"}, false);
  Solver<double> lu = make_solver<double>("lu", Device());
  const Dense<double> one = test::identity<double>(5);
  lu.setup(one);
  EXPECT_EQ(factor_matrices(lu.factors()).equation, "A = L U");
}

TEST(Factors, Missing_ErrorExplains) {
  const auto error = [](const char* method, const Dense<double>& A) {
    Solver<double> solver = make_solver<double>(method, Device());
    return error_of(solver, A);
  };
  const auto contains = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  const Dense<double> A = test::positive_definite<double>(6, 1);
  EXPECT_TRUE(contains(error("cg", A), "'cg' has no factors"));
  EXPECT_TRUE(contains(error("qr", A), "'qr' has no factors"));
  EXPECT_TRUE(contains(error("banded-lu", A), "'banded-lu' has no factors"));
  EXPECT_TRUE(contains(error("lu", test::growing<double>(301)), "butterfly-lu"));
  Dense<double> singular = A;
  for (std::int64_t i = 0; i < 6; ++i) singular(i, 2) = singular(2, i) = 0;
  for (const char* method : {"lu", "lapack-lu", "ldlt", "sparse-lu", "sparse-ldlt"})
    EXPECT_TRUE(contains(error(method, singular), "complete factors")) << method;
  EXPECT_TRUE(contains(error("cholesky", singular), "without factors"));
  Solver<double> fresh = make_solver<double>("lu", Device());
  EXPECT_THROW(static_cast<void>(fresh.factors()), Error);
}

TEST(Factors, EmptyMatrix) {
  const Dense<double> empty(Device(), 0, 0);
  Solver<double> solver = make_solver<double>("lu", Device());
  solver.setup(empty);
  EXPECT_TRUE(solver.factors().row_permutation.empty());
}

}  // namespace
}  // namespace echelon
