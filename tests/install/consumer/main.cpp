// SPDX-License-Identifier: BSD-3-Clause
/// A user's program: solves A x = A 1 and compares x with 1.
#include <echelon/echelon.hpp>

#include <cmath>
#include <cstdio>
#include <vector>
namespace ec = echelon;

int main(int argc, char** argv) {
  if (argc != 2) {
    return 2;
  }
  const auto A = ec::read_matrix_market_dense<double>(argv[1]);
  std::vector<double> b(static_cast<std::size_t>(A.rows()), 0.0);
  for (std::int64_t j = 0; j < A.columns(); ++j) {
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      b[static_cast<std::size_t>(i)] += A(i, j);
    }
  }

  const auto [x, report] = ec::solve(A, b);
  double error = 0;
  for (std::int64_t i = 0; i < x.rows(); ++i) {
    error = std::fmax(error, std::fabs(x[i] - 1));
  }
  std::printf("%s: error %g, backward error %g\n", report.method.c_str(), error, report.backward_error);
  // The condition number is about 1e4, so a backward stable method gets a dozen digits.
  return report.solved() && error < 1e-10 ? 0 : 1;
}
