// SPDX-License-Identifier: BSD-3-Clause
// How do Jacobi sweeps for triangular systems compare with substitution?
//   bench_triangular [--threads N] [--runs N] [N]...
// Lower triangular matrices of N rows in double. Dense: random numbers from -1 to 1 with N added to the
// diagonal; the factors L of Cholesky's method for a Poisson problem on a square, and of LU with partial
// pivoting for a uniform random matrix. Sparse: the lower triangle of a Poisson problem on a square, and a
// bidiagonal matrix. Substitution is BLAS's trsv for dense matrices and one pass over the rows for sparse
// ones.
#include "support/arguments.hpp"
#include "support/measure.hpp"

#include <echelon/echelon.hpp>

#include <cblas.h>
#include <fmt/format.h>
#include <lapacke.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace ec = echelon;

namespace {

struct Problem {
  std::string name;
  ec::Matrix<double> A;
};

ec::Dense<double> uniform(std::int64_t n) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> value(-1, 1);
  ec::Dense<double> A(ec::Device(), n, n);
  for (std::int64_t e = 0; e < n * n; ++e) A[e] = value(random);
  return A;
}

ec::Dense<double> lower_part(ec::Dense<double> A) {
  for (std::int64_t j = 0; j < A.columns(); ++j) std::fill_n(A.view().column(j), j, 0.0);
  return A;
}

ec::Dense<double> dominant(std::int64_t n) {
  ec::Dense<double> A = lower_part(uniform(n));
  for (std::int64_t i = 0; i < n; ++i) A(i, i) += static_cast<double>(n);
  return A;
}

ec::Dense<double> lu_factor(std::int64_t n) {
  ec::Dense<double> A = uniform(n);
  std::vector<lapack_int> pivots(static_cast<std::size_t>(n));
  const auto size = static_cast<lapack_int>(n);
  LAPACKE_dgetrf(LAPACK_COL_MAJOR, size, size, A.data(), size, pivots.data());
  for (std::int64_t i = 0; i < n; ++i) A(i, i) = 1;
  return lower_part(std::move(A));
}

ec::Csr<double> poisson(std::int64_t n) {
  const auto side = static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(n))));
  return ec::generate::poisson_2d<double>(side, side);
}

ec::Dense<double> cholesky_factor(std::int64_t n) {
  ec::Dense<double> A = ec::to_dense(ec::MatrixRef<double>(poisson(n)));
  const auto size = static_cast<lapack_int>(A.rows());
  LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', size, A.data(), size);
  return lower_part(std::move(A));
}

ec::Csr<double> bidiagonal(std::int64_t n) {
  std::vector<ec::Triplet<double>> elements;
  for (std::int32_t i = 0; i < n; ++i) {
    elements.push_back({i, i, 1});
    if (i > 0) elements.push_back({i, i - 1, -1});
  }
  return ec::Csr<double>::from_triplets(n, n, elements);
}

void substitute(const ec::Matrix<double>& A, std::vector<double>& x) {
  if (const auto* dense = std::get_if<ec::Dense<double>>(&A)) {
    const int n = static_cast<int>(dense->rows());
    cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, n, dense->data(), n, x.data(), 1);
    return;
  }
  const auto& csr = std::get<ec::Csr<double>>(A);
  const std::int64_t* const offsets = csr.row_offsets().data();
  const std::int32_t* const columns = csr.column_indices().data();
  const double* const values = csr.values().data();
  for (std::int64_t i = 0; i < csr.rows(); ++i) {
    double sum = x[static_cast<std::size_t>(i)];
    for (std::int64_t k = offsets[i]; k + 1 < offsets[i + 1]; ++k) {
      sum -= values[k] * x[static_cast<std::size_t>(columns[k])];
    }
    x[static_cast<std::size_t>(i)] =
        sum / values[offsets[i + 1] - 1];  // the diagonal is a row's last element
  }
}

void measure(const Problem& problem, const ec::Device& device, int runs) {
  const ec::MatrixRef<double> A =
      std::visit([](const auto& m) { return ec::MatrixRef<double>(m); }, problem.A);
  const auto n = static_cast<std::size_t>(A.rows());
  std::vector<double> b(n, 1.0);
  std::vector<double> expected;
  const double reference = ec::bench::median_seconds(runs, [&] {
    expected = b;
    substitute(problem.A, expected);
  });
  ec::TriangularIterative<double> solver(device);
  static_cast<void>(solver.setup(A));
  std::vector<double> x(n);
  ec::Report report;
  const double seconds = ec::bench::median_seconds(runs, [&] { report = solver.solve(b, x); });
  double largest = 0;
  for (const double residual : report.history) largest = std::max(largest, residual);
  double error = 0;
  double size = 0;
  for (std::size_t i = 0; i < n; ++i) {
    error = std::max(error, std::abs(x[i] - expected[i]));
    size = std::max(size, std::abs(expected[i]));
  }
  fmt::print("| {} | {} | {:.3g} | {:.3g} | {:.0f} | {} | {} | {:.0e} | {:.0e} |\n", problem.name, n,
             1e3 * reference, 1e3 * seconds, seconds / reference, report.iterations,
             ec::to_string(report.status), largest, error / size);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv, "[--threads N] [--runs N] [N]...");
  const int threads = arguments.option("--threads", 1);
  const int runs = arguments.option("--runs", 3);
  std::vector<std::string> words = arguments.positionals("a size");
  arguments.finish();
  if (words.empty()) words = {"256", "1024", "4096"};
  const ec::Device device = threads == 1 ? ec::Device::serial() : ec::Device::openmp(threads);
  fmt::print(
      "| matrix | n | substitution ms | sweeps ms | ratio | sweeps | status | largest residual | difference "
      "|\n"
      "| --- | ---: | ---: | ---: | ---: | ---: | --- | ---: | ---: |\n");
  for (const std::string& word : words) {
    const std::int64_t n = std::stoll(word);
    measure({"dense, dominant", dominant(n)}, device, runs);
    measure({"dense, Cholesky factor of Poisson", cholesky_factor(n)}, device, runs);
    measure({"dense, LU factor of uniform", lu_factor(n)}, device, runs);
    measure({"sparse, lower triangle of Poisson", ec::lower_triangle(poisson(n))}, device, runs);
    measure({"sparse, bidiagonal", bidiagonal(n)}, device, runs);
  }
}
