// SPDX-License-Identifier: BSD-3-Clause
// What does factor_precision of `lu` and `cholesky` bring on a GPU, for which condition numbers, and compared
// with the iterative refinement solvers of cuSOLVER?
//   bench_factor_precision_gpu [--from N] [--up-to N] [--condition-size N]
// Set-up and solve with one right-hand side by one object, medians of several runs.
#include "backend/backend.hpp"
#include "backend/store.hpp"
#include "backend/targets.hpp"
#include "dense_gpu.cuh"
#include "linalg/residual_check.hpp"
#include "linalg/spmv/multiply.hpp"

#include <echelon/echelon.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <variant>

namespace ec = echelon;
using namespace echelon::bench;

namespace {

using Matrix = ec::Dense<double>;
using View = ec::DenseView<double>;

struct SetDiagonal {
  View a;
  double condition;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t i = e % a.rows();
    const std::int64_t j = e / a.rows();
    const double share = static_cast<double>(i) / static_cast<double>(a.rows() - 1);
    a.data()[e] = i == j ? pow(condition, -share) : 0;
  }
};

/// a = a - factor x y^T.
struct SubtractOuterProduct {
  View a;
  double factor;
  const double* x;
  const double* y;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    a.data()[e] -= factor * x[e % a.rows()] * y[e / a.rows()];
  }
};

/// Copies the lower triangle to the upper one.
struct Symmetrise {
  View a;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t i = e % a.rows();
    const std::int64_t j = e / a.rows();
    if (i < j) a.data()[e] = a.data()[j + i * a.rows()];
  }
};

struct Square {
  const double* x;
  ECHELON_ANYWHERE ec::Sum operator()(std::int64_t i) const { return {x[i] * x[i]}; }
};

/// Singular values, for `definite` eigenvalues, from 1 down to 1 / condition, equally spaced in their
/// logarithms, and reflections from both sides.
Matrix with_condition(std::int64_t n, double condition, bool definite) {
  ec::Cuda backend(ec::Device::cuda());
  Matrix a(ec::Device::cuda(), n, n);
  Matrix w(ec::Device::cuda(), n, 1);
  ec::Array<ec::Sum> squares(ec::Device::cuda(), 1);
  backend.for_each(n * n, SetDiagonal{a, condition});
  for (std::uint64_t k = 0; k < 8; ++k) {
    const bool from_right = k % 2 == 1;
    const Matrix v = uniform<double>(n, 1, definite ? 10 + k / 2 : 10 + k);
    backend.reduce(n, Square{v.data()}, ec::Store<ec::Sum>{squares.data()});
    const double factor = 2 / backend.read(squares.data()).value;
    const ec::DenseView<const double> A = a.view();
    if (from_right) {
      ec::multiply<double>(backend, 1, ec::MatrixRef<double>(A), v.data(), 0, w.data());
      backend.for_each(n * n, SubtractOuterProduct{a, factor, w.data(), v.data()});
    } else {
      ec::multiply_transposed<double>(backend, 1, A, v.data(), 0, w.data());
      backend.for_each(n * n, SubtractOuterProduct{a, factor, v.data(), w.data()});
    }
  }
  if (definite) backend.for_each(n * n, Symmetrise{a});
  return a;
}

/// Uniform random matrix with `diagonal` sqrt(n) added to its diagonal.
Matrix shifted(std::int64_t n, double diagonal, bool symmetric) {
  ec::Cuda backend(ec::Device::cuda());
  Matrix a = uniform<double>(n, n, 1);
  if (symmetric) backend.for_each(n * n, Symmetrise{a});
  backend.for_each(n, AddToDiagonal<double>{a, diagonal * std::sqrt(static_cast<double>(n))});
  return a;
}

std::int64_t statistic(const ec::Report& report, const std::string& name) {
  for (const ec::Statistic& entry : report.statistics) {
    if (entry.name == name) return std::get<std::int64_t>(entry.value);
  }
  return 0;
}

struct Row {
  const char* matrix;
  const char* method;
  std::int64_t n;
};

double measure_own(const Row& row, const Matrix& a, const Matrix& b, const char* precision, double working) {
  Matrix x(a.device(), row.n, 1);
  auto solver = ec::make_solver<double>(row.method, a.device(), {{"factor_precision", precision}});
  ec::Report setup;
  ec::Report report;
  const double time = seconds(
      row.n <= 8192 ? 3 : 2, [] {},
      [&] {
        setup = solver.setup(a);
        report = solver.solve(b, x, {.measure_error = false});
      });
  std::string used(report.factor_precision ? to_string(report.factor_precision->used) : "working");
  if (report.factor_precision && used != precision) used += ": " + report.factor_precision->why;
  if (!report.solved()) used += ", " + std::string(to_string(report.status));
  std::printf("| %s | %s | %lld | %s | %.2f | %.2f | %.2f | %.2f | %lld | %lld | %.1e | %.1e | %s |\n",
              row.matrix, row.method, static_cast<long long>(row.n), precision, 1e3 * time,
              1e3 * setup.setup_seconds, 1e3 * report.solve_seconds, (working > 0 ? working : time) / time,
              static_cast<long long>(statistic(report, "refinement_steps")),
              static_cast<long long>(statistic(report, "gmres_steps")), report.backward_error,
              report.reciprocal_condition.value_or(0), used.c_str());
  std::fflush(stdout);
  return time;
}

