// SPDX-License-Identifier: BSD-3-Clause
/// Statements about an answer: solved, singular or inconsistent, with proofs, and the digits that it
/// promises.
#include "solver/answer/acceptance.hpp"

#include "exact/exact_rank.hpp"
#include "solver/implementation.hpp"
#include "support/big_float.hpp"
#include "support/problems.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace echelon::test {
namespace {

/// Rows of integers times powers of two, which all element types hold exactly.
using Rows = std::vector<std::vector<double>>;

template <class T>
Csr<T> sparse(const Rows& rows) {
  std::vector<Triplet<T>> triplets;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < rows[i].size(); ++j) {
      if (rows[i][j] == 0) continue;
      triplets.push_back(
          {static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), static_cast<T>(rows[i][j])});
    }
  }
  const auto m = static_cast<std::int64_t>(rows.size());
  return Csr<T>::from_triplets(m, m == 0 ? 0 : static_cast<std::int64_t>(rows[0].size()), triplets);
}

Rows graph_laplacian(std::size_t n, const auto& adjacent) {
  Rows rows(n, std::vector<double>(n, 0));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      if (i == j || !adjacent(i, j)) continue;
      rows[i][j] = -1;
      rows[i][i] += 1;
    }
  }
  return rows;
}
Rows complete(std::size_t n) {
  return graph_laplacian(n, [](std::size_t, std::size_t) { return true; });
}
Rows bipartite(std::size_t n, std::size_t m) {
  return graph_laplacian(n + m, [=](std::size_t i, std::size_t j) { return (i < n) != (j < n); });
}
Rows scaled(Rows rows, double factor) {
  for (auto& row : rows) {
    for (double& element : row) element *= factor;
  }
  return rows;
}
/// The matrix D L D for powers of two D over some decades.
Rows scaled_symmetrically(Rows rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < rows.size(); ++j)
      rows[i][j] = std::ldexp(rows[i][j], static_cast<int>(i % 7) + static_cast<int>(j % 7));
  }
  return rows;
}
std::vector<double> product(const Rows& rows, const std::vector<double>& x) {
  std::vector<double> b;
  for (const auto& row : rows) {
    double sum = 0;
    for (std::size_t j = 0; j < x.size(); ++j) sum += row[j] * x[j];
    b.push_back(sum);
  }
  return b;
}
template <class T>
std::vector<T> as(const std::vector<double>& x) {
  return {x.begin(), x.end()};
}

template <class T>
class AcceptanceOf : public ::testing::Test {};
using Reals = ::testing::Types<float, double>;
TYPED_TEST_SUITE(AcceptanceOf, Reals);

std::vector<Rows> singular_matrices() {
  std::vector<Rows> list;
  for (const std::size_t n : {2, 5, 22, 23, 30, 47}) {
    list.push_back(complete(n));
    list.push_back(scaled(complete(n), -1));
  }
  for (const std::size_t n : {3, 11, 16}) {
    list.push_back(bipartite(n, n));
    list.push_back(scaled(bipartite(n, n + 2), -1));
    list.push_back(scaled_symmetrically(bipartite(n, n)));
  }
  return list;
}

/// Direct methods and auto, for A of rank n - 1.
const std::vector<std::string> methods_for_any_matrix = {
    "auto", "lu", "ldlt", "sparse-lu", "sparse-ldlt", "gauss-jordan", "mapped-echelon"};

TYPED_TEST(AcceptanceOf, SingularInconsistent_IsNeverSolved) {
  using T = TypeParam;
  for (const Rows& rows : singular_matrices()) {
    const Csr<T> A = sparse<T>(rows);
    std::vector<T> b(rows.size(), T{0});
    b[0] = 1;  // the sum over the rows is not zero, nor is it with powers of two
    for (const std::string& method : methods_for_any_matrix) {
      const auto [x, report] = solve(A, b, {.method = method, .device = Device::serial()});
      EXPECT_FALSE(report.solved()) << method << ", order " << rows.size() << ": " << report;
      if (method != "auto") continue;
      EXPECT_EQ(report.status, Status::inconsistent) << report;
      EXPECT_EQ(report.certainty, Certainty::proven);
      EXPECT_EQ(report.rank.value_or(A.rows() - 1), A.rows() - 1) << report;
    }
  }
}

