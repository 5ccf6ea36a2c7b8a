// SPDX-License-Identifier: BSD-3-Clause
// LU by panels: the host factors a copy of a panel, and the device exchanges rows, solves with the panel's
// triangle and subtracts the product.
#include "backend/store.hpp"
#include "backend/target.hpp"
#include "dense/factorization/substitution.hpp"
#include "dense/lu/factorization.hpp"
#include "linalg/blas/lapack.hpp"
#include "linalg/vector/functors.hpp"
#include "matrix/column_range.hpp"
#include "matrix/rows.hpp"

#include <echelon/array.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace echelon::lu {

namespace {

/// Columns of a panel.
constexpr std::int64_t panel_columns = substitution_block;

/// |u_ij| of the upper trapezoid; 0 below it.
template <class T>
struct UpperMagnitude {
  const T* a;
  std::int64_t rows, leading;
  ECHELON_ANYWHERE Largest operator()(std::int64_t e) const {
    const std::int64_t i = e % rows;
    const std::int64_t j = e / rows;
    return {i <= j ? std::fabs(static_cast<double>(a[i + j * leading])) : 0.0};
  }
};

/// A panel on the host.
template <class T>
class HostPanel {
 public:
  HostPanel(OpenCl& backend, const DenseView<T>& A, std::int64_t first, std::int64_t last)
      : A_(A), first_(first), columns_(last - first), pivots_(static_cast<std::size_t>(columns_)) {
    const auto elements = static_cast<std::size_t>((columns_ - 1) * A.leading() + A.rows());
    elements_.resize(elements);
    opencl::read(backend.device().id(), elements_.data(), A.column(first), elements * sizeof(T));
  }

  /// Factors rows from the first column's on. Returns the first column of zeros, from 0, or -1.
  std::int64_t factor() {
    const int zero = lapack::getrf(static_cast<int>(A_.rows() - first_), static_cast<int>(columns_),
                                   elements_.data() + first_, static_cast<int>(A_.leading()), pivots_.data());
    return zero > 0 ? first_ + zero - 1 : -1;
  }

  /// Copies the factors and the pivots to the device.
  void put(OpenCl& backend, std::int64_t* pivots) const {
    const std::int64_t count = std::min(columns_, A_.rows() - first_);
    std::vector<std::int64_t> rows(static_cast<std::size_t>(count));
    for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = first_ + pivots_[k] - 1;
    const int id = backend.device().id();
    opencl::write(id, A_.column(first_), elements_.data(), elements_.size() * sizeof(T));
    opencl::write(id, pivots + first_, rows.data(), rows.size() * sizeof(std::int64_t));
  }

 private:
  DenseView<T> A_;
  std::int64_t first_;
  std::int64_t columns_;
  std::vector<T> elements_;
  std::vector<int> pivots_;
};

/// Applies the factored panel of columns [first, last) to the columns X.
template <class T>
void apply_panel_to(OpenCl& backend, const DenseView<T>& A, std::int64_t first, std::int64_t last,
                    const std::int64_t* pivots, const DenseView<T>& X) {
  if (X.columns() == 0) return;
  backend.for_each(X.columns(), ApplyRowExchanges<T>{X.data(), X.leading(), pivots, first, last, false});
  const DenseView<const T> factors = A;
  backend.for_each(X.columns(),
                   SolveBlock<T>{DenseRows<T>(factors), first, last, true, true, X.data(), X.leading()});
  subtract_product<OpenCl, T>(backend, block_of<const T>(factors, last, A.rows() - last, first, last - first),
                              block_of<T>(X, first, last - first, 0, X.columns()),
                              block_of<T>(X, last, A.rows() - last, 0, X.columns()));
}

}  // namespace

template <class T>
LuResult factor(OpenCl& backend, FactorWorkspace<OpenCl, T>& /*workspace*/, DenseView<T> A,
                std::int64_t* pivots, const SetupControl& control) {
  LuResult result;
  const std::int64_t count = std::min(A.rows(), A.columns());
  for (std::int64_t first = 0; first < count; first += panel_columns) {
    result.cancelled = control.stops_at(eliminated_share(first, A.columns()));
    if (result.cancelled) return result;
    const std::int64_t last = std::min(first + panel_columns, count);
    HostPanel<T> panel(backend, A, first, last);
    const std::int64_t zero = panel.factor();
    if (result.zero_pivot < 0) result.zero_pivot = zero;
    panel.put(backend, pivots);
    if (first > 0) {
      backend.for_each(first, ApplyRowExchanges<T>{A.data(), A.leading(), pivots, first, last, false});
    }
    apply_panel_to(backend, A, first, last, pivots, column_range(A, last, A.columns()));
  }
  if (count == 0) return result;
  Array<Largest> largest(backend.device(), 1);
  backend.reduce(A.rows() * A.columns(), UpperMagnitude<T>{A.data(), A.rows(), A.leading()},
                 Store<Largest>{largest.data()});
  result.largest = backend.read(largest.data()).value;
  return result;
}

template <class T>
void substitute(OpenCl& backend, const FactorWorkspace<OpenCl, T>& /*workspace*/, bool is_transposed,
                DenseView<const T> factors, const std::int64_t* pivots, DenseView<T> X) {
  const std::int64_t n = factors.rows();
  if (n == 0 || X.columns() == 0) return;
  const auto exchange = [&] {
    backend.for_each(X.columns(), ApplyRowExchanges<T>{X.data(), X.leading(), pivots, 0, n, is_transposed});
  };
  if (!is_transposed) exchange();
  const DenseView<const T> M = is_transposed ? transposed(factors) : factors;
  solve_triangle<OpenCl, T>(backend, M, true, !is_transposed, X);
  solve_triangle<OpenCl, T>(backend, M, false, is_transposed, X);
  if (is_transposed) exchange();
}

#define ECHELON_INSTANTIATE(T)                                                                   \
  template LuResult factor(OpenCl&, FactorWorkspace<OpenCl, T>&, DenseView<T>, std::int64_t*,    \
                           const SetupControl&);                                                 \
  template void substitute(OpenCl&, const FactorWorkspace<OpenCl, T>&, bool, DenseView<const T>, \
                           const std::int64_t*, DenseView<T>);
ECHELON_INSTANTIATE(float)
ECHELON_INSTANTIATE(double)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::lu