/// cusolverDnIRSXgesv in double with factors of another type.
class RefinedGesv {
 public:
  RefinedGesv(std::int64_t n, cusolverPrecType_t lowest, cusolverIRSRefinement_t refinement)
      : n_(static_cast<int>(n)), info_(ec::Device::cuda(), 1) {
    handle_ = ec::make_owned<ec::Owned<cusolverDnHandle_t, cusolverDnDestroy>>(cusolverDnCreate);
    parameters_ = ec::make_owned<ec::Owned<cusolverDnIRSParams_t, cusolverDnIRSParamsDestroy>>(
        cusolverDnIRSParamsCreate);
    infos_ =
        ec::make_owned<ec::Owned<cusolverDnIRSInfos_t, cusolverDnIRSInfosDestroy>>(cusolverDnIRSInfosCreate);
    ec::check(cusolverDnSetStream(handle_.get(), ec::stream()));
    ec::check(cusolverDnIRSParamsSetSolverPrecisions(parameters_.get(), CUSOLVER_R_64F, lowest));
    ec::check(cusolverDnIRSParamsSetRefinementSolver(parameters_.get(), refinement));
    std::size_t bytes = 0;
    ec::check(cusolverDnIRSXgesv_bufferSize(handle_.get(), parameters_.get(), n_, 1, &bytes));
    workspace_ = ec::Array<unsigned char>(ec::Device::cuda(), static_cast<std::int64_t>(bytes) + 1);
  }
  /// Steps of refinement, negative where it fell back.
  int solve(Matrix& a, Matrix& b, Matrix& x) {
    int steps = 0;
    ec::check(cusolverDnIRSXgesv(handle_.get(), parameters_.get(), infos_.get(), n_, 1, a.data(), n_,
                                 b.data(), n_, x.data(), n_, workspace_.data(), workspace_.bytes(), &steps,
                                 info_.data()));
    return steps;
  }

 private:
  int n_;
  ec::Owned<cusolverDnHandle_t, cusolverDnDestroy> handle_;
  ec::Owned<cusolverDnIRSParams_t, cusolverDnIRSParamsDestroy> parameters_;
  ec::Owned<cusolverDnIRSInfos_t, cusolverDnIRSInfosDestroy> infos_;
  ec::Array<int> info_;
  ec::Array<unsigned char> workspace_;
};

void measure_cusolver(const Row& row, const Matrix& a, const Matrix& b, const char* name,
                      cusolverPrecType_t lowest, cusolverIRSRefinement_t refinement, double working) {
  RefinedGesv gesv(row.n, lowest, refinement);
  Matrix copy = a;
  Matrix right = b;
  Matrix x(a.device(), row.n, 1);
  Matrix r(a.device(), row.n, 1);
  int steps = 0;
  const double time = seconds(
      row.n <= 8192 ? 3 : 2, [&] { restore(a, copy), restore(b, right); },
      [&] { steps = gesv.solve(copy, right, x); });
  const auto check = ec::make_residual_check<ec::CudaTarget, double>(a.device());
  const ec::MatrixRef<double> A(a.view());
  const ec::SolutionFacts facts = check->solution(A, b.data(), x.data(), r.data());
  const double size = check->matrix(A).norm_inf * facts.answer.norm_inf + facts.right.norm_inf;
  std::printf("| %s | cuSOLVER IRSXgesv | %lld | %s | %.2f | | | %.2f | %d | | %.1e | | %s |\n", row.matrix,
              static_cast<long long>(row.n), name, 1e3 * time, working / time, steps,
              facts.residual.norm_inf / size, steps < 0 ? "working" : "");
  std::fflush(stdout);
}

void measure(const char* matrix, const Matrix& a, bool symmetric) {
  const Row row{matrix, symmetric ? "cholesky" : "lu", a.rows()};
  const Matrix b = uniform<double>(a.rows(), 1, 2);
  const double working = measure_own(row, a, b, "working", 0);
  for (const char* precision : {"single", "tf32x3", "bf16x3", "tf32"}) {
    measure_own(row, a, b, precision, working);
  }
  if (symmetric) return;
  measure_cusolver(row, a, b, "single", CUSOLVER_R_32F, CUSOLVER_IRS_REFINE_CLASSICAL, working);
  measure_cusolver(row, a, b, "tf32, GMRES", CUSOLVER_R_TF32, CUSOLVER_IRS_REFINE_GMRES, working);
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments(argc, argv, "[--from N] [--up-to N] [--condition-size N]");
  const auto smallest = arguments.option("--from", std::int64_t{1024});
  const auto largest = arguments.option("--up-to", std::int64_t{16384});
  const auto condition_size = arguments.option("--condition-size", std::int64_t{4096});
  arguments.finish();
  std::printf("%s\n\n", hardware(ec::Device::cuda()).c_str());
  std::printf(
      "| matrix | method | n | factor_precision | ms | set-up ms | solve ms | gain | steps | GMRES | "
      "backward "
      "error | rcond | used |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (std::int64_t n = smallest; n <= largest; n *= 2) {
    measure("uniform", shifted(n, 0, false), false);
    measure("shifted", shifted(n, 2, false), false);
    measure("definite", shifted(n, 2, true), true);
  }
  for (double condition = 1e2; condition < 1e15; condition *= 100) {
    char name[32];
    std::snprintf(name, sizeof name, "condition %.0e", condition);
    measure(name, with_condition(condition_size, condition, false), false);
    measure(name, with_condition(condition_size, condition, true), true);
  }
}
