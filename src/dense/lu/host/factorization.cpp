// SPDX-License-Identifier: BSD-3-Clause
// LU on the host.
#include "dense/lu/factorization.hpp"

#include "backend/host/host.hpp"
#include "dense/lu/host/elimination.hpp"
#include "linalg/blas/blas.hpp"
#include "linalg/blas/lapack.hpp"

#include <cstddef>
#include <vector>

namespace echelon::lu {

namespace {

/// Least number of elements for which several threads are faster.
constexpr std::int64_t min_parallel_factor_elements = 20'000;

template <class B, class T>
// NOLINTNEXTLINE(readability-non-const-parameter): the elimination writes to them.
LuResult factor_on(B& backend, DenseView<T> A, std::int64_t* pivots, const SetupControl& control) {
  static_cast<void>(blas::dimension(A.rows()));
  static_cast<void>(blas::dimension(A.columns()));
  if (A.rows() == 0 || A.columns() == 0) return {};
  DenseLuElimination<T> elimination(A, pivots, backend.device().threads(), control);
  backend.parallel(A.rows() * A.columns() > min_parallel_factor_elements,
                   [&](int part, int parts) { elimination.work(part, parts); });
  return elimination.result();
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
LuResult factor(Host& backend, FactorWorkspace<Host, T>& /*workspace*/, DenseView<T> A, std::int64_t* pivots,
                const SetupControl& control) {
  return factor_on(backend, A, pivots, control);
}
template <class T>
void substitute(Host& backend, const FactorWorkspace<Host, T>& /*workspace*/, bool transposed,
                DenseView<const T> factors, const std::int64_t* pivots, DenseView<T> X) {
  substitute_on(backend, transposed, factors, pivots, X);
}

template LuResult factor(Host&, FactorWorkspace<Host, float>&, DenseView<float>, std::int64_t*,
                         const SetupControl&);
template LuResult factor(Host&, FactorWorkspace<Host, double>&, DenseView<double>, std::int64_t*,
                         const SetupControl&);
template void substitute(Host&, const FactorWorkspace<Host, float>&, bool, DenseView<const float>,
                         const std::int64_t*, DenseView<float>);
template void substitute(Host&, const FactorWorkspace<Host, double>&, bool, DenseView<const double>,
                         const std::int64_t*, DenseView<double>);

}  // namespace echelon::lu
