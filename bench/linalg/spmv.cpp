// SPDX-License-Identifier: BSD-3-Clause
// Sparse matrix-vector products on the host, compared with Eigen and with the time of the memory traffic.
//   bench_spmv [SIDE]
// prints a table in Markdown for the 7-point Laplacian on SIDE^3 points (default: 200, 8 million rows), with
// one core and all of OpenMP's. The floor is the traffic at the bandwidth of STREAM's triad on the same
// cores. Eigen's matrix is row-major with 32-bit offsets, 4 bytes per row less. Medians of 15 products.
#include <echelon/echelon.hpp>

#include <omp.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#ifdef ECHELON_BENCH_WITH_EIGEN
#include <Eigen/SparseCore>
#endif

#include "backend/host/host.hpp"
#include "linalg/spmv/multiply.hpp"
#include "support/arguments.hpp"
#include "support/measure.hpp"

namespace ec = echelon;

namespace {

constexpr int runs = 15;

#ifdef ECHELON_BENCH_WITH_EIGEN
/// Eigen's product on `threads` cores; y is returned for comparison.
template <class T>
double eigen_seconds(const ec::Csr<T>& A, const std::vector<T>& x, int threads, std::vector<T>& y) {
  using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
  std::vector<int> offsets(A.row_offsets().span().begin(), A.row_offsets().span().end());
  const Eigen::Map<const Eigen::SparseMatrix<T, Eigen::RowMajor, int>> matrix(
      A.rows(), A.columns(), A.nonzeros(), offsets.data(), A.column_indices().data(), A.values().data());
  const Eigen::Map<const Vector> x_view(x.data(), A.columns());
  Eigen::Map<Vector> y_view(y.data(), A.rows());
  Eigen::setNbThreads(threads);
  return ec::bench::median_seconds(runs, [&] { y_view.noalias() = matrix * x_view; });
}
#endif

template <class T>
void compare(const ec::Csr<T>& A, const std::vector<T>& x, const ec::Device& device) {
  std::vector<T> y(x.size());
  ec::Host backend(device);
  const double floor = ec::bench::product_bytes(A) / ec::bench::triad_bandwidth(device.threads());
  const double ours = ec::bench::median_seconds(
      runs, [&] { ec::multiply(backend, T{1}, ec::MatrixRef<T>(A), x.data(), T{0}, y.data()); });
  std::printf("| %s | %d | %.1f | %.1f | %.2f |", sizeof(T) == 8 ? "double" : "float", device.threads(),
              1e3 * floor, 1e3 * ours, ours / floor);
#ifdef ECHELON_BENCH_WITH_EIGEN
  std::vector<T> y_eigen(x.size());
  const double theirs = eigen_seconds(A, x, device.threads(), y_eigen);
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (!(std::abs(y[i] - y_eigen[i]) <= T{1e-4})) {
      std::printf(" the products differ |\n");
      std::exit(1);
    }
  }
  std::printf(" %.1f | %.2f |", 1e3 * theirs, theirs / ours);
#else
  std::printf(" - | - |");
#endif
  std::printf("\n");
  std::fflush(stdout);
}

template <class T>
void compare_all(std::int64_t side) {
  const ec::Csr<T> A = ec::bench::poisson_3d<T>(side);
  std::vector<T> x(static_cast<std::size_t>(A.columns()));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(1 + i % 17) / T{17};
  compare<T>(A, x, ec::Device::serial());
  if (omp_get_max_threads() > 1) compare<T>(A, x, ec::Device::openmp());
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv, "[SIDE]");
  const auto side = arguments.positional("SIDE", std::int64_t{200});
  arguments.finish();
  std::printf("7-point Laplacian on %lld^3 points; triad %.1f GB/s with one core, %.1f GB/s with %d\n\n",
              static_cast<long long>(side), ec::bench::triad_bandwidth(1) / 1e9,
              ec::bench::triad_bandwidth(omp_get_max_threads()) / 1e9, omp_get_max_threads());
  std::printf(
      "| type | cores | floor ms | echelon ms | echelon / floor | Eigen ms | Eigen / echelon |\n"
      "|---|---|---|---|---|---|---|\n");
  compare_all<double>(side);
  compare_all<float>(side);
}
