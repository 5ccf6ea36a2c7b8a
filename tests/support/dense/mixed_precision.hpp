// SPDX-License-Identifier: BSD-3-Clause
/// Dense factorisations in a lower precision, compared with those in the working precision on the same
/// device.
#pragma once

#include "support/dense/gauss_jordan.hpp"
#include "support/gallery.hpp"
#include "support/problems.hpp"
#include "support/sparse_systems.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace echelon::test {

/// Precisions below T that a device has.
template <class T>
std::vector<std::string> lower_factor_precisions(const Device& device) {
  std::vector<std::string> words;
  if (std::is_same_v<T, double>) words.emplace_back("single");
  if (!device.on_host()) words.insert(words.end(), {"tf32x3", "bf16x3", "tf32"});
  return words;
}

/// Singular values or eigenvalues from 1 down to 1 / condition: general for lu, positive definite for
/// cholesky.
template <class T>
Dense<T> matrix_for(const std::string& method, std::int64_t n, double condition, unsigned seed) {
  const Dense<T> a = with_condition<T>(n, method == "lu" ? condition : std::sqrt(condition), seed);
  if (method == "lu") return a;
  Dense<T> transposed(Device(), n, n);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) transposed(i, j) = a(j, i);
  }
  Dense<T> symmetric = product(transposed, a);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < j; ++i) symmetric(i, j) = symmetric(j, i);
  }
  return symmetric;
}

template <class T>
struct Answer {
  Report setup, report;
  Dense<T> x;
};

template <class T>
Answer<T> answer_of(const std::string& method, const Device& device, const Dense<T>& a, const Dense<T>& b,
                    const Options& options) {
  const Dense<T> a_there = a.to(device);
  const Dense<T> b_there = b.to(device);
  Dense<T> x(device, b.rows(), b.columns());
  Solver<T> solver = make_solver<T>(method, device, options);
  Answer<T> answer;
  answer.setup = solver.setup(a_there);
  answer.report = solver.solve(b_there, x);
  EXPECT_GE(solver.bytes(), answer.setup.bytes);
  answer.x = x.to(Device());
  return answer;
}

inline void expect_factor_precision(const Report& report, const std::string& asked, const std::string& used) {
  ASSERT_TRUE(report.factor_precision);
  EXPECT_EQ(to_string(report.factor_precision->asked), asked);
  EXPECT_EQ(to_string(report.factor_precision->used), used) << report.factor_precision->why;
  EXPECT_EQ(report.factor_precision->why.empty(), asked == used) << report.factor_precision->why;
}

/// ||b - A x|| <= factor sqrt(n) u ||A|| ||x|| in the infinity norm for each column, in extended precision.
template <class T>
void expect_backward_stable(const Dense<T>& a, const Dense<T>& x, const Dense<T>& b, double factor = 1.5) {
  const auto n = static_cast<double>(a.rows());
  for (std::int64_t j = 0; j < b.columns(); ++j) {
    Dense<T> column(Device(), a.rows(), 1);
    std::copy_n(x.data() + j * a.rows(), a.rows(), column.data());
    std::vector<long double> r(static_cast<std::size_t>(a.rows()));
    std::vector<long double> sums(static_cast<std::size_t>(a.rows()), 0.0L);
    for (std::int64_t i = 0; i < a.rows(); ++i) r[static_cast<std::size_t>(i)] = b(i, j);
    for (std::int64_t k = 0; k < a.rows(); ++k) {
      for (std::int64_t i = 0; i < a.rows(); ++i) {
        r[static_cast<std::size_t>(i)] -= static_cast<long double>(a(i, k)) * x(k, j);
        sums[static_cast<std::size_t>(i)] += std::abs(static_cast<long double>(a(i, k)));
      }
    }
    long double residual = 0;
    for (const long double element : r) residual = std::max(residual, std::abs(element));
    const long double norm = a.rows() > 0 ? *std::max_element(sums.begin(), sums.end()) : 0;
    // The residual that the method checks is rounded itself: a few units of its largest term.
    EXPECT_LE(static_cast<double>(residual), factor * (std::sqrt(n) + 2) * unit<T> / 2 *
                                                 static_cast<double>(norm) * largest_magnitude(column))
        << "column " << j;
  }
}

