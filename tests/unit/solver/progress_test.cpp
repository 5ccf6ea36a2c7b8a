// SPDX-License-Identifier: BSD-3-Clause
/// Progress of set-ups and solves: phases, fractions, the iterate, and times of the history.
#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace echelon::test {
namespace {

Csr<double> generated(const std::string& name, const Options& options) {
  return std::get<Csr<double>>(find_generator(name).make_double(options));
}
template <class T>
Csr<T> path_with_shift(std::int32_t n) {
  std::vector<Triplet<T>> triplets;
  for (std::int32_t i = 0; i < n; ++i) {
    triplets.push_back({i, i, T(2.25) + T(i % 3) / 8});
    if (i > 0) triplets.insert(triplets.end(), {{i, i - 1, T(-1)}, {i - 1, i, T(-1)}});
  }
  return Csr<T>::from_triplets(n, n, triplets);
}
Dense<double> random_spd(std::int64_t n) {
  Dense<double> A(Device(), n, n);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i <= j; ++i)
      A(i, j) = A(j, i) = std::sin(static_cast<double>(i * j)) + (i == j ? static_cast<double>(n) : 0);
  }
  return A;
}

/// The calls of a set-up, checked for what holds in every one.
struct Calls {
  std::vector<std::pair<SolverPhase, double>> all;
  std::thread::id caller = std::this_thread::get_id();

  Control control() {
    return {.on_progress = [this](const Progress& progress) {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      ASSERT_TRUE(progress.fraction.has_value());
      EXPECT_GE(*progress.fraction, 0);
      EXPECT_LE(*progress.fraction, 1);
      EXPECT_EQ(progress.relative_residual, 1);
      EXPECT_THROW((void)progress.iterate<double>(), Error);
      const std::pair now(progress.phase, *progress.fraction);
      EXPECT_TRUE(all.empty() || all.back() < now) << "monotone";
      all.push_back(now);
    }};
  }
  /// Number of calls inside the phase, excluding its begin and end.
  [[nodiscard]] int inside(SolverPhase phase) const {
    int count = 0;
    for (const auto& [p, fraction] : all) count += p == phase && fraction > 0 && fraction < 1 ? 1 : 0;
    return count;
  }
};

TEST(SetupProgress, EveryMethod_BeginsAndEnds) {
  const Csr<double> A = path_with_shift<double>(50);
  for (const Method& method : methods()) {
    if (!method.runs_on(Device()) || method.needs == MethodNeeds::triangular) continue;
    if (method.name == "auto") continue;  // it reports under the names of others
    SCOPED_TRACE(method.name);
    Calls calls;
    Solver<double> solver = make_solver<double>(method.name, Device());
    ASSERT_TRUE(solver.setup(A, calls.control()).ready());
    ASSERT_GE(calls.all.size(), 2U);
    EXPECT_EQ(calls.all.front(), std::pair(SolverPhase::analysis, 0.0));
    EXPECT_EQ(calls.all.back(), std::pair(SolverPhase::setup, 1.0));
  }
}

/// Dense methods, and numbers of rows that they factor in several steps.
std::vector<std::pair<std::string, std::int64_t>> dense_methods() {
  return {{"lu", 400}, {"cholesky", 1100}, {"ldlt", 400}, {"lapack-lu", 1100}, {"qr", 2100}};
}

TEST(SetupProgress, Factorizations_ReportTheirWork) {
  const Csr<double> grid = generated("poisson-2d", {{"nx", 120}, {"ny", 120}});
  for (const Device& device : {Device::serial(), Device::openmp(2)}) {
    for (const auto& [method, rows] : dense_methods()) {
      SCOPED_TRACE(method);
      Calls calls;
      Solver<double> solver = make_solver<double>(method, device);
      const Dense<double> A = random_spd(rows);
      ASSERT_TRUE(solver.setup(A, calls.control()).ready());
      EXPECT_GE(calls.inside(SolverPhase::setup), 3);
    }
    for (const char* method : {"sparse-cholesky", "sparse-ldlt", "sparse-lu"}) {
      SCOPED_TRACE(method);
      Calls calls;
      Solver<double> solver = make_solver<double>(method, device);
      ASSERT_TRUE(solver.setup(grid, calls.control()).ready());
      // The calling thread need not factor a front where there are several.
      EXPECT_GE(calls.inside(SolverPhase::setup), device == Device::serial() ? 3 : 0);
      EXPECT_NE(std::find(calls.all.begin(), calls.all.end(), std::pair(SolverPhase::analysis, 1.0)),
                calls.all.end())
          << "the ordering is a phase";
    }
    for (const char* method : {"banded-lu", "bddc", "lamg", "approximate-cholesky"}) {
      SCOPED_TRACE(method);
      Calls calls;
      const Options options =
          method == std::string("approximate-cholesky") ? Options{{"jacobi_iterations", 0}} : Options{};
      Solver<double> solver = make_solver<double>(method, device, options);
      ASSERT_TRUE(solver.setup(grid, calls.control()).ready());
      EXPECT_GE(calls.inside(SolverPhase::setup), 1);
    }
    for (const auto& [method, options] :
         std::vector<std::pair<std::string, Options>>{{"amg", {}}, {"cg", {{"preconditioner", "amg"}}}}) {
      SCOPED_TRACE(method);
      Calls calls;
      Solver<double> solver = make_solver<double>(method, device, options);
      ASSERT_TRUE(solver.setup(grid, calls.control()).ready());
      EXPECT_GE(calls.inside(SolverPhase::setup), 2) << "levels";
    }
  }
}