TYPED_TEST(AcceptanceOf, SingularConsistent_IsNeverInconsistent) {
  using T = TypeParam;
  for (const Rows& rows : singular_matrices()) {
    const Csr<T> A = sparse<T>(rows);
    std::vector<double> x0;
    for (std::size_t i = 0; i < rows.size(); ++i) x0.push_back(static_cast<double>(i % 5) - 2);
    const std::vector<T> b = as<T>(product(rows, x0));
    for (const std::string& method : methods_for_any_matrix) {
      const auto [x, report] = solve(A, b, {.method = method, .device = Device::serial()});
      EXPECT_NE(report.status, Status::inconsistent) << method << ", order " << rows.size() << ": " << report;
      if (method == "auto") {
        EXPECT_TRUE(report.solved()) << report;
      }
      const double level = std::is_same_v<T, double> ? 1e-8 : 1e-4;
      EXPECT_TRUE(!report.solved() || report.relative_residual <= level) << report;
    }
  }
}

/// Methods that find a solution and the rank report the same status as auto.
TEST(Acceptance, ConsistentOfRankDeficiency_UnderdeterminedIsSolved) {
  Rows rows = {{2, 1, 3, 0}, {1, 4, 5, 1}, {3, 5, 8, 1}, {0, 1, 1, 7}};  // row 2 = row 0 + row 1
  const Csr<double> A = sparse<double>(rows);
  const std::vector<double> b = product(rows, {1, 2, 3, 4});
  for (const std::string method : {"auto", "gauss-jordan", "mapped-echelon", "sparse-lu"}) {
    const auto [x, report] = solve(A, b, {.method = method});
    EXPECT_TRUE(report.solved()) << method << ": " << report;
    EXPECT_EQ(report.rank.value_or(3), 3) << report;
    EXPECT_TRUE(method == "auto" || report.status == Status::underdetermined) << method << ": " << report;
  }
}

/// Rounding errors of the residual in working precision do not make an answer.
TEST(Acceptance, IterationLimitedByRounding_IsJudgedByItsTrueResidual) {
  for (const auto& [residual, status] :
       {std::pair(0.9e-4, Status::converged), std::pair(2.2e-4, Status::stagnated)}) {
    Answer<float> answer;
    answer.b.norm2 = 1;
    answer.r.norm2 = residual;
    Job job;
    job.outcome.status = Status::converged;
    job.tolerance = 1e-5;
    job.limited_by_rounding = true;
    ExactRank<float> exact;
    accept_iterative(answer, exact, job);
    EXPECT_EQ(job.outcome.status, status) << residual;
  }
}

/// A solver whose rank is not reported computes none, and has the same x.
TEST(Acceptance, LeaveRankUnproven_OmitsTheProof) {
  const Csr<double> A = sparse<double>(complete(30));
  std::vector<double> b(30, 0);
  b[0] = 1;
  b[7] = -1;
  std::vector<double> x[2];
  for (const bool proves : {false, true}) {
    auto solver = make_solver<double>("sparse-ldlt", Device::serial());
    if (!proves) SolverAccess<double>::implementation(solver).leave_rank_unproven();
    solver.setup(A);
    std::vector<double>& answer = x[proves ? 1 : 0];
    answer.resize(30);
    const Report report = solver.solve(std::as_const(b), answer);
    EXPECT_EQ(report.status, Status::underdetermined) << report;
    EXPECT_EQ(report.rank, 29) << report;
    EXPECT_EQ(report.certainty, proves ? Certainty::proven : Certainty::working_precision) << report;
  }
  EXPECT_EQ(x[0], x[1]);

  ExactRank<double> exact{MatrixRef<double>(A)};
  Outcome outcome = {.status = Status::underdetermined, .rank = 29};
  accept_direct<double>({.b = {}, .x = {}, .r = {}, .proves_rank = false}, 30, exact, outcome);
  EXPECT_EQ(outcome.certainty, Certainty::working_precision);
  EXPECT_EQ(exact.known(), std::nullopt);
}

