// SPDX-License-Identifier: BSD-3-Clause
/// `auto` as a solver: set-ups, repeated solves, new values, transposed and concurrent solves.
#include "support/solver/unsymmetric.hpp"

#include <echelon/echelon.hpp>
#include <echelon/matrix/transform.hpp>
#include <echelon/methods/auto.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

namespace echelon::test {
namespace {

Csr<double> generated(const std::string& name, const Options& options) {
  return std::get<Csr<double>>(find_generator(name).make_double(options));
}
Csr<double> laplacian() {
  return generated("poisson-2d", {{"nx", 30}, {"ny", 20}});
}
/// A with every second diagonal element negative.
Csr<double> indefinite(Csr<double> A) {
  for (std::int64_t i = 0; i < A.rows(); i += 2) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      if (A.column_indices()[k] == i) A.values()[k] = -9;
    }
  }
  return A;
}
std::vector<double> numbers(std::int64_t n, double shift = 0) {
  std::vector<double> x(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<double>(i) + 1 + shift);
  return x;
}
std::vector<double> product(const Csr<double>& A, const std::vector<double>& x) {
  std::vector<double> y(static_cast<std::size_t>(A.rows()));
  multiply<double>(1.0, A, x, 0.0, DenseView<double>(y));
  return y;
}
double distance(const std::vector<double>& x, const std::vector<double>& y) {
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) largest = std::max(largest, std::abs(x[i] - y[i]));
  return largest;
}
std::string name_of(const Report& report) {
  return report.method.substr(0, report.method.find(' '));
}

TEST(AutoMethod, SolvesAsTheOneCall_NamesTheMethod) {
  for (const Device& device : {Device::serial(), Device::openmp()}) {
    for (const Csr<double>& A : {laplacian(), unsymmetric(300), indefinite(laplacian())}) {
      const std::vector<double> b = product(A, numbers(A.rows()));
      const Solution<double> once = solve(A, b, {.device = device});
      Solver<double> solver = make_solver<double>("auto", device);
      const Report setup = solver.setup(A);
      ASSERT_TRUE(setup.ready()) << setup;
      EXPECT_GT(setup.choosing_seconds, 0);
      std::vector<double> x(b.size());
      for (int repetition = 0; repetition < 2; ++repetition) {
        const Report report = solver.solve(b, x);
        EXPECT_TRUE(report.solved()) << report;
        EXPECT_EQ(report.method, once.report.method);
        EXPECT_EQ(report.reason, once.report.reason);
        EXPECT_EQ(report.attempts.size(), once.report.attempts.size());
        EXPECT_GT(report.choosing_seconds, 0);
        EXPECT_EQ(x, once.x.to_vector()) << "the same bits";
      }
      EXPECT_GT(solver.bytes(), 0U);
      EXPECT_EQ(solver.describe(), "auto");
      EXPECT_EQ(solver.device(), device);
    }
  }
}

TEST(AutoMethod, OptionMethods_LimitsTheChoice) {
  for (const Csr<double>& A : {laplacian(), unsymmetric(300)}) {
    const std::vector<double> b = product(A, numbers(A.rows()));
    std::vector<double> x(b.size());
    for (const auto& [methods, kind] : {std::pair(MethodSet::direct, MethodKind::direct),
                                        std::pair(MethodSet::iterative, MethodKind::iterative)}) {
      Auto<double> solver(Device(), {.methods = methods});
      ASSERT_TRUE(solver.setup(A).ready());
      const Report report = solver.solve(b, x);
      EXPECT_TRUE(report.solved()) << report;
      EXPECT_EQ(find_method(name_of(report)).kind, kind);
      SolveOptions options;
      options.kind = kind;
      EXPECT_EQ(solve(A, b, options).report.method, report.method);
      options.kind.reset();
      options.parameters.set("methods", std::string(to_string(methods)));
      EXPECT_EQ(solve(A, b, options).report.method, report.method);
    }
  }
  EXPECT_THROW((void)make_solver<double>("auto", Device(), {{"methods", "quick"}}), BadOption);
  EXPECT_THROW((void)make_solver<double>("auto", Device(), {{"rtol", 0.1}}), BadOption);
  EXPECT_EQ(make_solver<double>("auto", Device(), {{"methods", "direct"}}).describe(),
            "auto (methods=direct)");
}

