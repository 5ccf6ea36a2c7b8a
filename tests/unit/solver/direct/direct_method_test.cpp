// SPDX-License-Identifier: BSD-3-Clause
/// DirectMethod with the smallest factorisation, that of a diagonal matrix: what a new factorisation needs.
#include "solver/direct/direct_method.hpp"

#include "backend/host/host.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace echelon::test {
namespace {

struct DiagonalOptions {
  std::int64_t refine = 20;
  bool condition = true;
  /// Relative error of the inverse, which refinement has to repair.
  double error = 0;
};

/// A = D.
template <class B, class T>
class DiagonalFactorization {
 public:
  DiagonalFactorization(const Device&, const DiagonalOptions& options) : error_(options.error) {}

  Outcome factor(const direct::FactorContext<B, T>& context) {
    const Dense<T> A = to_dense(context.A);
    diagonal_.clear();
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      if (A(i, i) == 0) return zero_pivot(i);
      diagonal_.push_back(A(i, i));
    }
    return {};
  }
  void substitute(direct::Operation, B&, direct::NoSpace&, DenseView<T> X) const {
    for (std::int64_t j = 0; j < X.columns(); ++j) {
      for (std::int64_t i = 0; i < X.rows(); ++i) {
        X(i, j) *= static_cast<T>(1 + error_) / diagonal_[static_cast<std::size_t>(i)];
      }
    }
  }
  [[nodiscard]] double norm() const {
    double largest = 0;
    for (const T d : diagonal_) largest = std::max(largest, std::fabs(static_cast<double>(d)));
    return largest;
  }
  [[nodiscard]] std::size_t bytes() const { return diagonal_.size() * sizeof(T); }

 protected:
  std::vector<T> diagonal_;
  double error_;
};

/// Factorisation of 4 D, with scales of 4 and 1 that DirectMethod applies; two columns are refined together.
template <class B, class T>
class ScaledFactorization : public DiagonalFactorization<B, T> {
 public:
  static constexpr std::int64_t columns_at_once = 2;
  using DiagonalFactorization<B, T>::DiagonalFactorization;

  Outcome factor(const direct::FactorContext<B, T>& context) {
    Outcome outcome = DiagonalFactorization<B, T>::factor(context);
    for (T& d : this->diagonal_) d *= 4;
    const std::vector<T> rows(this->diagonal_.size(), T{4});
    context.scales.rows = Array<T>(Device(), std::span<const T>(rows));
    outcome.statistics = {{"refined_error", test(context)}};
    return outcome;
  }

 private:
  /// Backward error of a test solution for b = 1.
  static double test(const direct::FactorContext<B, T>& context) {
    const std::vector<T> b(static_cast<std::size_t>(context.A.rows()), T{1});
    std::vector<T> x(b.size());
    context.solve(b.data(), x.data());
    return context.backward_error(b.data(), x.data());
  }
};

static_assert(direct::Factorization<DiagonalFactorization<Host, double>, Host, double>);
static_assert(!direct::ScalesItself<DiagonalFactorization<Host, double>, Host, double>);

template <class B, class T, template <class, class> class F = DiagonalFactorization>
Solver<T> diagonal_solver(const DiagonalOptions& options = {}) {
  auto method = std::make_unique<DirectMethod<B, T, F<B, T>>>(Device(), options);
  method->set_description("lapack-lu", "");  // a name that the registry has
  return Solver<T>(std::move(method));
}

template <class T>
Csr<T> diagonal_matrix(const std::vector<T>& diagonal) {
  std::vector<Triplet<T>> elements;
  for (std::size_t i = 0; i < diagonal.size(); ++i) {
    const auto row = static_cast<std::int32_t>(i);
    elements.push_back({row, row, diagonal[i]});
  }
  const auto n = static_cast<std::int64_t>(diagonal.size());
  return Csr<T>::from_triplets(n, n, elements);
}

template <class V>
V value_of(const Report& report, const char* statistic) {
  return std::get<V>(report.find_statistic(statistic)->value);
}

template <class Case>
class DirectMethodTest : public ::testing::Test {};

template <class B, class T>
struct BackendAndType {
  using Backend = B;
  using Type = T;
};
using Cases = ::testing::Types<BackendAndType<Host, float>, BackendAndType<Host, double>>;
TYPED_TEST_SUITE(DirectMethodTest, Cases);