/// Powers of two as column scales: x is known exactly, and its largest elements belong to the smallest
/// columns.
TEST(Acceptance, ColumnsScaledOverDecades_PromisedDigitsAreThere) {
  std::mt19937 random(11);
  std::uniform_int_distribution<int> integer(-9, 9);
  for (const int bits : {0, 20, 30, 40, 53, 80, 120, 200}) {
    for (const std::size_t n : {3, 10, 50}) {
      Rows rows(n, std::vector<double>(n));
      std::vector<double> y(n);
      for (auto& row : rows) std::generate(row.begin(), row.end(), [&] { return integer(random); });
      for (std::size_t i = 0; i < n; ++i) rows[i][i] += 10 + static_cast<double>(n);
      std::generate(y.begin(), y.end(), [&] { return integer(random); });
      std::vector<double> b = product(rows, y);
      std::vector<double> exact(n);
      for (std::size_t j = 0; j < n; ++j) {
        const int exponent = -static_cast<int>(j) * bits / static_cast<int>(n);
        for (auto& row : rows) row[j] = std::ldexp(row[j], exponent);
        exact[j] = std::ldexp(y[j], -exponent);
      }
      for (const std::string method :
           {"auto", "lu", "sparse-lu", "gauss-jordan", "mapped-echelon", "banded-lu"}) {
        const auto [x, report] =
            solve(sparse<double>(rows), b, {.method = method, .device = Device::serial()});
        double size = 0;
        double error = 0;
        for (std::size_t j = 0; j < n; ++j) {
          size = std::max(size, std::abs(exact[j]));
          error = std::max(error, std::abs(x.data()[j] - exact[j]));
        }
        EXPECT_TRUE(report.solved()) << method << ", " << bits << " bits: " << report;
        ASSERT_TRUE(report.error_estimate.has_value()) << method << ": " << report;
        EXPECT_LE(error / size, 10 * *report.error_estimate) << method << ", " << bits << " bits: " << report;
        EXPECT_LE(*report.error_estimate, std::max(100 * error / size, 3e-15))
            << method << ", " << bits << ": " << report;
      }
    }
  }
}

/// -2^p or 2^p for each of n lines.
std::vector<int> alternating_exponents(std::mt19937& random, std::size_t n, int p) {
  std::vector<int> exponents(n);
  for (int& exponent : exponents) exponent = random() % 2 == 0 ? p : -p;
  return exponents;
}

/// R M C for a well-conditioned M with a few elements in each row, and powers of two R and C that alternate:
/// x = C^-1 y is known exactly.
TYPED_TEST(AcceptanceOf, RowsAndColumnsScaledAlternately_AreSolved) {
  using T = TypeParam;
  std::mt19937 random(5);
  const std::vector<int> sizes =
      std::is_same_v<T, double> ? std::vector<int>{60, 300, 400} : std::vector{20, 30};
  for (const int p : sizes) {
    for (const std::size_t n : {5, 12, 40}) {
      const std::vector<int> r = alternating_exponents(random, n, p);
      const std::vector<int> c = alternating_exponents(random, n, p);
      Rows rows(n, std::vector<double>(n, 0));
      std::vector<double> y(n);
      for (std::size_t i = 0; i < n; ++i) {
        rows[i][i] = 20;
        rows[i][(i + 1) % n] = static_cast<double>(random() % 9) - 4;
        rows[i][random() % n] += 3;
        y[i] = static_cast<double>(random() % 9) + 1;
      }
      std::vector<double> b = product(rows, y);
      double size = 0;
      for (std::size_t i = 0; i < n; ++i) {
        b[i] = std::ldexp(b[i], r[i]);
        for (std::size_t j = 0; j < n; ++j) rows[i][j] = std::ldexp(rows[i][j], r[i] + c[j]);
        size = std::max(size, std::ldexp(y[i], -c[i]));
      }
      for (const std::string method : {"auto", "lu", "qr", "crout", "lapack-lu", "banded-lu", "gauss-jordan",
                                       "sparse-lu", "mapped-echelon"}) {
        SCOPED_TRACE(method + " " + std::to_string(p) + " " + std::to_string(n));
        const auto [x, report] =
            solve(sparse<T>(rows), as<T>(b), {.method = method, .device = Device::serial()});
        EXPECT_EQ(report.status, Status::direct) << report;
        double error = 0;
        for (std::size_t j = 0; j < n; ++j)
          error = std::max(error, std::abs(static_cast<double>(x.data()[j]) - std::ldexp(y[j], -c[j])));
        EXPECT_LE(error, 1e3 * std::numeric_limits<T>::epsilon() * size) << report;
      }
    }
  }
}

