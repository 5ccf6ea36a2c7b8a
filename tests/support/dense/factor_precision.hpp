// SPDX-License-Identifier: BSD-3-Clause
/// Eliminations in a lower precision, compared with those in the working precision on the same device.
#pragma once

#include "support/dense/mixed_precision.hpp"
#include "support/problems.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace echelon::test {

/// The precisions to test; on the host all are the same.
inline std::vector<std::string> lower_precisions(const Device& device) {
  if (device.on_host()) return {"single", "tf32"};
  return {"single", "tf32x3", "tf32"};
}

/// The precision that a device uses for a requested one: only GPUs have TF32, and single is not lower than
/// float.
template <class T>
std::string precision_on(const Device& device, const std::string& asked) {
  const std::string known = device.on_host() ? "single" : asked;
  return std::is_same_v<T, float> && known == "single" ? "working" : known;
}

template <class T>
GeneralSolution<T> solve_on_device(const Device& device, const Dense<T>& a, const Dense<T>& b,
                                   const GaussJordanOptions& options) {
  const Dense<T> a_there = a.to(device);
  const Dense<T> b_there = b.to(device);
  GeneralSolution<T> solution = RowReduction<T>(device, options).solve(a_there, b_there);
  solution.X = solution.X.to(Device());
  return solution;
}

/// Solves with the method as a Solver; x replaces `b`.
template <class T>
Report solve_as_method(const Device& device, const Dense<T>& a, Dense<T>& b, const Options& options) {
  const Dense<T> a_there = a.to(device);
  const Dense<T> b_there = b.to(device);
  Dense<T> x(device, b.rows(), b.columns());
  Solver<T> method = make_solver<T>("gauss-jordan", device, options);
  method.setup(a_there);
  const Report report = method.solve(b_there, x);
  b = x.to(Device());
  return report;
}

template <class T>
Report invert_on_device(const Device& device, Dense<T>& a, const GaussJordanOptions& options) {
  Dense<T> there = a.to(device);
  const Report report = RowReduction<T>(device, options).invert(there);
  a = there.to(Device());
  return report;
}

/// Expects solutions as accurate as those of the working precision.
template <class T>
void expect_refined_answers(const Device& device, const std::vector<std::int64_t>& sizes) {
  for (const std::string& asked : lower_precisions(device)) {
    for (const std::int64_t n : sizes) {
      for (const std::int64_t k : {1, 3, 70}) {
        if (k == 70 && n != 33) continue;
        SCOPED_TRACE(asked + ", n = " + std::to_string(n) + ", k = " + std::to_string(k));
        const Dense<T> a = with_condition<T>(n, 10, 3);
        const Dense<T> exact = random_dense<T>(n, k, 4);
        const Dense<T> b = product(a, exact);
        const GeneralSolution<T> working = solve_on_device(device, a, b, {});
        const GeneralSolution<T> solution =
            solve_on_device(device, a, b, {.factor_precision = *from_word<Precision>(asked)});
        EXPECT_FALSE(working.report.factor_precision);
        ASSERT_EQ(solution.report.status, Status::direct) << solution.report.message;
        expect_factor_precision(solution.report, asked, precision_on<T>(device, asked));
        EXPECT_LT(scaled_residual<T>(a, solution.X, b), 30);
        EXPECT_LT(largest_difference(solution.X, exact), 1000 * unit<T>);
        EXPECT_LE(solution.report.backward_error, 2 * std::max(working.report.backward_error, unit<T>));
        EXPECT_LE(solution.report.iterations, 10);
        EXPECT_EQ(solution.facts.rank, n);
        EXPECT_EQ(solution.pivot_columns, working.pivot_columns);
        EXPECT_EQ(solution.null_space.columns(), 0);
        EXPECT_NEAR(*solution.report.reciprocal_condition / *working.report.reciprocal_condition, 1, 0.5);
        Dense<T> x = b;
        const Report report = solve_as_method(device, a, x, {{"factor_precision", asked}});
        EXPECT_EQ(report.status, Status::direct) << report.message;
        expect_factor_precision(report, asked, precision_on<T>(device, asked));
        EXPECT_EQ(x.to_vector(), solution.X.to_vector());
      }
    }
  }
}

