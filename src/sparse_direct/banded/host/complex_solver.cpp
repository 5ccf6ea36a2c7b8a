// SPDX-License-Identifier: BSD-3-Clause
// LU of complex band matrices on the host, by LAPACK.
#include "backend/host/host.hpp"
#include "linalg/blas/blas.hpp"
#include "linalg/blas/lapack.hpp"
#include "solver/direct/direct_method.hpp"
#include "solver/factor_status.hpp"
#include "solver/instantiate.hpp"
#include "sparse_direct/banded/complex_band.hpp"
#include "support/scalar.hpp"

#include <echelon/error.hpp>
#include <echelon/methods/banded_lu.hpp>

#include <support/scalar_list.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace echelon {

namespace banded {

/// P R A C P^T = L U with row exchanges, for the scales and the numbering P of ComplexBand.
template <class B, class T>
class ComplexBandFactorization {
  using Operation = direct::Operation;

  /// Right-hand sides in the numbering of the band.
  struct Space {
    [[nodiscard]] std::size_t bytes() const { return ordered.size() * sizeof(T); }
    std::vector<T> ordered;
  };

 public:
  using Scope = blas::Threads;
  static constexpr bool calls_blas = true;
  static constexpr bool takes_csr = true;

  ComplexBandFactorization(const Device& /*device*/, const BandedLuOptions& options)
      : ordering_(options.ordering) {
    if (options.partitions > 1)
      throw BadOption("partitions", "complex bands are factored in one piece: leave partitions out");
  }

  void clear() {
    band_.elements() = Array<T>();
    pivots_.clear();
  }

  Outcome factor(const direct::FactorContext<B, T>& context) {
    const Csr<T>& A = *context.A.csr();
    if (Outcome zero = band_.take(A, ordering_); !zero.ok()) return zero;
    const auto needed = static_cast<std::size_t>(A.rows() * band_.height()) * sizeof(T);
    Outcome outcome = band_.check_memory(A.rows(), needed, Device::serial());
    if (!outcome.ok()) return outcome;
    band_.assemble(A, Device::serial(), context.scales);
    if (context.control.stop_requested()) return cancelled_factorization();
    const int n = blas::dimension(A.rows());
    lower_ = blas::dimension(band_.lower());
    upper_ = blas::dimension(band_.upper());
    pivots_.assign(static_cast<std::size_t>(n), 0);
    const int zero = lapack::gbtrf(n, lower_, upper_, band_.elements().data(), pivots_.data());
    if (zero > 0) return zero_pivot(band_.order().original(zero - 1));
    outcome.statistics = band_.statistics(largest_of_upper(n));
    return outcome;
  }

  [[nodiscard]] Space make_workspace(B& /*backend*/) const { return {}; }

  void substitute(Operation operation, B& /*backend*/, Space& space, DenseView<T> X) const {
    const std::int64_t n = X.rows();
    const BandOrder& order = band_.order();
    space.ordered.resize(static_cast<std::size_t>(n * X.columns()));
    T* const y = space.ordered.data();
    for (std::int64_t j = 0; j < X.columns(); ++j) {
      for (std::int64_t i = 0; i < n; ++i) y[i + j * n] = X(order.original(i), j);
    }
    lapack::gbtrs(operation == Operation::transpose, static_cast<int>(n), lower_, upper_,
                  static_cast<int>(X.columns()), band_.elements().data(), pivots_.data(), y);
    for (std::int64_t j = 0; j < X.columns(); ++j) {
      for (std::int64_t i = 0; i < n; ++i) X(order.original(i), j) = y[i + j * n];
    }
  }

  [[nodiscard]] DeterminantProduct determinant(B& /*backend*/) const {
    DeterminantProduct product;
    for (std::size_t j = 0; j < pivots_.size(); ++j) {
      const auto column = static_cast<std::int64_t>(j);
      product.multiply(static_cast<Dot<T>>(column_of(column)[diagonal()]));
      if (pivots_[j] != column + 1) product.exchange();
    }
    return product;
  }
  [[nodiscard]] double norm() const { return band_.norm_one(); }
  [[nodiscard]] std::size_t bytes() const { return band_.bytes() + pivots_.size() * sizeof(int); }

 private:
  /// Place of the diagonal element in a column of the band.
  [[nodiscard]] std::int64_t diagonal() const { return band_.lower() + band_.upper(); }
  [[nodiscard]] const T* column_of(std::int64_t j) const {
    return band_.elements().data() + j * band_.height();
  }

  [[nodiscard]] double largest_of_upper(std::int64_t n) const {
    double largest = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i <= diagonal(); ++i) largest = std::max(largest, magnitude(column_of(j)[i]));
    }
    return largest;
  }

  BandOrdering ordering_;
  ComplexBand<T> band_;
  int lower_ = 0;  // diagonals below the main one
  int upper_ = 0;
  std::vector<int> pivots_;
};

}  // namespace banded

#define ECHELON_INSTANTIATE(T)                                                                               \
  template <>                                                                                                \
  std::unique_ptr<SolverImplementation<T>> make_implementation<HostTarget>(const Device& device,             \
                                                                           const BandedLuOptions& options) { \
    return std::make_unique<DirectMethod<Host, T, banded::ComplexBandFactorization<Host, T>>>(device,        \
                                                                                              options);      \
  }
ECHELON_FOR_EACH_COMPLEX(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