/// ||x - x*||_inf / ||x*||_inf for the exact solution x*, which is in the range of double.
double exact_error(const Rows& rows, const std::vector<double>& b, const Dense<double>& x) {
  std::vector<double> elements;
  for (const auto& row : rows) elements.insert(elements.end(), row.begin(), row.end());
  const std::vector<BigFloat> exact = solve_exactly(elements, b);
  double error = 0;
  double size = 0;
  for (std::size_t j = 0; j < b.size(); ++j) {
    size = std::max(size, std::abs(exact[j].to_double()));
    error = std::max(error, std::abs((exact[j] - BigFloat(x.data()[j])).to_double()));
  }
  return error / size;
}

const std::vector<std::string> methods_with_factors = {"lu",           "qr",        "crout",    "lapack-lu",
                                                       "gauss-jordan", "banded-lu", "sparse-lu"};

/// Elements of A x beyond the range of double, for an x and a b within it.
TEST(Acceptance, ProductsOutOfRange_AreMeasured) {
  std::mt19937 random(3);
  for (const std::size_t n : {3, 7, 20}) {
    for (const int size : {450, -450}) {
      Rows rows(n, std::vector<double>(n));
      std::vector<double> b(n);
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          const double element = static_cast<double>(random() % 9) - 4 + (i == j ? 30.0 : 0);
          rows[i][j] = std::ldexp(element, i % 2 == 0 ? 480 : -480);
        }
        b[i] = std::ldexp(static_cast<double>(random() % 9) - 4.5, size);
      }
      for (const std::string& method : methods_with_factors) {
        SCOPED_TRACE(method + " " + std::to_string(n) + " " + std::to_string(size));
        const auto [x, report] =
            solve(sparse<double>(rows), b, {.method = method, .device = Device::serial()});
        ASSERT_EQ(report.status, Status::direct) << report;
        ASSERT_TRUE(report.error_estimate.has_value()) << report;
        const double error = exact_error(rows, b, x);
        EXPECT_LE(error, 1e-13) << report;
        EXPECT_LE(error, 10 * *report.error_estimate) << report;
      }
    }
  }
}

/// The inverse of M has zeros, whose rounding errors outgrow x where rows and columns are scaled: corrections
/// remove them although they are as large as x itself.
TEST(Acceptance, RoundingErrorsLargerThanSolution_AreCorrected) {
  std::mt19937 random(8);
  const auto factor = [&random] { return std::pow(10.0, static_cast<double>(random() % 81) - 40); };
  for (int repetition = 0; repetition < 12; ++repetition) {
    const std::size_t n = 4 + static_cast<std::size_t>(repetition);
    std::vector<double> r(n);
    std::vector<double> c(n);
    std::generate(r.begin(), r.end(), factor);
    std::generate(c.begin(), c.end(), factor);
    Rows rows(n, std::vector<double>(n));
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        const auto distance = static_cast<double>(std::max(i, j) - std::min(i, j));
        rows[i][j] = std::pow(0.3, distance) * r[i] * c[j];
      }
    }
    std::vector<double> b(n, 0);
    b[random() % n] = 1;
    for (const std::string& method : methods_with_factors) {
      SCOPED_TRACE(method + " " + std::to_string(n));
      const auto [x, report] = solve(sparse<double>(rows), b, {.method = method, .device = Device::serial()});
      ASSERT_EQ(report.status, Status::direct) << report;
      ASSERT_TRUE(report.error_estimate.has_value()) << report;
      EXPECT_LE(*report.error_estimate, 1e-8) << report;
      EXPECT_LE(exact_error(rows, b, x), 10 * *report.error_estimate) << report;
    }
  }
}