TEST(SetupProgress, Fractions_RiseWithTheWork) {
  // Half of the flops of Cholesky are done after 1 - 2^(-1/3) = 0.21 of the columns of a right-looking one.
  Calls calls;
  Solver<double> solver = make_solver<double>("ldlt", Device::serial());
  const Dense<double> A = random_spd(640);
  ASSERT_TRUE(solver.setup(A, calls.control()).ready());
  ASSERT_GE(calls.all.size(), 1U + 10 + 1);  // begin, blocks of 63 or 64 columns, end
  EXPECT_NEAR(calls.all[1 + 2].second, 1 - std::pow(0.8, 3), 0.01);
}

TEST(SetupProgress, RequestToStop_EndsTheSetup) {
  for (const auto& [method, rows] : dense_methods()) {
    const Dense<double> dense = random_spd(rows);
    std::stop_source stop;
    Solver<double> solver = make_solver<double>(method, Device());
    const Control control{.on_progress =
                              [&](const Progress& progress) {
                                if (progress.phase == SolverPhase::setup && *progress.fraction > 0.3)
                                  stop.request_stop();
                              },
                          .cancel = stop.get_token()};
    EXPECT_EQ(solver.setup(dense, control).status, Status::cancelled) << method;
    EXPECT_TRUE(solver.setup(dense).ready()) << method;
  }
}

/// A request during the analysis ends it: no factorisation begins, and a later set-up is not impaired.
TEST(SetupProgress, RequestToStop_EndsTheAnalysis) {
  const Csr<double> grid = generated("poisson-2d", {{"nx", 60}, {"ny", 60}});
  const std::vector<double> b(3600, 1.0);
  std::vector<double> x(3600);
  for (const char* method : {"sparse-cholesky", "sparse-ldlt", "sparse-lu"}) {
    for (const char* ordering : {"auto", "amd", "dissection", "metis"}) {
      SCOPED_TRACE(std::string(method) + " " + ordering);
      const std::atomic<bool> stop = true;
      Solver<double> solver = make_solver<double>(method, Device::openmp(2), {{"ordering", ordering}});
      Calls calls;
      Control control = calls.control();
      control.cancel = &stop;
      EXPECT_EQ(solver.setup(grid, control).status, Status::cancelled);
      EXPECT_EQ(calls.inside(SolverPhase::setup), 0);
      EXPECT_EQ(solver.analyze(grid, {.cancel = &stop}).status, Status::cancelled);
      ASSERT_TRUE(solver.setup(grid).ready());
      EXPECT_TRUE(solver.solve(b, x).solved());
    }
  }
}

TEST(SetupProgress, Exception_PassesThrough) {
  const Dense<double> dense = random_spd(300);
  for (const Device& device : {Device::serial(), Device::openmp(2)}) {
    for (const char* method : {"lu", "cholesky", "sparse-lu"}) {
      Solver<double> solver = make_solver<double>(method, device);
      const Control control{.on_progress = [](const Progress& progress) {
        if (progress.phase == SolverPhase::setup) throw std::runtime_error("enough");
      }};
      EXPECT_THROW((void)solver.setup(dense, control), std::runtime_error) << method;
      EXPECT_TRUE(solver.setup(dense).ready()) << method;
    }
  }
}

TEST(SetupProgress, OneCall_PhasesInOrder) {
  const Csr<double> A = generated("poisson-2d", {{"nx", 40}, {"ny", 40}});
  const std::vector<double> b(1600, 1.0);
  for (const char* method : {"auto", "cg"}) {
    std::vector<SolverPhase> phases;
    SolveOptions options;
    options.method = method;
    options.kind = method == std::string("auto") ? std::optional(MethodKind::iterative) : std::nullopt;
    options.on_progress = [&](const Progress& progress) {
      if (phases.empty() || phases.back() != progress.phase) phases.push_back(progress.phase);
    };
    ASSERT_TRUE(solve(A, b, options).report.solved());
    ASSERT_GE(phases.size(), 3U);
    EXPECT_EQ(phases.front(), SolverPhase::analysis);
    EXPECT_EQ(phases.back(), SolverPhase::solve);
  }
}

template <class T>
class Iterate : public testing::Test {};
using ScalarTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(Iterate, ScalarTypes);

/// Methods whose iterates are those of shorter solves, bit by bit.
std::vector<std::pair<std::string, Options>> iterative_methods() {
  return {{"cg", {}},
          {"cg", {{"preconditioner", "jacobi"}}},
          {"cr", {}},
          {"minres", {}},
          {"bicgstab", {}},
          {"gmres", {{"restart", 7}}},
          {"gmres", {{"preconditioner", "ilu0"}}},
          {"gmres", {{"preconditioner", "jacobi"}, {"flexible", true}}},
          {"jacobi", {}},
          {"gauss-seidel", {}},
          {"amg", {}},
          {"bddc", {}},
          {"approximate-cholesky", {}},
          {"lamg", {}}};
}

