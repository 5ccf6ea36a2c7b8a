// SPDX-License-Identifier: BSD-3-Clause
// Complex sparse factorisations on one core, beside real ones of the same pattern and UMFPACK in complex.
//   bench_complex_direct [--runs N] [GENERATOR:SIDE|SIDE^3|FILE]...
// prints a table in Markdown: for each matrix and method the milliseconds of analysis, factorisation and
// solve in complex, of the factorisation of its real parts (magnitudes where these are zero), and of
// UMFPACK's symbolic and numeric factorisation and solve; the ratio of the factorisations, and of UMFPACK's
// sum to that of the method; and the larger backward error of both. SIDE^3 is a shifted 7-point Laplacian, 12
// points a wave, with damping 0.5. Times of the processor, the shortest of RUNS (5); condition estimates are
// left out. Run with OMP_NUM_THREADS=1, which UMFPACK's BLAS obeys.
#include "sparse_direct/backward_error.hpp"
#include "support/arguments.hpp"
#include "support/measure.hpp"

#include <echelon/generate.hpp>
#include <echelon/io/files.hpp>
#include <echelon/solver.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <numbers>
#include <stdexcept>
#include <string>
#include <vector>

#ifdef ECHELON_BENCH_WITH_UMFPACK
#include <umfpack.h>
#endif

namespace ec = echelon;

