// SPDX-License-Identifier: BSD-3-Clause
// LU of complex band matrices on the host, by LAPACK.
#include "backend/device/memory.hpp"
#include "backend/host/host.hpp"
#include "linalg/blas/blas.hpp"
#include "linalg/blas/lapack.hpp"
#include "matrix/structure/magnitudes.hpp"
#include "solver/direct/direct_method.hpp"
#include "solver/factor_status.hpp"
#include "solver/instantiate.hpp"
#include "sparse_direct/banded/order.hpp"
#include "sparse_direct/matching/scaling.hpp"
#include "support/scalar.hpp"
#include "support/text.hpp"

#include <echelon/error.hpp>
#include <echelon/methods/banded_lu.hpp>

#include <support/scalar_list.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace echelon {

namespace banded {

/// P R A C P^T = L U with row exchanges, for the scales R and C of equilibration() and a numbering P.
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
    band_ = Array<T>();
    pivots_.clear();
  }

  Outcome factor(const direct::FactorContext<B, T>& context) {
    const Csr<T>& A = *context.A.csr();
    const Csr<double> sizes = magnitudes_of(A);
    if (Outcome zero = find_zero_line(sizes); !zero.ok()) return zero;
    choose_order(A);
    if (Outcome refused = check_memory(A.rows()); !refused.ok()) return refused;
    const sparse_direct::Scaling scaling = sparse_direct::equilibration(sizes);
    context.scales = {as_scales(scaling.rows), as_scales(scaling.columns)};
    const double largest = assemble(A, scaling);
    if (context.control.stop_requested()) return cancelled_factorization();
    const int n = blas::dimension(A.rows());
    const int zero = lapack::gbtrf(n, lower_, upper_, band_.data(), pivots_.data());
    if (zero > 0) return zero_pivot(order_.original(zero - 1));
    Outcome outcome;
    outcome.statistics = {{"lower_bandwidth", std::int64_t{lower_}},
                          {"upper_bandwidth", std::int64_t{upper_}},
                          {"ordering", std::string(order_.natural() ? "natural" : "rcm")},
                          {"pivot_growth", largest_of_upper(n) / largest}};
    return outcome;
  }

  [[nodiscard]] Space make_workspace(B& /*backend*/) const { return {}; }

  void substitute(Operation operation, B& /*backend*/, Space& space, DenseView<T> X) const {
    const std::int64_t n = X.rows();
    space.ordered.resize(static_cast<std::size_t>(n * X.columns()));
    T* const y = space.ordered.data();
    for (std::int64_t j = 0; j < X.columns(); ++j) {
      for (std::int64_t i = 0; i < n; ++i) y[i + j * n] = X(order_.original(i), j);
    }
    lapack::gbtrs(operation == Operation::transpose, static_cast<int>(n), lower_, upper_,
                  static_cast<int>(X.columns()), band_.data(), pivots_.data(), y);
    for (std::int64_t j = 0; j < X.columns(); ++j) {
      for (std::int64_t i = 0; i < n; ++i) X(order_.original(i), j) = y[i + j * n];
    }
  }

  [[nodiscard]] DeterminantProduct determinant(B& /*backend*/) const {
    DeterminantProduct product;
    for (std::size_t j = 0; j < pivots_.size(); ++j) {
      const auto column = static_cast<std::int64_t>(j);
      product.multiply(static_cast<Dot<T>>(band_[lower_ + upper_ + column * height()]));
      if (pivots_[j] != column + 1) product.exchange();
    }
    return product;
  }
  [[nodiscard]] double norm() const { return norm_one_; }
  [[nodiscard]] std::size_t bytes() const {
    return band_.bytes() + pivots_.size() * sizeof(int) + order_.bytes();
  }

 private:
  struct Widths {
    std::int64_t lower = 0;
    std::int64_t upper = 0;
  };

  /// Elements of a column of the band; the first `lower_` receive what row exchanges fill in.
  [[nodiscard]] std::int64_t height() const { return 2 * std::int64_t{lower_} + upper_ + 1; }

  static Outcome find_zero_line(const Csr<double>& sizes) {
    std::vector<double> rows(static_cast<std::size_t>(sizes.rows()), 0);
    std::vector<double> columns(static_cast<std::size_t>(sizes.columns()), 0);
    for_each_element(sizes, [&](std::int64_t i, std::int64_t j, double size) {
      rows[static_cast<std::size_t>(i)] = std::max(rows[static_cast<std::size_t>(i)], size);
      columns[static_cast<std::size_t>(j)] = std::max(columns[static_cast<std::size_t>(j)], size);
    });
    const auto zero_row = std::find(rows.begin(), rows.end(), 0.0);
    if (zero_row != rows.end()) return zero_line("row", zero_row - rows.begin());
    const auto zero_column = std::find(columns.begin(), columns.end(), 0.0);
    if (zero_column != columns.end()) return zero_line("column", zero_column - columns.begin());
    return {};
  }

  template <class U, class F>
  static void for_each_element(const Csr<U>& A, const F& f) {
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k)
        f(i, std::int64_t{A.column_indices()[k]}, A.values()[k]);
    }
  }

  [[nodiscard]] static Widths widths(const Csr<T>& A, const BandOrder& order) {
    const auto place = [&](std::int64_t i) { return order.natural() ? i : std::int64_t{order.inverse[i]}; };
    Widths found;
    for_each_element(A, [&](std::int64_t i, std::int64_t j, T /*value*/) {
      found.lower = std::max(found.lower, place(i) - place(j));
      found.upper = std::max(found.upper, place(j) - place(i));
    });
    return found;
  }

  /// Renumbers by reverse Cuthill-McKee on request, or if the band becomes narrower by a third.
  void choose_order(const Csr<T>& A) {
    order_ = BandOrder();
    Widths found = widths(A, order_);
    if (ordering_ != BandOrdering::natural) {
      BandOrder renumbered = BandOrder::reverse_cuthill_mckee(A, Device::serial());
      const Widths narrower = widths(A, renumbered);
      if (ordering_ == BandOrdering::rcm ||
          3 * (narrower.lower + narrower.upper) < 2 * (found.lower + found.upper)) {
        order_ = std::move(renumbered);
        found = narrower;
      }
    }
    lower_ = blas::dimension(found.lower);
    upper_ = blas::dimension(found.upper);
  }

  /// Rejects a matrix whose factors take more memory than is available, or more than a dense factorisation.
  [[nodiscard]] Outcome check_memory(std::int64_t n) const {
    constexpr std::int64_t small = 4096;
    const auto needed = static_cast<std::size_t>(n) * static_cast<std::size_t>(height()) * sizeof(T);
    const std::string facts = "A has " + std::to_string(lower_) + " diagonals below the main one and " +
                              std::to_string(upper_) + " above: banded-lu needs " + byte_count(needed);
    if (n > small && height() > 2 * n) return {Status::breakdown, facts + ", more than lu does; use lu"};
    const std::size_t available = memory(Device::serial()).available;
    if (needed <= available) return {};
    return {Status::out_of_memory, facts + ", and " + byte_count(available) + " are available"};
  }

  [[nodiscard]] static Array<T> as_scales(const std::vector<double>& factors) {
    Array<T> scales(Device::serial(), static_cast<std::int64_t>(factors.size()));
    std::transform(factors.begin(), factors.end(), scales.data(),
                   [](double factor) { return T{static_cast<Real<T>>(factor)}; });
    return scales;
  }

  /// Stores the scaled band as LAPACK's gbtrf takes it, and its 1-norm. Returns the largest magnitude.
  double assemble(const Csr<T>& A, const sparse_direct::Scaling& scaling) {
    const std::int64_t n = A.rows();
    const std::vector<T> zeros(static_cast<std::size_t>(n * height()), T{0});
    band_ = Array<T>(Device::serial(), std::span<const T>(zeros));
    pivots_.assign(static_cast<std::size_t>(n), 0);
    std::vector<double> sums(static_cast<std::size_t>(n), 0);
    double largest = 0;
    for_each_element(A, [&](std::int64_t i, std::int64_t j, T value) {
      const double factor =
          sparse_direct::factor_at(scaling.rows, i) * sparse_direct::factor_at(scaling.columns, j);
      const T element = value * static_cast<Real<T>>(factor);
      const std::int64_t row = order_.natural() ? i : order_.inverse[i];
      const std::int64_t column = order_.natural() ? j : order_.inverse[j];
      band_[lower_ + upper_ + row - column + column * height()] = element;
      sums[static_cast<std::size_t>(j)] += magnitude(element);
      largest = std::max(largest, magnitude(element));
    });
    norm_one_ = *std::max_element(sums.begin(), sums.end());
    return largest;
  }

  [[nodiscard]] double largest_of_upper(std::int64_t n) const {
    double largest = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      const T* const column = band_.data() + j * height();
      for (std::int64_t i = 0; i <= lower_ + upper_; ++i) largest = std::max(largest, magnitude(column[i]));
    }
    return largest;
  }

  BandOrdering ordering_;
  BandOrder order_;
  int lower_ = 0;
  int upper_ = 0;
  Array<T> band_;
  std::vector<int> pivots_;
  double norm_one_ = 0;
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
