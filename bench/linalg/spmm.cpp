// SPDX-License-Identifier: BSD-3-Clause
// A sparse matrix times several vectors on the host, relative to one vector and compared with Eigen.
//   bench_spmm [SIDE]
// prints a table in Markdown for the 7-point Laplacian on SIDE^3 points (default: 128, 2 million rows), with
// one core and all of OpenMP's. Eigen's matrix is row-major with 32-bit offsets; the vectors have the same
// storage. Medians of 9 products.
#include "support/arguments.hpp"
#include "support/measure.hpp"

#include <echelon/echelon.hpp>

#include <omp.h>

#include <cstdio>
#include <vector>
#ifdef ECHELON_BENCH_WITH_EIGEN
#include <Eigen/SparseCore>
#endif

namespace ec = echelon;

namespace {

constexpr int runs = 9;

#ifdef ECHELON_BENCH_WITH_EIGEN
template <class T, int order>
double eigen_seconds(const ec::Csr<T>& A, const ec::Array<T>& x, std::int64_t columns, ec::Array<T>& y) {
  using Several = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, order>;
  std::vector<int> offsets(A.row_offsets().span().begin(), A.row_offsets().span().end());
  const Eigen::Map<const Eigen::SparseMatrix<T, Eigen::RowMajor, int>> matrix(
      A.rows(), A.columns(), A.nonzeros(), offsets.data(), A.column_indices().data(), A.values().data());
  const Eigen::Map<const Several> X(x.data(), A.columns(), columns);
  Eigen::Map<Several> Y(y.data(), A.rows(), columns);
  return ec::bench::median_seconds(runs, [&] { Y.noalias() = matrix * X; });
}
#endif

template <class T>
void compare(ec::Context& context, const ec::Csr<T>& A, std::int64_t columns, ec::Layout layout,
             double single) {
  const bool by_column = layout == ec::Layout::column_major;
  ec::Array<T> x(ec::Device(), A.columns() * columns);
  ec::Array<T> y(ec::Device(), A.rows() * columns);
  for (std::int64_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(1 + i % 17) / T{17};
  const ec::DenseView<const T> X(x.data(), A.columns(), columns, by_column ? A.columns() : columns, {},
                                 layout);
  const ec::DenseView<T> Y(y.data(), A.rows(), columns, by_column ? A.rows() : columns, {}, layout);
  const double ours = ec::bench::median_seconds(runs, [&] { ec::multiply<T>(context, T{1}, A, X, T{0}, Y); });
  std::printf("| %s | %d | %lld | %s | %.1f | %.1f | %.2f |", sizeof(T) == 8 ? "double" : "float",
              context.device().threads(), static_cast<long long>(columns), by_column ? "columns" : "rows",
              1e3 * single, 1e3 * ours, ours / single);
#ifdef ECHELON_BENCH_WITH_EIGEN
  Eigen::setNbThreads(context.device().threads());
  const double theirs = by_column ? eigen_seconds<T, Eigen::ColMajor>(A, x, columns, y)
                                  : eigen_seconds<T, Eigen::RowMajor>(A, x, columns, y);
  std::printf(" %.1f | %.2f |\n", 1e3 * theirs, theirs / ours);
#else
  std::printf(" - | - |\n");
#endif
  std::fflush(stdout);
}

template <class T>
void compare_all(const ec::Csr<T>& A, const ec::Device& device) {
  ec::Context context(device);
  ec::Dense<T> x(ec::Device(), A.columns(), 1);
  ec::Dense<T> y(ec::Device(), A.rows(), 1);
  for (std::int64_t i = 0; i < A.columns(); ++i) x[i] = T{1};
  const double single =
      ec::bench::median_seconds(runs, [&] { ec::multiply<T>(context, T{1}, A, x, T{0}, y); });
  for (const std::int64_t columns : {2, 4, 8, 16}) {
    for (const ec::Layout layout : {ec::Layout::column_major, ec::Layout::row_major}) {
      compare(context, A, columns, layout, single);
    }
  }
  const double transposed =
      ec::bench::median_seconds(runs, [&] { ec::multiply_transposed<T>(context, T{1}, A, x, T{0}, y); });
  std::printf("| %s | %d | 1, transposed | columns | %.1f | %.1f | %.2f | - | - |\n",
              sizeof(T) == 8 ? "double" : "float", device.threads(), 1e3 * single, 1e3 * transposed,
              transposed / single);
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv, "[SIDE]");
  const auto side = arguments.positional("SIDE", std::int64_t{128});
  arguments.finish();
  std::printf(
      "7-point Laplacian on %lld^3 points\n\n| type | cores | columns | stored by | 1 column ms | echelon ms "
      "| "
      "echelon / 1 column | Eigen ms | Eigen / echelon |\n|---|---|---|---|---|---|---|---|---|\n",
      static_cast<long long>(side));
  for (const int threads : {1, omp_get_max_threads()}) {
    compare_all(ec::bench::poisson_3d<double>(side), ec::Device::openmp(threads));
    compare_all(ec::bench::poisson_3d<float>(side), ec::Device::openmp(threads));
  }
}