TYPED_TEST(DirectMethodTest, SmallestFactorization_Solves) {
  using T = typename TypeParam::Type;
  auto solver = diagonal_solver<typename TypeParam::Backend, T>();
  const Csr<T> A = diagonal_matrix<T>({1, 2, 4});
  const Report setup = solver.setup(A);
  EXPECT_EQ(setup.status, Status::ready);
  EXPECT_DOUBLE_EQ(setup.reciprocal_condition.value(), 0.25);
  std::vector<T> x(3);
  const Report report = solver.solve(std::vector<T>{1, 1, 1}, x);
  EXPECT_EQ(report.status, Status::direct);
  EXPECT_EQ(x, (std::vector<T>{1, T{0.5}, T{0.25}}));
  EXPECT_EQ(value_of<std::int64_t>(report, "refinement_steps"), 0);
  EXPECT_GE(setup.bytes, 3 * sizeof(T));
}

TYPED_TEST(DirectMethodTest, ZeroPivot_IsSingularAndNotSolved) {
  using T = typename TypeParam::Type;
  auto solver = diagonal_solver<typename TypeParam::Backend, T>();
  const Csr<T> A = diagonal_matrix<T>({1, 0, 4});
  const Report setup = solver.setup(A);
  EXPECT_EQ(setup.status, Status::singular);
  EXPECT_EQ(setup.row, 1);
}

TYPED_TEST(DirectMethodTest, LargeCondition_IsSingularWithoutRow) {
  using T = typename TypeParam::Type;
  const Csr<T> A = diagonal_matrix<T>({1, T(1e-18)});
  auto solver = diagonal_solver<typename TypeParam::Backend, T>();
  const Report setup = solver.setup(A);
  EXPECT_EQ(setup.status, Status::singular);
  EXPECT_FALSE(setup.row);
  auto unassessed = diagonal_solver<typename TypeParam::Backend, T>({.condition = false});
  EXPECT_EQ(unassessed.setup(A).status, Status::ready);
}

TYPED_TEST(DirectMethodTest, InaccurateInverse_IsRefined) {
  using T = typename TypeParam::Type;
  auto solver = diagonal_solver<typename TypeParam::Backend, T>({.error = 0.01});
  const Csr<T> A = diagonal_matrix<T>({1, 2, 4});
  solver.setup(A);
  std::vector<T> x(3);
  const Report report = solver.solve(std::vector<T>{3, 2, 1}, x);
  EXPECT_LT(report.backward_error, std::numeric_limits<T>::epsilon());
  // Each step multiplies the error by -0.01.
  EXPECT_GE(value_of<std::int64_t>(report, "refinement_steps"), 3);
}

TYPED_TEST(DirectMethodTest, ScaledFactors_AreRefinedTwoColumnsAtATime) {
  using T = typename TypeParam::Type;
  using B = typename TypeParam::Backend;
  auto solver = diagonal_solver<B, T, ScaledFactorization>({.error = 0.01});
  auto single = diagonal_solver<B, T>({.error = 0.01});
  const Csr<T> A = diagonal_matrix<T>({1, 2, 4});
  const Report setup = solver.setup(A);
  EXPECT_LT(value_of<double>(setup, "refined_error"), std::numeric_limits<T>::epsilon());
  single.setup(A);
  Dense<T> rhs(Device(), 3, 5);
  for (std::int64_t e = 0; e < 15; ++e) rhs.data()[e] = e / 3 == 1 ? T{0} : static_cast<T>(e + 1);
  Dense<T> X(Device(), 3, 5);
  EXPECT_TRUE(solver.solve(rhs, X).solved());
  for (std::int64_t j = 0; j < 5; ++j) {
    std::vector<T> x(3);
    std::ignore = single.solve(std::vector<T>(rhs.view().column(j), rhs.view().column(j) + 3), x);
    EXPECT_EQ(std::vector<T>(X.view().column(j), X.view().column(j) + 3), x) << j;
  }
}

TYPED_TEST(DirectMethodTest, Transpose_AndPreconditionerUseTheFactors) {
  using T = typename TypeParam::Type;
  auto solver = diagonal_solver<typename TypeParam::Backend, T, ScaledFactorization>();
  const Csr<T> A = diagonal_matrix<T>({1, 2, 4});
  solver.setup(A);
  Dense<T> b(Device(), 3, 1);
  Dense<T> x(Device(), 3, 1);
  for (std::int64_t i = 0; i < 3; ++i) b(i, 0) = 1;
  EXPECT_EQ(solver.solve(b, x.view(), {.operation = Operation::transpose}).status, Status::direct);
  EXPECT_EQ(x.to_vector(), (std::vector<T>{1, T{0.5}, T{0.25}}));
  const auto& method = SolverAccess<T>::implementation(solver);
  const auto workspace = method.make_workspace();
  method.apply(*workspace, {b.data(), 3}, {x.data(), 3}, Operation::none);
  EXPECT_EQ(x.to_vector(), (std::vector<T>{1, T{0.5}, T{0.25}}));
}

}  // namespace
}  // namespace echelon::test