TEST(AutoMethod, NewValues_KeepMethodAndAnalysis) {
  const Csr<double> A = laplacian();
  Solver<double> solver = make_solver<double>("auto", Device(), {{"methods", "direct"}});
  ASSERT_TRUE(solver.setup(A).ready());
  const std::vector<double> exact = numbers(A.rows());
  std::vector<double> x(exact.size());
  const Report before = solver.solve(product(A, exact), x);
  Csr<double> changed = A;
  for (double& value : changed.values().span()) value *= 3;
  const Report update = solver.update_values(changed);
  EXPECT_TRUE(update.ready());
  EXPECT_EQ(update.choosing_seconds, 0) << "the choice is kept";
  const Report report = solver.solve(product(changed, exact), x);
  EXPECT_EQ(report.method, before.method);
  EXPECT_TRUE(report.attempts.empty());
  EXPECT_LE(distance(x, exact), 1e-6);
  std::vector<double> values(static_cast<std::size_t>(A.nonzeros()));
  std::transform(A.values().data(), A.values().data() + A.nonzeros(), values.begin(),
                 [](double value) { return 5 * value; });
  ASSERT_TRUE(solver.update_values(std::span<const double>(values)).ready());
  ASSERT_TRUE(solver.solve(product(A, exact), x).solved());
  for (double& element : x) element *= 5;
  EXPECT_LE(distance(x, exact), 1e-6);
}

TEST(AutoMethod, NewValuesThatTheMethodRefuses_NextCandidate) {
  const Csr<double> A = laplacian();
  Solver<double> solver = make_solver<double>("auto", Device(), {{"methods", "direct"}});
  ASSERT_TRUE(solver.setup(A).ready());
  const std::vector<double> exact = numbers(A.rows());
  std::vector<double> x(exact.size());
  const Report before = solver.solve(product(A, exact), x);
  ASSERT_NE(before.method.find("cholesky"), std::string::npos) << before;
  const Csr<double> changed = indefinite(A);
  const Report update = solver.update_values(changed);
  ASSERT_TRUE(update.ready()) << update;
  EXPECT_NE(name_of(update), name_of(before));
  ASSERT_EQ(update.attempts.size(), 1U);
  EXPECT_EQ(update.attempts[0].method, before.method);
  EXPECT_EQ(update.attempts[0].status, Status::not_spd);
  EXPECT_GT(update.choosing_seconds, 0);
  const Report report = solver.solve(product(changed, exact), x);
  EXPECT_TRUE(report.solved()) << report;
  EXPECT_EQ(report.method, update.method);
  EXPECT_EQ(report.attempts.size(), 1U);
  EXPECT_LE(distance(x, exact), 1e-6);
  ASSERT_TRUE(solver.setup(A).ready());
  EXPECT_EQ(solver.solve(product(A, exact), x).method, before.method) << "a set-up chooses anew";
}

TEST(AutoMethod, FailureInASolve_NextCandidateIsKept) {
  const Csr<double> L = generated("poisson-2d", {{"nx", 150}, {"ny", 150}});
  const Csr<double> A = multiply(L, L);
  Solver<double> solver = make_solver<double>("auto", Device());
  const Report setup = solver.setup(A);
  ASSERT_TRUE(setup.ready());
  ASSERT_EQ(name_of(setup), "cg") << "a trial";
  const std::vector<double> b = product(A, numbers(A.rows()));
  std::vector<double> x = b;
  const Report first = solver.solve(x, x);  // X is B itself
  EXPECT_TRUE(first.solved()) << first;
  EXPECT_EQ(first.method, "sparse-cholesky");
  ASSERT_EQ(first.attempts.size(), 1U);
  EXPECT_EQ(first.attempts[0].status, Status::max_iterations);
  std::vector<double> again(b.size());
  const Report second = solver.solve(b, again);
  EXPECT_EQ(second.method, "sparse-cholesky");
  EXPECT_EQ(second.attempts.size(), 1U) << "those tried for this matrix";
  EXPECT_EQ(x, again);
}