/// Growth of elements that makes the condition number of the factors one of rounding errors.
TYPED_TEST(AcceptanceOf, GrowthOfElements_IsNotTakenForSingularity) {
  using T = TypeParam;
  for (const std::int64_t n : {44, 50, 60, 84}) {
    const auto A = std::get<Dense<T>>(make_matrix<T>("foster", {{"n", n}}));
    std::vector<T> b(static_cast<std::size_t>(n), T{0});
    b[1] = 1;
    for (const std::string method : {"lu", "gauss-jordan", "banded-lu", "sparse-lu"}) {
      const Report report = solve(A, b, {.method = method, .device = Device::serial()}).report;
      EXPECT_EQ(report.status, Status::direct) << method << " " << n << ": " << report;
    }
  }
}

/// A triangular matrix without a zero on its diagonal is nonsingular, whatever its condition.
TEST(Acceptance, IllConditionedTriangles_AreNotSingular) {
  for (const auto& [name, rows] : {std::pair("kahan", 200), std::pair("triw", 60), std::pair("triw", 100)}) {
    const Matrix<double> A = make_matrix<double>(name, {{"n", rows}});
    const std::vector<double> b(static_cast<std::size_t>(rows), 1.0);
    for (const std::string method : {"auto", "lu", "gauss-jordan", "crout", "sparse-lu"}) {
      const auto [x, report] = solve(MatrixRef<double>(A), b, {.method = method, .device = Device::serial()});
      EXPECT_EQ(report.status, Status::direct) << name << " " << method << ": " << report;
      EXPECT_EQ(report.rank, rows) << method << ": " << report;
      EXPECT_EQ(report.certainty, Certainty::proven) << method << ": " << report;
    }
  }
}

/// Norms and tolerances that overflow are never met by x = 0.
TEST(Acceptance, NormOfRightHandSideOverflows_IsSolvedOrRefused) {
  const Problem problem = path(40);
  const Csr<double> A = problem.csr<double>();
  const std::vector<double> b(40, 1e308);
  for (const Method& method : methods()) {
    if (method.kind == MethodKind::preconditioner || !method.runs_on(Device::serial())) continue;
    if (method.needs == MethodNeeds::triangular) continue;
    const auto [x, report] =
        solve(A, b, {.method = method.name, .device = Device::serial(), .max_iterations = 5000});
    if (!report.solved()) continue;
    EXPECT_LE(report.backward_error, 1e-7) << method.name << ": " << report;
    EXPECT_GT(*std::max_element(x.data(), x.data() + 40), 1e307) << method.name;
  }
}

/// A system times a power of two has the answer of the system, for all methods.
TEST(Acceptance, TinyAndHugeSystems_HaveTheAnswerOfModerateOnes) {
  const Csr<double> A = poisson(8);
  const std::vector<double> ones(static_cast<std::size_t>(A.rows()), 1.0);
  Dense<double> b(Device(), A.rows(), 1);
  multiply<double>(1, A, ones, 0, b);
  for (const Method& method : methods()) {
    if (method.kind == MethodKind::preconditioner || !method.runs_on(Device::serial())) continue;
    if (method.needs == MethodNeeds::triangular) continue;
    const SolveOptions options{.method = method.name, .device = Device::serial()};
    const auto [x, report] = solve(A, b, options);
    for (const auto& [matrix, rhs] : {std::pair(-515, -515), std::pair(-900, -1000), std::pair(515, 515),
                                      std::pair(900, 990), std::pair(0, -1000), std::pair(-600, 0)}) {
      Csr<double> scaled_A = A.to(Device());
      std::vector<double> scaled_b(ones.size());
      for (std::int64_t k = 0; k < A.nonzeros(); ++k)
        scaled_A.values()[k] = std::ldexp(A.values()[k], matrix);
      for (std::size_t i = 0; i < ones.size(); ++i) scaled_b[i] = std::ldexp(b.data()[i], rhs);
      const auto [y, other] = solve(scaled_A, scaled_b, options);
      EXPECT_EQ(other.solved(), report.solved())
          << method.name << " " << matrix << " " << rhs << ": " << other;
      if (!report.solved()) continue;
      for (std::size_t i = 0; i < ones.size(); ++i) {
        EXPECT_NEAR(std::ldexp(y.data()[i], matrix - rhs), x.data()[i], 1e-6) << method.name << " " << matrix;
      }
    }
  }
}

