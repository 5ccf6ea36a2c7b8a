// SPDX-License-Identifier: BSD-3-Clause
// LU on the host: large products by BLAS, panels by LAPACK.
#include "backend/backend.hpp"
#include "backend/openmp/openmp.hpp"
#include "backend/serial/serial.hpp"
#include "dense/factorization/recursive_lu.hpp"
#include "dense/lu/factorization.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace echelon::lu {

namespace {

/// Columns of a panel. Wider ones would leave more of the work to LAPACK, which checks no stop token.
constexpr int panel_width = 256;
/// Elements from which on a pass over the matrix is worth threads.
constexpr std::int64_t min_parallel_elements = 100'000;

/// max |u_ij| of the upper trapezoid; NaN if there is one.
template <class B, class T>
double largest_of_upper(B& backend, DenseView<const T> A) {
  std::vector<Largest> columns(static_cast<std::size_t>(A.columns()));
  backend.parallel(A.rows() * A.columns() > min_parallel_elements, [&](int part, int parts) {
    for (std::int64_t j = part; j < A.columns(); j += parts) {
      const T* const u = A.column(j);
      T largest = 0;
      T sum = 0;  // NaN if an element is, which the comparisons pass over
      for (std::int64_t i = 0; i < std::min(j + 1, A.rows()); ++i) {
        const T magnitude = std::abs(u[i]);
        largest = largest > magnitude ? largest : magnitude;
        sum += u[i] * T{0};
      }
      columns[static_cast<std::size_t>(j)] = {static_cast<double>(largest + sum)};
    }
  });
  Largest result;
  for (const Largest column : columns) result = combine(result, column);
  return result.value;
}

template <class B, class T>
FactorResult factor_on(B& backend, DenseView<T> A, std::int64_t* pivots, const std::stop_token& cancel) {
  const int rows = blas::dimension(A.rows());
  const int columns = blas::dimension(A.columns());
  const int leading = blas::dimension(A.leading());
  const int steps = std::min(rows, columns);
  if (steps == 0) return {};
  const blas::Threads threads(backend.device(), steps);
  std::vector<int> exchanged(static_cast<std::size_t>(steps));  // from 1
  FactorResult result;
  const auto factor_panel = [&](int first, int last) {
    T* const corner = A.data() + first + first * A.leading();
    const int zero = lapack::getrf(rows - first, last - first, corner, leading, exchanged.data() + first);
    if (zero > 0 && result.zero_pivot < 0) result.zero_pivot = first + zero - 1;
    for (int i = first; i < last; ++i) exchanged[static_cast<std::size_t>(i)] += first;
    return true;
  };
  RecursiveLu elimination(rows, A.data(), leading, exchanged.data(), CblasLower, panel_width, cancel,
                          factor_panel);
  result.cancelled =
      !elimination.factor(0, steps) || (columns > steps && !elimination.update(0, steps, columns));
  for (std::size_t k = 0; k < exchanged.size(); ++k) pivots[k] = exchanged[k] - 1;
  if (!result.cancelled) result.largest = largest_of_upper<B, T>(backend, A);
  return result;
}

template <class B, class T>
void substitute_on(B& backend, bool transposed, DenseView<const T> factors, const std::int64_t* pivots,
                   DenseView<T> X) {
  const int n = blas::dimension(factors.rows());
  if (n == 0 || X.columns() == 0) return;
  const blas::Threads threads(backend.device(), n);
  std::vector<int> exchanged(static_cast<std::size_t>(n));
  for (std::size_t k = 0; k < exchanged.size(); ++k) exchanged[k] = static_cast<int>(pivots[k]) + 1;
  lapack::getrs(transposed, n, blas::dimension(X.columns()), factors.data(), exchanged.data(), X.data(),
                blas::dimension(X.leading()));
}

}  // namespace

template <class T>
FactorResult factor(Serial& backend, FactorWorkspace<Serial, T>& /*workspace*/, DenseView<T> A,
                    std::int64_t* pivots, const std::stop_token& cancel) {
  return factor_on(backend, A, pivots, cancel);
}
template <class T>
FactorResult factor(OpenMp& backend, FactorWorkspace<OpenMp, T>& /*workspace*/, DenseView<T> A,
                    std::int64_t* pivots, const std::stop_token& cancel) {
  return factor_on(backend, A, pivots, cancel);
}
template <class T>
void substitute(Serial& backend, bool transposed, DenseView<const T> factors, const std::int64_t* pivots,
                DenseView<T> X) {
  substitute_on(backend, transposed, factors, pivots, X);
}
template <class T>
void substitute(OpenMp& backend, bool transposed, DenseView<const T> factors, const std::int64_t* pivots,
                DenseView<T> X) {
  substitute_on(backend, transposed, factors, pivots, X);
}

template FactorResult factor(Serial&, FactorWorkspace<Serial, float>&, DenseView<float>, std::int64_t*,
                             const std::stop_token&);
template FactorResult factor(Serial&, FactorWorkspace<Serial, double>&, DenseView<double>, std::int64_t*,
                             const std::stop_token&);
template FactorResult factor(OpenMp&, FactorWorkspace<OpenMp, float>&, DenseView<float>, std::int64_t*,
                             const std::stop_token&);
template FactorResult factor(OpenMp&, FactorWorkspace<OpenMp, double>&, DenseView<double>, std::int64_t*,
                             const std::stop_token&);
template void substitute(Serial&, bool, DenseView<const float>, const std::int64_t*, DenseView<float>);
template void substitute(Serial&, bool, DenseView<const double>, const std::int64_t*, DenseView<double>);
template void substitute(OpenMp&, bool, DenseView<const float>, const std::int64_t*, DenseView<float>);
template void substitute(OpenMp&, bool, DenseView<const double>, const std::int64_t*, DenseView<double>);

}  // namespace echelon::lu