/// Expects the solutions and statuses of the working precision, and a reason.
template <class T>
void expect_working_answers(const Device& device, const Dense<T>& a, const Dense<T>& b,
                            const GaussJordanOptions& base = {}) {
  const GeneralSolution<T> working = solve_on_device(device, a, b, base);
  for (const std::string& asked : lower_precisions(device)) {
    SCOPED_TRACE(asked);
    GaussJordanOptions options = base;
    options.factor_precision = *from_word<Precision>(asked);
    const GeneralSolution<T> solution = solve_on_device(device, a, b, options);
    if (working.report.status == Status::not_a_number) {
      EXPECT_FALSE(solution.report.factor_precision);  // nothing was factored
    } else {
      expect_factor_precision(solution.report, asked, "working");
    }
    EXPECT_EQ(solution.report.status, working.report.status) << solution.report.message;
    EXPECT_EQ(solution.facts.rank, working.facts.rank);
    EXPECT_EQ(solution.report.row, working.report.row);
    EXPECT_EQ(solution.report.column, working.report.column);
    EXPECT_EQ(solution.X.to_vector(), working.X.to_vector());
    if (a.rows() != a.columns()) continue;
    Dense<T> by_working = b;
    Dense<T> x = b;
    const Options same = {{"equilibrate", base.equilibrate}};
    Options lower = same;
    lower.set("factor_precision", asked);
    const Report expected = solve_as_method(device, a, by_working, same);
    const Report report = solve_as_method(device, a, x, lower);
    EXPECT_EQ(report.status, expected.status) << report.message;
    EXPECT_EQ(report.columns.size(), expected.columns.size());
    if (!expected.columns.empty()) {
      EXPECT_EQ(x.to_vector(), by_working.to_vector());
    }
  }
}

template <class T>
void expect_working_precision_where_it_is_needed(const Device& device) {
  const std::int64_t n = 60;
  const Dense<T> right = random_dense<T>(n, 2, 4);
  {
    SCOPED_TRACE("ill-conditioned");
    const double condition = 0.05 / unit<T>;
    expect_working_answers<T>(device, with_condition<T>(n, condition, 3), right);
  }
  {
    SCOPED_TRACE("rank 40 of 60, consistent or not");
    const Dense<T> a = product(random_dense<T>(n, 40, 1), random_dense<T>(40, n, 2));
    expect_working_answers<T>(device, a, product(a, right));
    expect_working_answers<T>(device, a, right);
  }
  {
    SCOPED_TRACE("equal columns");
    Dense<T> a = random_dense<T>(n, n, 1);
    std::copy_n(a.data() + 7 * n, n, a.data() + 31 * n);
    expect_working_answers<T>(device, a, product(a, right));
  }
  {
    SCOPED_TRACE("NaN");
    Dense<T> a = random_dense<T>(n, n, 1);
    a(17, 23) = std::numeric_limits<T>::quiet_NaN();
    expect_working_answers<T>(device, a, right);
  }
  {
    SCOPED_TRACE("rectangular");
    expect_working_answers<T>(device, random_dense<T>(n, 40, 1), right);
  }
}

/// A NaN in b is found, b = 0 has x = 0, and empty systems are accepted.
template <class T>
void expect_odd_right_hand_sides(const Device& device, const std::string& asked) {
  const std::int64_t n = 33;
  const Dense<T> a = with_condition<T>(n, 10, 3);
  Dense<T> b = random_dense<T>(n, 3, 4);
  std::fill_n(b.data() + n, n, T{0});
  const GaussJordanOptions options{.factor_precision = *from_word<Precision>(asked)};
  const GeneralSolution<T> solution = solve_on_device(device, a, b, options);
  EXPECT_EQ(solution.report.status, Status::direct);
  for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(solution.X(i, 1), T{0});
  b(5, 1) = std::numeric_limits<T>::quiet_NaN();
  const Report report = solve_on_device(device, a, b, options).report;
  EXPECT_EQ(report.status, Status::not_a_number);
  EXPECT_EQ(report.row, 5);
  EXPECT_EQ(report.column, 1);
  EXPECT_TRUE(report.columns.empty());
  EXPECT_EQ(solve_on_device(device, a, zeros<T>(n, 0), options).report.status, Status::direct);
  EXPECT_EQ(solve_on_device(device, zeros<T>(0, 0), zeros<T>(0, 2), options).report.status, Status::direct);
  Dense<T> one = random_dense<T>(1, 1, 2);
  const T quotient = one[0] / T{-3};
  EXPECT_NEAR(solve_on_device(device, scaled(identity<T>(1), T{-3}), one, options).X[0], quotient, unit<T>);
}