/// The x of least residual is the answer only where it is asked for.
TEST(Acceptance, LeastSquares_OnRequestOnly) {
  const Csr<double> A = sparse<double>(complete(12));
  std::vector<double> b(12, 0);
  b[3] = 1;
  const auto [refused_x, refused] = solve(A, b, {.method = "minres"});
  EXPECT_FALSE(refused.solved()) << refused;
  const auto [x, report] = solve(A, b, {.method = "lamg", .least_squares = true});
  EXPECT_EQ(report.status, Status::least_squares) << report;
  EXPECT_NEAR(report.residual_norm, 1 / std::sqrt(12.0), 1e-7);
  const auto [ungraded_x, solved] = solve(sparse<double>({{2, 1}, {1, 2}}), std::vector<double>{1, 2},
                                          {.method = "lu", .least_squares = true});
  EXPECT_EQ(solved.status, Status::direct);
}

/// ||b - A x|| / ||b|| with a residual in 512 bits.
template <class T>
double relative_residual(const Dense<T>& A, const std::vector<T>& b, const Dense<T>& x) {
  double residual = 0;
  double size = 0;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    const double rhs = b[static_cast<std::size_t>(i)];
    BigFloat r = rhs;
    for (std::int64_t j = 0; j < A.columns(); ++j) r = r - BigFloat(A(i, j)) * BigFloat(x[j]);
    residual = std::hypot(residual, r.to_double());
    size = std::hypot(size, rhs);
  }
  return residual / size;
}

/// Kernels of integral equations of the first kind: the Laplace transform exp(-s t), and that of Phillips.
template <class T>
Dense<T> integral_kernel(const std::string& name, std::int64_t n) {
  Dense<T> A(Device(), n, n);
  const auto size = static_cast<double>(n);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) {
      const double s = 10 * static_cast<double>(i + 1) / size;
      const double t = static_cast<double>(j + 1) / size;
      const double distance = 12 * static_cast<double>(i - j) / size;
      const double phillips = std::abs(distance) < 3 ? 1 + std::cos(distance * 1.0471975511965976) : 0;
      A(i, j) = static_cast<T>(name == "laplace" ? std::exp(-s * t) / size : phillips);
    }
  }
  return A;
}

