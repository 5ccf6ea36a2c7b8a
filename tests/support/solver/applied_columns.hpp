// SPDX-License-Identifier: BSD-3-Clause
/// Methods applied to several vectors, of which some are left out, for tests on every device.
#pragma once

#include "solver/implementation.hpp"
#include "support/problems.hpp"

#include <echelon/generate.hpp>
#include <echelon/solver.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace echelon::test {

class AppliedColumns {
 public:
  /// For each method: columns leave and come back, with one workspace, and the others are as alone.
  static void expect_as_alone(const Device& device) {
    const Csr<double> host = generate::poisson_2d<double>(23, 21);
    const Csr<double> A = host.to(device);
    for (const auto& [name, options] : methods_for_laplacians()) {
      if (!find_method(name).runs_on(device)) continue;
      Solver<double> solver = make_solver<double>(name, device, options);
      SCOPED_TRACE(solver.describe() + " on " + device.name());
      if (!solver.setup(A).ready()) continue;  // needs another matrix
      const SolverImplementation<double>& method = SolverAccess<double>::implementation(solver);
      const auto workspace = method.make_workspace();
      for (const std::vector<int>& columns :
           {std::vector<int>{2}, {0, 1, 2, 3, 4, 5}, {0, 2, 3, 5}, {5, 4, 1}, {3}, {}, {0, 1, 2, 3, 4}})
        expect_as_alone(method, *workspace, columns);
    }
  }

 private:
  static constexpr std::int64_t rows = 23 * 21;
  static constexpr int most = 6;
  static constexpr double untouched = 1e300;

  /// The methods that are preconditioners, and more options of those whose columns share memory.
  static std::vector<std::pair<std::string, Options>> methods_for_laplacians() {
    std::vector<std::pair<std::string, Options>> list;
    for (const Method& method : methods()) {
      if (method.usable_as_preconditioner && method.sparse) list.emplace_back(method.name, Options());
    }
    for (const char* cycle : {"v", "w", "f", "k"}) {
      for (const char* precision : {"single", "working"})
        list.emplace_back("amg", Options{{"cycle", cycle}, {"precision", precision}, {"coarse_size", 20}});
    }
    for (const char* smoother : {"gauss-seidel", "chebyshev", "ic0"})
      list.emplace_back("amg", Options{{"smoother", smoother}, {"coarse_size", 20}});
    list.emplace_back("lamg", Options{{"parallel", true}});
    list.emplace_back("ssor", Options{{"sweeps", 2}});
    list.emplace_back("jacobi", Options{{"sweeps", 3}});
    return list;
  }

  /// Applies the method to some of six vectors; column 3 of the results lies in an array of its own.
  static void expect_as_alone(const SolverImplementation<double>& method, Workspace& workspace,
                              const std::vector<int>& columns) {
    const Device& device = method.device();
    const std::vector<double> filling(static_cast<std::size_t>(rows * most), untouched);
    const Dense<double> R = random_dense<double>(rows, most, 3).to(device);
    Dense<double> Z(rows, most, Array<double>(device, std::span<const double>(filling)));
    Dense<double> third(device, rows, 1);
    MultiVector<const double> r(rows);
    MultiVector<double> z(rows);
    for (const int j : columns) {
      r.add(R.view().column(j));
      z.add(j == 3 ? third.data() : Z.view().column(j));
    }
    method.apply(workspace, r, z);
    const std::vector<double> found = Z.to_vector();
    const std::vector<double> found_third = third.to_vector();
    const auto own = method.make_workspace();
    for (int j = 0; j < most; ++j) {
      const auto first = found.begin() + j * rows;
      const std::vector<double> column = j == 3 ? found_third : std::vector<double>(first, first + rows);
      if (std::find(columns.begin(), columns.end(), j) == columns.end()) {
        const bool is_untouched = j == 3 || column == std::vector<double>(rows, untouched);
        EXPECT_TRUE(is_untouched) << "column " << j;
        continue;
      }
      Dense<double> alone(device, rows, 1);
      method.apply(*own, {R.view().column(j), rows}, {alone.data(), rows});
      EXPECT_TRUE(agree(column, alone.to_vector(), method.traits().columns_as_alone)) << "column " << j;
    }
  }

  static bool agree(const std::vector<double>& x, const std::vector<double>& y, bool to_the_bit) {
    if (to_the_bit) return x == y;
    double largest = 0;
    double difference = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      largest = std::max(largest, std::fabs(y[i]));
      difference = std::max(difference, std::fabs(x[i] - y[i]));
    }
    return difference <= 1e-12 * largest;
  }
};

}  // namespace echelon::test
