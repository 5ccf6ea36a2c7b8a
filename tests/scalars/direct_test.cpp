// SPDX-License-Identifier: BSD-3-Clause
/// Direct methods for complex matrices.
#include "scalars/complex_systems.hpp"

namespace echelon::test {
namespace {

template <class T>
class ComplexDirect : public ComplexSystems<T> {};
TYPED_TEST_SUITE(ComplexDirect, ComplexTypes);

TYPED_TEST(ComplexDirect, DirectMethods_AnyRegularMatrix_Solve) {
  using T = TypeParam;
  const std::vector<Entries> systems = {random_entries(1, 1, 1),     random_entries(31, 31, 2),
                                        random_entries(70, 70, 3),   random_sparse(150, 4, 4),
                                        magnetic_laplacian(12, 0.3), damped_helmholtz(11, 2.5, 0.1),
                                        random_hermitian(200, 6, 5)};
  for (const Device& device : this->devices) {
    for (const char* method : {"lu", "sparse-lu", "auto"}) {
      for (const Entries& entries : systems) {
        for (const Operation operation : {Operation::none, Operation::transpose, Operation::adjoint}) {
          SCOPED_TRACE(device.name() + " " + method + ", order " + std::to_string(entries.rows));
          Solver<T> solver = this->make(method, device);
          const Csr<T> A = sparse<T>(entries);
          ASSERT_TRUE(solver.setup(A).ready());
          const Vector b = Random(7).vector(entries.rows);
          Dense<T> x(Device(), entries.rows, 1);
          const Report report = solver.solve(column<T>(b), x, {.operation = operation});
          EXPECT_EQ(report.status, Status::direct) << report.message;
          const Vector exact = solution(operate(operation, entries), b);
          const double error = relative_error(x, exact);
          EXPECT_LT(error, this->largest_error) << report.message;
          if (operation != Operation::none) continue;
          EXPECT_LT(report.backward_error, 10 * epsilon<T>);
          ASSERT_TRUE(report.error_estimate.has_value());
          EXPECT_LT(error, 100 * *report.error_estimate + 1e3 * epsilon<T>);
        }
      }
    }
  }
}

TYPED_TEST(ComplexDirect, DirectMethodsSolveSeveralColumns) {
  using T = TypeParam;
  const Entries entries = random_sparse(120, 5, 8);
  const Csr<T> A = sparse<T>(entries);
  for (const char* method : {"lu", "sparse-lu"}) {
    Solver<T> solver = this->make(method, Device::openmp(2));
    ASSERT_TRUE(solver.setup(A).ready());
    constexpr std::int64_t columns = 19;
    Dense<T> B(Device(), 120, columns);
    Dense<T> X(Device(), 120, columns);
    std::vector<Vector> b;
    for (std::int64_t c = 0; c < columns; ++c) {
      b.push_back(Random(static_cast<unsigned>(c)).vector(120));
      for (std::int64_t i = 0; i < 120; ++i) B(i, c) = rounded<T>(b.back()[static_cast<std::size_t>(i)]);
    }
    ASSERT_TRUE(solver.solve(B, X).solved());
    for (std::int64_t c = 0; c < columns; ++c) {
      const Vector exact = solution(entries, b[static_cast<std::size_t>(c)]);
      EXPECT_LT(relative_error(X.view().column(c), exact), this->largest_error) << method << " " << c;
    }
  }
}

TYPED_TEST(ComplexDirect, SparseLu_LargeFront_Solves) {
  using T = TypeParam;
  const Entries entries = random_entries(300, 300, 11);  // one front, wider than a block
  const Csr<T> A = sparse<T>(entries);
  Solver<T> solver = this->make("sparse-lu", Device::openmp(2));
  ASSERT_TRUE(solver.setup(A).ready());
  const Vector b = Random(3).vector(300);
  Dense<T> x(Device(), 300, 1);
  const Report report = solver.solve(column<T>(b), x);
  EXPECT_TRUE(report.solved()) << report.message;
  EXPECT_LT(relative_error(x, solution(entries, b)), 100 * this->largest_error);
}

/// Complex symmetric with zeros on the diagonal: pivots of order two are needed.
Entries symmetric_saddle_point(std::int64_t n, unsigned seed) {
  Entries A = random_entries(n, n, seed);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < i; ++j) A(i, j) = A(j, i);
    A(i, i) = 0;
  }
  for (std::int64_t i = n / 2; i < n; ++i) {
    for (std::int64_t j = n / 2; j < n; ++j) A(i, j) = 0;
  }
  return A;
}