/// Condition numbers far above 1 / eps, without growth of elements: a direct method has an x, and its
/// residual alone decides.
TYPED_TEST(AcceptanceOf, SingularToWorkingPrecision_ResidualDecides) {
  using T = TypeParam;
  const bool wide = std::is_same_v<T, double>;
  const std::vector<std::pair<std::string, std::vector<std::int64_t>>> families = {
      {"hilbert", wide ? std::vector<std::int64_t>{12, 13, 14, 16, 20, 40, 70}
                       : std::vector<std::int64_t>{6, 7, 9, 12, 30}},
      {"pascal", wide ? std::vector<std::int64_t>{18, 20, 22} : std::vector<std::int64_t>{9, 10, 12}},
      {"cauchy", wide ? std::vector<std::int64_t>{12, 20} : std::vector<std::int64_t>{7, 10}},
      {"laplace", {10, 20, 40}},
      {"phillips", {12, 24, 48}}};
  for (const auto& [family, orders] : families) {
    for (const std::int64_t n : orders) {
      const bool kernel = family == "laplace" || family == "phillips";
      const auto A =
          kernel ? integral_kernel<T>(family, n) : std::get<Dense<T>>(make_matrix<T>(family, {{"n", n}}));
      std::vector<T> b(static_cast<std::size_t>(n), T{0});
      for (const bool sum : {true, false}) {
        for (std::int64_t i = 0; i < n; ++i) {
          double value = i == n / 2 ? 1 : 0;
          for (std::int64_t j = 0; sum && j < n; ++j) value += static_cast<double>(A(i, j));
          b[static_cast<std::size_t>(i)] = static_cast<T>(value);
        }
        const bool solved_by_lu = solve(A, b, {.method = "lu"}).report.solved();
        for (const Method& method : methods()) {
          const bool square = method.needs == MethodNeeds::square || method.needs == MethodNeeds::any_shape;
          if (method.kind != MethodKind::direct || !square || !method.runs_on(Device())) continue;
          SCOPED_TRACE(method.name + " " + family + " " + std::to_string(n) + (sum ? " sums" : " unit"));
          const auto [x, report] = solve(A, b, {.method = method.name});
          if (method.name == "mapped-echelon" && report.status == Status::underdetermined) continue;
          if (report.columns.empty()) {  // a pivot that is exactly zero
            EXPECT_EQ(report.status, Status::singular) << report;
            EXPECT_TRUE(report.row.has_value()) << report;
            continue;
          }
          const double residual = relative_residual(A, b, x);
          EXPECT_NEAR(report.relative_residual, residual,
                      1e-3 * residual + 100 * std::numeric_limits<T>::epsilon())
              << report;
          const bool satisfied = residual <= (wide ? 1e-8 : 1e-4);
          // Without pivoting and a condition estimate, nothing says that A is singular.
          const bool spoilt = method.name == "gauss-jordan-striped" && report.status == Status::breakdown;
          EXPECT_TRUE(report.solved() || ((report.status == Status::singular || spoilt) && !satisfied))
              << report;
          EXPECT_FALSE(report.row.has_value());
          EXPECT_TRUE(method.name != "gauss-jordan" || report.solved() == solved_by_lu) << report;
        }
      }
    }
  }
}

/// A x = b and -A x = -b have one status, also where the sum of b is small, and by direct methods.
TEST(Acceptance, SignOfASystem_ChangesNothing) {
  for (const std::size_t n : {7, 40, 100}) {
    const Rows L = graph_laplacian(n, [](std::size_t i, std::size_t j) { return i + 1 == j || j + 1 == i; });
    for (const double share : {0.0, 1e-13, 1e-10, 1.0}) {
      const bool balanced = share < 1e-8;
      std::vector<double> b(n);
      double sum = 0;
      for (std::size_t i = 0; i < n; ++i) sum += b[i] = std::sin(static_cast<double>(i * i));
      for (double& element : b) element -= (1 - share) * sum / static_cast<double>(n);
      std::vector<double> negative_b = b;
      for (double& element : negative_b) element = -element;
      for (const std::string method : {"auto", "cg", "minres", "gmres", "amg", "lamg", "approximate-cholesky",
                                       "bddc", "sparse-lu", "gauss-jordan", "mapped-echelon"}) {
        SCOPED_TRACE(method + " " + std::to_string(n) + " " + std::to_string(share));
        const Report positive = solve(sparse<double>(L), b, {.method = method}).report;
        const Report negative = solve(sparse<double>(scaled(L, -1)), negative_b, {.method = method}).report;
        EXPECT_EQ(positive.solved(), balanced) << positive;
        if (method == "cg") continue;  // which takes no negative definite A
        EXPECT_EQ(negative.solved(), positive.solved()) << negative;
        if (method == "auto" && balanced) continue;  // which takes other methods
        EXPECT_EQ(negative.status, positive.status) << negative;
        EXPECT_EQ(negative.certainty, positive.certainty) << negative;
      }
    }
  }
}