/// Expects accurate answers with factors in the precision asked for.
template <class T>
void expect_accurate_in_lower_precision(const std::string& method, const Device& device, std::int64_t n,
                                        std::int64_t columns, double condition) {
  const Dense<T> a = matrix_for<T>(method, n, condition, 3);
  const Dense<T> b = random_dense<T>(n, columns, 4);
  for (const std::string& asked : lower_factor_precisions<T>(device)) {
    SCOPED_TRACE(method + " in " + asked + ", n = " + std::to_string(n));
    const Answer<T> answer = answer_of(method, device, a, b, {{"factor_precision", asked}});
    EXPECT_EQ(answer.setup.status, Status::ready) << answer.setup.message;
    EXPECT_EQ(answer.report.status, Status::direct) << answer.report.message;
    expect_factor_precision(answer.report, asked, asked);
    expect_backward_stable(a, answer.x, b);
    if (n == 0 || columns == 0) continue;
    EXPECT_GE(answer.report.iterations,
              statistic(answer.report, "refinement_steps") + statistic(answer.report, "gmres_steps"));
    ASSERT_TRUE(answer.report.reciprocal_condition);
    const Answer<T> working = answer_of(method, device, a, b, {});
    EXPECT_FALSE(working.report.factor_precision);
    EXPECT_GT(*answer.report.reciprocal_condition, *working.report.reciprocal_condition / 30);
    EXPECT_LT(*answer.report.reciprocal_condition, *working.report.reciprocal_condition * 30);
  }
}

/// Expects a factorisation in the working precision, with its status, and a reason.
template <class T>
void expect_fall_back(const std::string& method, const Device& device, const Dense<T>& a, const Dense<T>& b) {
  const Answer<T> working = answer_of(method, device, a, b, {});
  for (const std::string& asked : lower_factor_precisions<T>(device)) {
    SCOPED_TRACE(method + " in " + asked);
    const Answer<T> answer = answer_of(method, device, a, b, {{"factor_precision", asked}});
    expect_factor_precision(answer.report, asked, "working");
    EXPECT_EQ(answer.report.status, working.report.status) << answer.report.message;
    EXPECT_EQ(answer.report.row, working.report.row);
    EXPECT_EQ(answer.report.iterations, 0);
    if (working.report.solved()) {
      EXPECT_EQ(answer.x.to_vector(), working.x.to_vector());
    }
  }
}

/// Whatever the condition number, the answer is that of the lower precision refined, or of the working one.
template <class T>
void expect_accurate_for_every_condition(const std::string& method, const Device& device, std::int64_t n) {
  const Dense<T> b = random_dense<T>(n, 2, 4);
  for (double condition = 1e1; condition <= 1 / unit<T>; condition *= 10) {
    const Dense<T> a = matrix_for<T>(method, n, condition, 5);
    const Answer<T> working = answer_of(method, device, a, b, {});
    for (const std::string& asked : lower_factor_precisions<T>(device)) {
      SCOPED_TRACE(method + " in " + asked + ", condition " + std::to_string(condition));
      const Answer<T> answer = answer_of(method, device, a, b, {{"factor_precision", asked}});
      if (working.report.solved()) {
        EXPECT_EQ(answer.report.status, Status::direct) << answer.report.message;
      }
      if (answer.report.solved()) expect_backward_stable(a, answer.x, b, 3);
    }
  }
}

/// Threads whose first solves fall back at the same time.
template <class T>
void expect_threads_to_share(const std::string& method, const Device& device, const std::string& asked) {
  for (const double condition : {10.0, 0.001 / unit<T>}) {
    const std::int64_t n = 65;
    const Dense<T> a = matrix_for<T>(method, n, condition, 3);
    const Dense<T> a_there = a.to(device);
    Solver<T> solver = make_solver<T>(method, device, {{"factor_precision", asked}});
    solver.setup(a_there);
    std::atomic<int> failures = 0;
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (unsigned round = 0; round < 5; ++round) {
          const Dense<T> b = random_dense<T>(n, 2, 100 * t + round);
          const Dense<T> b_there = b.to(device);
          Dense<T> x(device, n, 2);
          if (!solver.solve(b_there, x).solved()) ++failures;
          if (!(scaled_residual<T>(a, x.to(Device()), b) < 30)) ++failures;
        }
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(failures, 0) << condition;
  }
}

}  // namespace echelon::test