TEST(AutoMethod, TransposedSolve_TolerancePerSolve) {
  const Csr<double> A = unsymmetric(300);
  const std::vector<double> exact = numbers(A.rows());
  std::vector<double> x(exact.size());
  for (const char* methods : {"direct", "iterative"}) {
    Solver<double> solver = make_solver<double>("auto", Device(), {{"methods", methods}});
    ASSERT_TRUE(solver.setup(A).ready());
    const Report transposed =
        solver.solve(product(transpose(A), exact), x, {.operation = Operation::transpose});
    EXPECT_TRUE(transposed.solved()) << transposed;
    EXPECT_LE(distance(x, exact), 1e-5);
    const Report tight = solver.solve(product(A, exact), x, {.rtol = 1e-13});
    EXPECT_TRUE(tight.solved()) << tight;
    EXPECT_LE(tight.relative_residual, 1e-13);
    EXPECT_TRUE(tight.warnings.empty());
  }
}

TEST(AutoMethod, FirstGuess_StartsEachAttempt) {
  const Csr<double> A = laplacian();
  const std::vector<double> exact = numbers(A.rows());
  Solver<double> solver = make_solver<double>("auto", Device(), {{"methods", "iterative"}});
  ASSERT_TRUE(solver.setup(A).ready());
  std::vector<double> x = exact;
  const Report report = solver.solve(product(A, exact), x, {.use_initial_guess = true});
  EXPECT_TRUE(report.solved());
  EXPECT_EQ(report.iterations, 0);
  EXPECT_LE(distance(x, exact), 1e-12);
}

TEST(AutoMethod, Cancelled_SolvesLater) {
  const Csr<double> A = laplacian();
  const std::vector<double> exact = numbers(A.rows());
  std::vector<double> x(exact.size());
  for (const char* methods : {"direct", "iterative"}) {
    Solver<double> solver = make_solver<double>("auto", Device(), {{"methods", methods}});
    std::stop_source stop;
    stop.request_stop();
    (void)solver.setup(A, {.cancel = stop.get_token()});
    EXPECT_EQ(solver.solve(product(A, exact), x, {.cancel = stop.get_token()}).status, Status::cancelled);
    ASSERT_TRUE(solver.setup(A).ready());
    EXPECT_TRUE(solver.solve(product(A, exact), x).solved());
    EXPECT_LE(distance(x, exact), 1e-5);
  }
}

TEST(AutoMethod, SingularMatrix_AsTheOneCall) {
  Csr<double> A = unsymmetric(40);
  for (std::int64_t k = A.row_offsets()[7]; k < A.row_offsets()[8]; ++k) A.values()[k] = 0;
  for (const bool consistent : {false, true}) {
    std::vector<double> b = product(A, numbers(40));
    if (!consistent) b[7] = 1;
    const Solution<double> once = solve(A, b);
    Solver<double> solver = make_solver<double>("auto", Device());
    (void)solver.setup(A);
    std::vector<double> x(40);
    for (int repetition = 0; repetition < 2; ++repetition) {
      const Report report = solver.solve(b, x);
      EXPECT_EQ(report.status, once.report.status) << report;
      EXPECT_EQ(report.rank, once.report.rank);
      EXPECT_EQ(report.certainty, once.report.certainty);
    }
  }
}