TYPED_TEST(ComplexDirect, SparseLdlt_SymmetricMatrix_Solves) {
  using T = TypeParam;
  Entries one_front = random_entries(260, 260, 81);  // wider than a block
  for (std::int64_t i = 0; i < 260; ++i) {
    for (std::int64_t j = 0; j < i; ++j) one_front(i, j) = one_front(j, i);
  }
  const std::vector<Entries> systems = {damped_helmholtz(1, 1.0, 0.5),     damped_helmholtz(12, 2.5, 0.1),
                                        symmetric_saddle_point(2, 82),     symmetric_saddle_point(60, 83),
                                        magnetic_laplacian(9, 0.4, false), one_front};
  for (const Device& device : this->devices) {
    for (const Entries& entries : systems) {
      for (const Operation operation : {Operation::none, Operation::transpose, Operation::adjoint}) {
        SCOPED_TRACE(device.name() + ", order " + std::to_string(entries.rows));
        Solver<T> solver = this->make("sparse-ldlt", device);
        const Csr<T> A = sparse<T>(entries);
        ASSERT_TRUE(solver.setup(A).ready());
        const Vector b = Random(7).vector(entries.rows);
        Dense<T> x(Device(), entries.rows, 1);
        const Report report = solver.solve(column<T>(b), x, {.operation = operation});
        EXPECT_TRUE(report.solved()) << report.message;
        EXPECT_LT(relative_error(x, solution(operate(operation, entries), b)), 100 * this->largest_error);
        if (operation == Operation::none) {
          EXPECT_LT(report.backward_error, 10 * epsilon<T>);
        }
      }
    }
  }
}

TYPED_TEST(ComplexDirect, SparseLdlt_NotSymmetric_Refused) {
  using T = TypeParam;
  const Csr<T> A = sparse<T>(random_hermitian(20, 6, 91));
  Solver<T> solver = this->make("sparse-ldlt", Device::serial());
  const Report report = solver.setup(A);
  EXPECT_EQ(report.status, Status::breakdown);
  EXPECT_NE(report.message.find("not symmetric"), std::string::npos) << report.message;
  EXPECT_NE(report.message.find("sparse-lu"), std::string::npos) << report.message;
}

TYPED_TEST(ComplexDirect, SparseLdlt_Singular_TellsTheRank) {
  using T = TypeParam;
  Entries entries = damped_helmholtz(6, 1.0, 0.3);
  for (std::int64_t j = 0; j < 36; ++j) entries(20, j) = Exact(0, 2) * entries(3, j);
  for (std::int64_t i = 0; i < 36; ++i) entries(i, 20) = Exact(0, 2) * entries(i, 3);
  entries(20, 20) = Exact(-4, 0) * entries(3, 3);
  const Csr<T> A = sparse<T>(entries);
  Solver<T> solver = this->make("sparse-ldlt", Device::serial());
  const Report report = solver.setup(A);
  EXPECT_EQ(report.status, Status::singular) << report.message;
  EXPECT_EQ(report.rank, 35);
}

TYPED_TEST(ComplexDirect, ConditionNumbersAreEstimated) {
  using T = TypeParam;
  Entries entries = random_entries(40, 40, 21);
  Vector inverse_column;
  long double norm_of_inverse = 0;
  long double norm_of_a = 0;
  for (std::int64_t j = 0; j < 40; ++j) {
    Vector unit(40);
    unit[static_cast<std::size_t>(j)] = 1;
    inverse_column = solution(entries, unit);
    long double sum = 0;
    for (const Exact& element : inverse_column) sum += std::abs(element);
    norm_of_inverse = std::max(norm_of_inverse, sum);
    sum = 0;
    for (std::int64_t i = 0; i < 40; ++i) sum += std::abs(entries(i, j));
    norm_of_a = std::max(norm_of_a, sum);
  }
  const auto exact = static_cast<double>(1 / norm_of_a / norm_of_inverse);
  const Csr<T> A = sparse<T>(entries);
  Solver<T> lu = this->make("lu", Device::serial(), {{"equilibrate", "false"}});
  const Report report = lu.setup(A);
  ASSERT_TRUE(report.reciprocal_condition.has_value());
  EXPECT_GE(*report.reciprocal_condition, 0.99 * exact);
  EXPECT_LE(*report.reciprocal_condition, 3 * exact);
}

TYPED_TEST(ComplexDirect, NewValuesInAPattern_AreFactored) {
  using T = TypeParam;
  Entries entries = damped_helmholtz(8, 1.0, 0.2);
  Csr<T> A = sparse<T>(entries);
  Solver<T> solver = this->make("sparse-lu", Device::openmp(2));
  ASSERT_TRUE(solver.setup(A).ready());
  for (std::int64_t i = 0; i < 64; ++i) entries(i, i) += Exact(0.5L, -0.25L);
  const Csr<T> changed = sparse<T>(entries);
  ASSERT_TRUE(solver.update_values(changed).ready());
  const Vector b = Random(2).vector(64);
  Dense<T> x(Device(), 64, 1);
  EXPECT_TRUE(solver.solve(column<T>(b), x).solved());
  EXPECT_LT(relative_error(x, solution(entries, b)), this->largest_error);
}

}  // namespace
}  // namespace echelon::test