TYPED_TEST(Iterate, ShorterSolve_HasTheSameX) {
  using T = TypeParam;
  for (const double scale : {1.0, 1e-30}) {
    Csr<T> A = path_with_shift<T>(120);
    for (T& value : A.values().span()) value *= static_cast<T>(scale);
    std::vector<T> b(120);
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<T>(std::cos(static_cast<double>(i)));
    for (const auto& [method, options] : iterative_methods()) {
      SCOPED_TRACE(method + " " + std::to_string(scale));
      Solver<T> solver = make_solver<T>(method, Device(), options);
      ASSERT_TRUE(solver.setup(A).ready());
      std::vector<std::vector<T>> iterates;
      std::vector<T> x(b.size());
      const auto keep = [&](const Progress& progress) {
        const DenseView<const T> iterate = progress.iterate<T>();
        ASSERT_EQ(iterate.rows(), 120);
        ASSERT_EQ(iterate.columns(), 1);
        if (progress.iteration == std::ssize(iterates) + 1)
          iterates.emplace_back(iterate.data(), iterate.data() + iterate.rows());
        using Other = std::conditional_t<std::is_same_v<T, float>, double, float>;
        EXPECT_THROW((void)progress.iterate<Other>(), Error);
      };
      std::vector<T> unobserved(b.size());
      const Report plain = solver.solve(b, unobserved, {.max_iterations = 12});
      const Report observed = solver.solve(b, x, {.on_progress = keep, .max_iterations = 12});
      EXPECT_EQ(x, unobserved) << "the bits do not depend on the requests";
      EXPECT_EQ(plain.history, observed.history);
      ASSERT_EQ(std::ssize(iterates), observed.iterations);
      for (std::int64_t k = 1; k <= observed.iterations; ++k) {
        std::vector<T> shorter(b.size());
        const Report report = solver.solve(b, shorter, {.max_iterations = k});
        if (report.message.find("returned as zero") != std::string::npos) continue;
        EXPECT_EQ(iterates[static_cast<std::size_t>(k - 1)], shorter) << "iteration " << k;
      }
    }
  }
}

TEST(IterateOfColumns, EachColumn_HasItsOwn) {
  const Csr<double> A = path_with_shift<double>(90);
  Dense<double> B(Device(), 90, 3);
  for (std::int64_t j = 0; j < 3; ++j) {
    for (std::int64_t i = 0; i < 90; ++i) B(i, j) = std::cos(static_cast<double>(i * (j + 1)));
  }
  for (const char* method : {"cg", "gmres"}) {
    Solver<double> solver = make_solver<double>(method, Device());
    ASSERT_TRUE(solver.setup(A).ready());
    std::vector<std::vector<double>> last(3);
    Dense<double> X(Device(), 90, 3);
    const Report report = solver.solve(B, X, {.on_progress = [&](const Progress& progress) {
                                         const DenseView<const double> x = progress.iterate<double>();
                                         last[static_cast<std::size_t>(progress.right_hand_side)].assign(
                                             x.data(), x.data() + 90);
                                       }});
    ASSERT_TRUE(report.solved());
    for (std::int64_t j = 0; j < 3; ++j) {
      for (std::int64_t i = 0; i < 90; ++i)
        EXPECT_NEAR(last[static_cast<std::size_t>(j)][static_cast<std::size_t>(i)], X(i, j), 1e-14) << method;
    }
  }
}

TEST(HistorySeconds, OneForEachEntry_Rising) {
  const Csr<double> A = generated("poisson-2d", {{"nx", 60}, {"ny", 60}});
  const std::vector<double> b(3600, 1.0);
  std::vector<double> x(3600);
  for (const auto& [method, options] : std::vector<std::pair<std::string, Options>>{
           {"cg", {}}, {"cg", {{"check_every", 16}}}, {"gmres", {{"restart", 10}}}, {"amg", {}}}) {
    Solver<double> solver = make_solver<double>(method, Device(), options);
    ASSERT_TRUE(solver.setup(A).ready());
    const Report report = solver.solve(b, x);
    ASSERT_FALSE(report.history.empty());
    ASSERT_EQ(report.history_seconds.size(), report.history.size());
    EXPECT_GE(report.history_seconds.front(), 0);
    EXPECT_TRUE(std::is_sorted(report.history_seconds.begin(), report.history_seconds.end()));
    EXPECT_GT(report.history_seconds.back(), report.history_seconds.front());
    EXPECT_LE(report.history_seconds.back(), report.solve_seconds);
  }
  Solver<double> direct = make_solver<double>("sparse-cholesky", Device());
  ASSERT_TRUE(direct.setup(A).ready());
  EXPECT_TRUE(direct.solve(b, x).history_seconds.empty());
}

}  // namespace
}  // namespace echelon::test
