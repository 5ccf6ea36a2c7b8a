// SPDX-License-Identifier: BSD-3-Clause
// What does factor_precision=single of `lu` and `cholesky` bring on the host, for which condition numbers,
// and compared with LAPACK's dsgesv and dsposv?
//   bench_factor_precision [--threads N] [--runs N] [--condition-size N] [N]...
// Set-up and solve with one right-hand side, medians of several runs in turn.
#include "backend/targets.hpp"
#include "linalg/residual_check.hpp"
#include "support/arguments.hpp"
#include "support/measure.hpp"

#include <echelon/echelon.hpp>

#include <fmt/format.h>
#include <lapacke.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <variant>
#include <vector>

namespace ec = echelon;

namespace {

using Matrix = ec::Dense<double>;

Matrix uniform(std::int64_t rows, std::int64_t columns, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  Matrix A(ec::Device(), rows, columns);
  for (std::int64_t e = 0; e < rows * columns; ++e) A[e] = value(random);
  return A;
}

/// A = A - 2 v v^T A for a random unit vector v, or A - 2 A v v^T where `from_right`.
void reflect(Matrix& A, bool from_right, unsigned seed) {
  const std::int64_t n = A.rows();
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> v(static_cast<std::size_t>(n));
  double squares = 0;
  for (double& element : v) element = normal(random), squares += element * element;
  std::vector<double> w(static_cast<std::size_t>(n), 0.0);
  const auto at = [](std::vector<double>& x, std::int64_t i) -> double& {
    return x[static_cast<std::size_t>(i)];
  };
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t to = from_right ? i : j;
      at(w, to) += A(i, j) * at(v, i + j - to);
    }
  }
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i)
      A(i, j) -= 2 / squares * (from_right ? at(w, i) * at(v, j) : at(v, i) * at(w, j));
  }
}

/// Singular values, for `definite` eigenvalues, from 1 down to 1 / condition, equally spaced in their
/// logarithms.
Matrix with_condition(std::int64_t n, double condition, bool definite) {
  Matrix A(ec::Device(), n, n);
  std::fill_n(A.data(), n * n, 0.0);
  for (std::int64_t i = 0; i < n; ++i)
    A(i, i) = std::pow(condition, -static_cast<double>(i) / static_cast<double>(n - 1));
  for (unsigned k = 0; k < 4; ++k) {
    reflect(A, false, k);
    reflect(A, true, definite ? k : k + 10);
  }
  for (std::int64_t j = 0; j < n && definite; ++j) {
    for (std::int64_t i = 0; i < j; ++i) A(i, j) = A(j, i);
  }
  return A;
}

/// Random symmetric matrix with 2 sqrt(n) on the diagonal.
Matrix definite(std::int64_t n) {
  Matrix A = uniform(n, n, 1);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < j; ++i) A(i, j) = A(j, i);
    A(j, j) += 2 * std::sqrt(static_cast<double>(n));
  }
  return A;
}

struct Run {
  double seconds = 0;
  double backward_error = 0;
  std::int64_t steps = 0;
  std::int64_t gmres_steps = 0;
  std::string used;
};

std::int64_t statistic(const ec::Report& report, const std::string& name) {
  for (const ec::Statistic& entry : report.statistics) {
    if (entry.name == name) return std::get<std::int64_t>(entry.value);
  }
  return 0;
}

Run solve(const std::string& method, const ec::Device& device, const Matrix& A, const Matrix& b,
          const std::string& precision) {
  Matrix x(ec::Device(), A.rows(), 1);
  const auto start = std::chrono::steady_clock::now();
  auto solver = ec::make_solver<double>(method, device, {{"factor_precision", precision}});
  solver.setup(A);
  const ec::Report report = solver.solve(b, x, {.measure_error = false});
  Run run;
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  run.backward_error = report.backward_error;
  run.steps = statistic(report, "refinement_steps");
  run.gmres_steps = statistic(report, "gmres_steps");
  run.used = report.factor_precision ? std::string(to_string(report.factor_precision->used)) : precision;
  if (!report.solved()) run.used += ", " + std::string(to_string(report.status));
  return run;
}