namespace {

using Complex = std::complex<double>;
using ec::bench::Clock;
using ec::bench::milliseconds;

/// Milliseconds of the three steps.
struct Times {
  double analysis = 1e99;
  double factor = 1e99;
  double solve = 1e99;
  double backward_error = 0;
  [[nodiscard]] double sum() const { return analysis + factor + solve; }
};

template <class F>
void shorten(double& shortest, const F& f) {
  const double start = milliseconds(Clock::thread);
  f();
  shortest = std::min(shortest, milliseconds(Clock::thread) - start);
}

template <class T>
Times measured(const std::string& method, const ec::Csr<T>& A, int runs) {
  Times times;
  const std::vector<T> b(static_cast<std::size_t>(A.rows()), T{1});
  std::vector<T> x(b.size());
  for (int run = 0; run < runs; ++run) {
    auto solver = ec::make_solver<T>(method, ec::Device::serial(), {{"condition", "false"}});
    shorten(times.analysis, [&] { (void)solver.analyze(A); });
    bool ready = false;
    shorten(times.factor, [&] { ready = solver.factor(A).ready(); });
    if (!ready) return {};
    shorten(times.solve, [&] { (void)solver.solve(b, x, {.measure_error = false}); });
  }
  times.backward_error = ec::bench::backward_error(A, x.data());
  return times;
}

#ifdef ECHELON_BENCH_WITH_UMFPACK
/// Factors the transpose, whose columns are the rows of A, and solves with the transpose of that.
Times measured_umfpack(const ec::Csr<Complex>& A, int runs) {
  const auto n = static_cast<int>(A.rows());
  const auto offsets_span = A.row_offsets().span();
  const std::vector<int> offsets(offsets_span.begin(), offsets_span.end());
  const std::int32_t* const indices = A.column_indices().data();
  const auto* const values = reinterpret_cast<const double*>(A.values().data());
  const std::vector<Complex> b(static_cast<std::size_t>(n), 1);
  std::vector<Complex> x(b.size());
  double control[UMFPACK_CONTROL];
  umfpack_zi_defaults(control);
  Times times;
  for (int run = 0; run < runs; ++run) {
    void* symbolic = nullptr;
    void* numeric = nullptr;
    shorten(times.analysis, [&] {
      umfpack_zi_symbolic(n, n, offsets.data(), indices, values, nullptr, &symbolic, control, nullptr);
    });
    shorten(times.factor, [&] {
      umfpack_zi_numeric(offsets.data(), indices, values, nullptr, symbolic, &numeric, control, nullptr);
    });
    if (numeric == nullptr) throw std::runtime_error("UMFPACK: not factored");
    shorten(times.solve, [&] {
      umfpack_zi_solve(UMFPACK_Aat, offsets.data(), indices, values, nullptr,
                       reinterpret_cast<double*>(x.data()), nullptr,
                       reinterpret_cast<const double*>(b.data()), nullptr, numeric, control, nullptr);
    });
    umfpack_zi_free_symbolic(&symbolic);
    umfpack_zi_free_numeric(&numeric);
  }
  times.backward_error = ec::bench::backward_error(A, x.data());
  return times;
}
#endif

ec::Csr<Complex> shifted_laplacian(std::int64_t side) {
  const ec::Csr<double> real = ec::bench::poisson_3d<double>(side);
  const double k_squared = std::pow(2 * std::numbers::pi / 12, 2);
  ec::Array<Complex> values(ec::Device(), real.nonzeros());
  for (std::int64_t i = 0; i < real.rows(); ++i) {
    for (std::int64_t k = real.row_offsets()[i]; k < real.row_offsets()[i + 1]; ++k) {
      const bool is_diagonal = real.column_indices()[k] == i;
      values[k] = real.values()[k] - (is_diagonal ? k_squared * Complex(1, 0.5) : 0);
    }
  }
  return {real.rows(), real.rows(), real.row_offsets(), real.column_indices(), std::move(values)};
}

ec::Csr<Complex> matrix_of(const std::string& name) {
  if (name.ends_with("^3")) return shifted_laplacian(std::stoi(name));
  const std::size_t colon = name.find(':');
  if (colon == std::string::npos || std::filesystem::exists(name))
    return ec::to_csr<Complex>(ec::read_matrix<Complex>(name));
  const std::string side = name.substr(colon + 1);
  return ec::to_csr<Complex>(ec::make_matrix<Complex>(name.substr(0, colon), {{"nx", side}, {"ny", side}}));
}

ec::Csr<double> real_parts(const ec::Csr<Complex>& A) {
  ec::Array<double> values(ec::Device(), A.nonzeros());
  for (std::int64_t k = 0; k < A.nonzeros(); ++k) {
    const Complex value = A.values()[k];
    values[k] = value.real() != 0 ? value.real() : std::abs(value);
  }
  return {A.rows(), A.columns(), A.row_offsets(), A.column_indices(), std::move(values)};
}

void print_row(const std::string& name, const std::string& method, const ec::Csr<Complex>& A, int runs) {
  const Times complex = measured(method, A, runs);
  if (complex.sum() > 1e98) return;
  const Times real = measured(method, real_parts(A), runs);
  std::printf("| %s | %lld | `%s` | %.2f + %.2f + %.2f | %.2f | %.2f |",
              std::filesystem::path(name).filename().c_str(), static_cast<long long>(A.rows()),
              method.c_str(), complex.analysis, complex.factor, complex.solve, real.factor,
              complex.factor / real.factor);
  double error = complex.backward_error;
#ifdef ECHELON_BENCH_WITH_UMFPACK
  const Times peer = measured_umfpack(A, runs);
  error = std::max(error, peer.backward_error);
  std::printf(" %.2f + %.2f + %.2f | %.2f |", peer.analysis, peer.factor, peer.solve,
              peer.sum() / complex.sum());
#else
  std::printf(" | |");
#endif
  std::printf(" %.0e |\n", error);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv, "[--runs N] [GENERATOR:SIDE|SIDE^3|FILE]...");
  const int runs = arguments.option("--runs", 5);
  std::vector<std::string> names = arguments.positionals("matrix");
  arguments.finish();
  if (names.empty()) names = {"helmholtz-2d:200", "ac-network:200", "24^3"};
  std::printf(
      "| matrix | n | method | complex ms | real, factor ms | ratio | UMFPACK ms | ratio | backward error |\n"
      "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  for (const std::string& name : names) {
    const ec::Csr<Complex> A = matrix_of(name);
    for (const char* method : {"sparse-lu", "sparse-ldlt", "sparse-cholesky"})
      print_row(name, method, A, runs);
  }
}