TEST(AutoMethod, ConcurrentSolves_SameBits) {
  const Csr<double> L = generated("poisson-2d", {{"nx", 150}, {"ny", 150}});
  const Csr<double> A = multiply(L, L);  // the first candidate fails in all threads
  Solver<double> solver = make_solver<double>("auto", Device::serial());
  ASSERT_TRUE(solver.setup(A).ready());
  constexpr int threads = 4;
  std::vector<std::vector<double>> xs(threads, std::vector<double>(static_cast<std::size_t>(A.rows())));
  std::vector<Report> reports(threads);
  {
    std::vector<std::jthread> running;
    for (int t = 0; t < threads; ++t) {
      running.emplace_back([&, t] {
        reports[static_cast<std::size_t>(t)] =
            solver.solve(product(A, numbers(A.rows(), t)), xs[static_cast<std::size_t>(t)]);
      });
    }
  }
  for (int t = 0; t < threads; ++t) {
    EXPECT_TRUE(reports[static_cast<std::size_t>(t)].solved()) << reports[static_cast<std::size_t>(t)];
    std::vector<double> alone(static_cast<std::size_t>(A.rows()));
    ASSERT_TRUE(solver.solve(product(A, numbers(A.rows(), t)), alone).solved());
    EXPECT_EQ(xs[static_cast<std::size_t>(t)], alone);
  }
}

TEST(AutoMethod, MovedAndMisused) {
  const Csr<double> A = unsymmetric(50);
  const std::vector<double> exact = numbers(50);
  std::vector<double> x(50);
  Solver<double> solver = make_solver<double>("auto", Device());
  EXPECT_THROW((void)solver.solve(exact, x), Error) << "before a set-up";
  ASSERT_TRUE(solver.analyze(A).ready());
  ASSERT_TRUE(solver.setup(A).ready());
  Solver<double> moved = std::move(solver);
  EXPECT_TRUE(moved.solve(product(A, exact), x).solved());
  EXPECT_LE(distance(x, exact), 1e-6);
  std::vector<double> small(49);
  EXPECT_THROW((void)moved.solve(exact, small), DimensionMismatch);
  const Solver<double> jacobi = make_solver<double>("jacobi", Device());
  EXPECT_THROW(moved.set_preconditioner(jacobi), Error);
  EXPECT_THROW((void)make_solver<double>("cg", Device(), {{"preconditioner", "auto"}}), BadOption);
}

TEST(AutoMethod, NanInAOrB_IsReported) {
  Csr<double> A = unsymmetric(20);
  std::vector<double> x(20);
  Solver<double> solver = make_solver<double>("auto", Device());
  ASSERT_TRUE(solver.setup(A).ready());
  EXPECT_EQ(solver.solve(std::vector<double>(20, std::numeric_limits<double>::quiet_NaN()), x).status,
            Status::not_a_number);
  EXPECT_TRUE(solver.solve(std::vector<double>(20, 1.0), x).solved());
  A.values()[3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(solver.setup(A).status, Status::not_a_number);
  EXPECT_EQ(solver.solve(std::vector<double>(20, 1.0), x).status, Status::not_a_number);
}

TEST(AutoMethod, Operator_EmptyAndOneByOne) {
  const Csr<double> A = unsymmetric(60);
  const LinearOperator<double> products(60, 60, [&](const double* x, double* y) {
    const std::vector<double> result = product(A, std::vector<double>(x, x + 60));
    std::copy(result.begin(), result.end(), y);
  });
  Solver<double> solver = make_solver<double>("auto", Device());
  ASSERT_TRUE(solver.setup(products).ready());
  const std::vector<double> exact = numbers(60);
  std::vector<double> x(60);
  EXPECT_TRUE(solver.solve(product(A, exact), x).solved());
  EXPECT_LE(distance(x, exact), 1e-6);
  const Csr<double> none = Csr<double>::from_triplets(0, 0, {});
  ASSERT_TRUE(solver.setup(none).ready());
  std::vector<double> empty;
  EXPECT_TRUE(solver.solve(std::vector<double>(), empty).solved());
  const Dense<double> one(1, 1, Array<double>{4});
  ASSERT_TRUE(solver.setup(one).ready());
  std::vector<double> y(1);
  EXPECT_TRUE(solver.solve(std::vector<double>{8}, y).solved());
  EXPECT_EQ(y[0], 2);
}

}  // namespace
}  // namespace echelon::test