/// A lower requested accuracy takes fewer steps; one that cannot be met takes the working precision.
template <class T>
void expect_accuracy_as_asked(const Device& device, const std::string& asked) {
  const std::int64_t n = 100;
  const Dense<T> a = with_condition<T>(n, 30, 3);
  const Dense<T> b = random_dense<T>(n, 2, 4);
  const Report best =
      solve_on_device(device, a, b, {.factor_precision = *from_word<Precision>(asked)}).report;
  const Report enough =
      solve_on_device(device, a, b, {.factor_precision = *from_word<Precision>(asked), .accuracy = 1e-4})
          .report;
  expect_factor_precision(enough, asked, precision_on<T>(device, asked));
  EXPECT_LE(enough.backward_error, 1e-4);
  EXPECT_LT(enough.iterations, best.iterations);
  const GaussJordanOptions too_much{.factor_precision = *from_word<Precision>(asked), .accuracy = 1e-30};
  const GeneralSolution<T> solution = solve_on_device(device, a, b, too_much);
  expect_factor_precision(solution.report, asked, "working");
  EXPECT_EQ(solution.report.iterations, 0);
  EXPECT_EQ(solution.X.to_vector(), solve_on_device(device, a, b, {}).X.to_vector());
  Dense<T> x = b;
  const Report report = solve_as_method(device, a, x, {{"factor_precision", asked}, {"accuracy", 1e-30}});
  EXPECT_EQ(report.status, Status::direct);
  EXPECT_NE(report.message.find("working precision"), std::string::npos) << report.message;
  expect_factor_precision(report, asked, "working");
  EXPECT_EQ(x.to_vector(), solution.X.to_vector());
}

template <class T>
void expect_inverses(const Device& device, const std::vector<std::int64_t>& sizes) {
  const double enough = 1e-3;
  for (const std::string& asked : lower_precisions(device)) {
    for (const std::int64_t n : sizes) {
      SCOPED_TRACE(asked + ", n = " + std::to_string(n));
      const Dense<T> a = with_condition<T>(n, 10, 3);
      const Dense<T> v = random_dense<T>(n, 2, 5);
      Dense<T> working = a;
      const Report by_working = invert_on_device(device, working, {});
      for (const auto& [accuracy, used] :
           {std::pair<std::optional<double>, std::string>{enough, precision_on<T>(device, asked)},
            {1e-18, "working"},
            {std::nullopt, "working"}}) {
        if (n == 0 && accuracy) continue;
        Dense<T> x = a;
        const Report report = invert_on_device(
            device, x, {.factor_precision = *from_word<Precision>(asked), .accuracy = accuracy});
        ASSERT_EQ(report.status, Status::direct) << report.message;
        const bool exact = report.backward_error == 0;  // powers of two
        expect_factor_precision(report, asked, exact && accuracy ? precision_on<T>(device, asked) : used);
        EXPECT_LE(largest_difference(product(x, product(a, v)), v),
                  1000 * (used == "working" ? unit<T> : enough));
        EXPECT_LE(report.backward_error, used == "working" ? 1e-4 : enough);
        if (used == "working" && !exact) {
          EXPECT_EQ(x.to_vector(), working.to_vector());
        } else if (n > 0) {
          EXPECT_NEAR(*report.reciprocal_condition / *by_working.reciprocal_condition, 1, 0.1);
        }
      }
    }
    Dense<T> singular = random_dense<T>(40, 40, 3);
    std::copy_n(singular.data(), 40, singular.data() + 40 * 20);
    const Report report = invert_on_device(
        device, singular, {.factor_precision = *from_word<Precision>(asked), .accuracy = enough});
    expect_factor_precision(report, asked, "working");
    EXPECT_EQ(report.status, Status::singular);
    EXPECT_EQ(report.column, 20);
  }
}

/// Threads that share a solver whose solutions in the lower precision are not accurate enough.
template <class T>
void expect_threads_to_share_a_solver(const Device& device, const std::string& asked) {
  const std::int64_t n = 65;
  const Dense<T> a = with_condition<T>(n, 10, 3);
  const Dense<T> a_there = a.to(device);
  for (const double accuracy : {1e-3, 1e-30}) {
    Solver<T> method =
        make_solver<T>("gauss-jordan", device, {{"factor_precision", asked}, {"accuracy", accuracy}});
    method.setup(a_there);
    std::atomic<int> failures = 0;
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (unsigned round = 0; round < 5; ++round) {
          const Dense<T> b = random_dense<T>(n, 2, 100 * t + round);
          Dense<T> x(device, n, 2);
          const Dense<T> b_there = b.to(device);
          if (!method.solve(b_there, x).solved()) ++failures;
          const Dense<T> found = x.to(Device());
          const double backward_error = std::max(accuracy, unit<T> * static_cast<double>(n));
          const double scale = norm_inf<T>(a.view()) * norm_inf<T>(found.view()) + 1;
          if (!(largest_difference(product(a, found), b) <= 2 * backward_error * scale)) ++failures;
        }
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(failures, 0) << accuracy;
  }
}

}  // namespace echelon::test