/// Nonsingular, however weak the ground: no method calls it inconsistent, and none accepts an x that does
/// not satisfy the equations.
TEST(Acceptance, WeaklyGroundedPath_IsNeverInconsistent) {
  for (const std::size_t n : {30, 60, 61}) {
    for (const double ground : {1e-9, 1e-11, 1e-12}) {
      Rows rows = graph_laplacian(n, [](std::size_t i, std::size_t j) { return i + 1 == j || j + 1 == i; });
      rows[0][0] += ground;
      const Csr<double> A = sparse<double>(rows);
      std::vector<double> b(n, 0);
      b[n / 2] = 1;
      // The current flows through the ground.
      const double level = 1 / (rows[0][0] - 1);
      for (const Method& method : methods()) {
        const bool general = method.kind != MethodKind::preconditioner && method.runs_on(Device());
        if (!general || method.needs == MethodNeeds::triangular) continue;
        SCOPED_TRACE(method.name + " " + std::to_string(n) + " " + std::to_string(ground));
        const auto [x, report] = solve(A, b, {.method = method.name, .max_iterations = 3000});
        EXPECT_NE(report.status, Status::inconsistent) << report;
        if (!report.solved()) continue;
        EXPECT_LE(report.relative_residual, 1e-7) << report;
        const double error = std::abs(x.data()[n / 2] - (level + static_cast<double>(n / 2))) / level;
        EXPECT_LE(report.expected_digits().value_or(0), 1 - std::log10(error + 1e-16)) << report;
      }
    }
  }
}

TEST(Acceptance, SubnormalSolution_IsRoundedAtTheEnd) {
  const Csr<double> A = sparse<double>({{2, 1}, {1, 3}});
  const std::vector<double> b = {1e-308, 0};  // x = (6e-309, -2e-309)
  for (const Method& method : methods()) {
    if (method.kind != MethodKind::direct || !method.runs_on(Device())) continue;
    if (method.needs == MethodNeeds::triangular) continue;
    const auto [x, report] = solve(A, b, {.method = method.name});
    EXPECT_TRUE(report.solved()) << method.name << ": " << report;
    EXPECT_NEAR(x.data()[0], 6e-309, 1e-323) << method.name;
    EXPECT_NEAR(x.data()[1], -2e-309, 1e-323) << method.name;
  }
}

/// One Ritz value says nothing about the smallest eigenvalue.
TEST(Acceptance, KrylovEndsEarly_NoDigitsArePromisedThatAreNotThere) {
  const std::size_t n = 50;
  Rows rows(n, std::vector<double>(n, 0));
  for (std::size_t i = 0; i < n; ++i) rows[i][i] = rows[0][i] = rows[i][0] = 1;
  for (const double excess : {5e-9, 1e-6, 0.01}) {
    rows[0][0] = static_cast<double>(n) - 1 + excess;
    const Csr<double> A = sparse<double>(rows);
    const std::vector<double> b = product(rows, std::vector<double>(n, 1));
    for (const std::string method : {"cg", "minres", "gmres", "bicgstab"}) {
      const auto [x, report] = solve(A, b, {.method = method});
      if (!report.solved()) continue;
      double error = 0;
      for (std::size_t i = 0; i < n; ++i) error = std::max(error, std::abs(x.data()[i] - 1));
      ASSERT_TRUE(report.error_estimate.has_value()) << method;
      EXPECT_LE(error, 10 * *report.error_estimate) << method << ": " << report;
    }
  }
}

/// Rounding errors in one half of a symmetric matrix do not make it unsymmetric.
TEST(Acceptance, Auto_NearlySymmetric_IsTakenAsSymmetric) {
  Csr<double> A = poisson(20);
  A.values()[1] = std::nextafter(A.values()[1], 0.0);
  const std::vector<double> b(static_cast<std::size_t>(A.rows()), 1.0);
  const auto [x, report] = solve(A, b);
  EXPECT_TRUE(report.solved()) << report;
  EXPECT_TRUE(std::any_of(report.warnings.begin(), report.warnings.end(), [](const std::string& warning) {
    return warning.find("taken as symmetric") != std::string::npos;
  })) << report;
}

}  // namespace
}  // namespace echelon::test