Run solve_by_lapack(bool symmetric, const ec::Device& device, const Matrix& A, const Matrix& b) {
  const int n = static_cast<int>(A.rows());
  Matrix copy = A;
  Matrix right = b;
  Matrix x(ec::Device(), n, 1);
  std::vector<int> pivots(static_cast<std::size_t>(n));
  int steps = 0;
  const auto start = std::chrono::steady_clock::now();
  if (symmetric) {
    LAPACKE_dsposv(LAPACK_COL_MAJOR, 'L', n, 1, copy.data(), n, right.data(), n, x.data(), n, &steps);
  } else {
    LAPACKE_dsgesv(LAPACK_COL_MAJOR, n, 1, copy.data(), n, pivots.data(), right.data(), n, x.data(), n,
                   &steps);
  }
  Run run;
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const auto check = ec::make_residual_check<ec::HostTarget, double>(device);
  Matrix r(ec::Device(), n, 1);
  const ec::SolutionFacts facts = check->solution(ec::MatrixRef<double>(A), b.data(), x.data(), r.data());
  const double norm = check->matrix(ec::MatrixRef<double>(A)).norm_inf;
  run.backward_error = facts.residual.norm_inf / (norm * facts.answer.norm_inf + facts.right.norm_inf);
  run.steps = std::max(steps, 0);
  run.used = steps < 0 ? "working" : "single";
  return run;
}

void measure(const char* matrix, const std::string& method, const Matrix& A, const ec::Device& device,
             int runs) {
  const Matrix b = uniform(A.rows(), 1, 2);
  const bool symmetric = method == "cholesky";
  const std::vector<std::function<Run()>> forms = {[&] { return solve(method, device, A, b, "working"); },
                                                   [&] { return solve(method, device, A, b, "single"); },
                                                   [&] { return solve_by_lapack(symmetric, device, A, b); }};
  std::vector<std::vector<double>> seconds(forms.size());
  std::vector<Run> last(forms.size());
  for (int run = 0; run < runs; ++run) {
    for (std::size_t f = 0; f < forms.size(); ++f) {
      last[f] = forms[f]();
      seconds[f].push_back(last[f].seconds);
    }
  }
  const double working = ec::bench::median(seconds[0]);
  const double single = ec::bench::median(seconds[1]);
  const double lapack = ec::bench::median(seconds[2]);
  fmt::print(
      "| {} | {} | {} | {:.2f} | {:.1e} | {:.2f} | {:.2f} | {} | {} | {:.1e} | {} | {:.2f} | {} | {:.1e} |\n",
      matrix, method, A.rows(), 1e3 * working, last[0].backward_error, 1e3 * single, working / single,
      last[1].steps, last[1].gmres_steps, last[1].backward_error, last[1].used, 1e3 * lapack,
      last[2].used == "working" ? "back" : std::to_string(last[2].steps), last[2].backward_error);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv, "[--threads N] [--runs N] [--condition-size N] [N]...");
  const int threads = arguments.option("--threads", 1);
  const int runs = arguments.option("--runs", 5);
  const int condition_size = arguments.option("--condition-size", 1000);
  std::vector<int> sizes = arguments.positionals<int>("N");
  arguments.finish();
  if (sizes.empty()) sizes = {500, 1000, 2000, 4000};
  omp_set_num_threads(threads);
  const ec::Device device = ec::Device::openmp(threads);
  fmt::print(
      "| matrix | method | n | working ms | backward error | single ms | gain | steps | GMRES | backward "
      "error "
      "| used | LAPACK mixed ms | steps | backward error |\n"
      "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: |\n");
  for (const int n : sizes) {
    measure("uniform", "lu", uniform(n, n, 1), device, runs);
    measure("definite", "cholesky", definite(n), device, runs);
  }
  for (double condition = 1e2; condition < 1e15; condition *= 100) {
    const std::string name = fmt::format("condition {:.0e}", condition);
    measure(name.c_str(), "lu", with_condition(condition_size, condition, false), device, runs);
    measure(name.c_str(), "cholesky", with_condition(condition_size, condition, true), device, runs);
  }
  return 0;
}
