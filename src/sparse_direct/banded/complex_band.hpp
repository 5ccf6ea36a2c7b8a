// SPDX-License-Identifier: BSD-3-Clause
/// Complex matrices as bands in host memory: numbering, scaling, and storage as LAPACK's gbtrf takes it.
#pragma once

#include "backend/device/memory.hpp"
#include "matrix/structure/magnitudes.hpp"
#include "solver/direct/scales.hpp"
#include "solver/factor_status.hpp"
#include "sparse_direct/banded/order.hpp"
#include "sparse_direct/matching/scaling.hpp"
#include "support/scalar.hpp"
#include "support/text.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/csr.hpp>
#include <echelon/methods/banded_lu.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace echelon::banded {

/// R A C for the scales R and C of equilibration(), in a numbering of its rows and columns.
template <class T>
class ComplexBand {
 public:
  [[nodiscard]] std::int64_t lower() const { return lower_; }
  [[nodiscard]] std::int64_t upper() const { return upper_; }
  [[nodiscard]] const BandOrder& order() const { return order_; }
  /// n columns of height() elements; the first lower() of a column receive what row exchanges fill in.
  [[nodiscard]] Array<T>& elements() { return elements_; }
  [[nodiscard]] const Array<T>& elements() const { return elements_; }
  [[nodiscard]] std::int64_t height() const { return 2 * lower_ + upper_ + 1; }
  /// ||R A C||_1, and the largest magnitude.
  [[nodiscard]] double norm_one() const { return norm_one_; }
  [[nodiscard]] double largest() const { return largest_; }
  [[nodiscard]] std::size_t bytes() const { return elements_.bytes() + order_.bytes(); }

  /// Chooses the numbering of a square A on the host. Rejects a matrix with a row or column of zeros.
  [[nodiscard]] Outcome take(const Csr<T>& A, BandOrdering ordering) {
    sizes_ = magnitudes_of(A);
    Outcome zero = find_zero_line();
    if (zero.ok()) choose_order(A, ordering);
    return zero;
  }

  /// Rejects a matrix whose factors take more memory than the device has, or more than a dense factorisation.
  [[nodiscard]] Outcome check_memory(std::int64_t n, std::size_t needed, const Device& device) const {
    constexpr std::int64_t small = 4096;
    const std::string facts = "A has " + std::to_string(lower_) + " diagonals below the main one and " +
                              std::to_string(upper_) + " above: banded-lu needs " + byte_count(needed);
    if (n > small && height() > 2 * n) return {Status::breakdown, facts + ", more than lu does; use lu"};
    const std::size_t available = memory(device).available;
    if (needed <= available) return {};
    return {Status::out_of_memory, facts + ", and " + byte_count(available) + " are available"};
  }

  /// Scales the matrix that was taken, and stores its elements. The scales are on `device`.
  void assemble(const Csr<T>& A, const Device& device, Scales<T>& scales) {
    const sparse_direct::Scaling scaling = sparse_direct::equilibration(sizes_);
    sizes_ = Csr<double>();
    scales = {as_scales(scaling.rows, device), as_scales(scaling.columns, device)};
    const std::int64_t n = A.rows();
    const std::vector<T> zeros(static_cast<std::size_t>(n * height()), T{});
    elements_ = Array<T>(Device::serial(), std::span<const T>(zeros));
    std::vector<double> sums(static_cast<std::size_t>(n), 0);
    largest_ = 0;
    for_each_element(A, [&](std::int64_t i, std::int64_t j, T value) {
      const double factor =
          sparse_direct::factor_at(scaling.rows, i) * sparse_direct::factor_at(scaling.columns, j);
      const T element = value * static_cast<Real<T>>(factor);
      const std::int64_t row = order_.natural() ? i : order_.inverse[i];
      const std::int64_t column = order_.natural() ? j : order_.inverse[j];
      elements_[lower_ + upper_ + row - column + column * height()] = element;
      sums[static_cast<std::size_t>(j)] += magnitude(element);
      largest_ = std::max(largest_, magnitude(element));
    });
    norm_one_ = *std::max_element(sums.begin(), sums.end());
  }

  [[nodiscard]] std::vector<Statistic> statistics(double largest_of_upper) const {
    return {{"lower_bandwidth", lower_},
            {"upper_bandwidth", upper_},
            {"ordering", std::string(order_.natural() ? "natural" : "rcm")},
            {"pivot_growth", largest_of_upper / largest_}};
  }

 private:
  struct Widths {
    std::int64_t lower = 0;
    std::int64_t upper = 0;
  };

  template <class U, class F>
  static void for_each_element(const Csr<U>& A, const F& f) {
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k)
        f(i, std::int64_t{A.column_indices()[k]}, A.values()[k]);
    }
  }

  [[nodiscard]] Outcome find_zero_line() const {
    std::vector<double> rows(static_cast<std::size_t>(sizes_.rows()), 0);
    std::vector<double> columns(static_cast<std::size_t>(sizes_.columns()), 0);
    for_each_element(sizes_, [&](std::int64_t i, std::int64_t j, double size) {
      rows[static_cast<std::size_t>(i)] = std::max(rows[static_cast<std::size_t>(i)], size);
      columns[static_cast<std::size_t>(j)] = std::max(columns[static_cast<std::size_t>(j)], size);
    });
    const auto zero_row = std::find(rows.begin(), rows.end(), 0.0);
    if (zero_row != rows.end()) return zero_line("row", zero_row - rows.begin());
    const auto zero_column = std::find(columns.begin(), columns.end(), 0.0);
    if (zero_column != columns.end()) return zero_line("column", zero_column - columns.begin());
    return {};
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
  void choose_order(const Csr<T>& A, BandOrdering ordering) {
    order_ = BandOrder();
    Widths found = widths(A, order_);
    if (ordering != BandOrdering::natural) {
      BandOrder renumbered = BandOrder::reverse_cuthill_mckee(A, Device::serial());
      const Widths narrower = widths(A, renumbered);
      if (ordering == BandOrdering::rcm ||
          3 * (narrower.lower + narrower.upper) < 2 * (found.lower + found.upper)) {
        order_ = std::move(renumbered);
        found = narrower;
      }
    }
    lower_ = found.lower;
    upper_ = found.upper;
  }

  [[nodiscard]] static Array<T> as_scales(const std::vector<double>& factors, const Device& device) {
    Array<T> scales(Device::serial(), static_cast<std::int64_t>(factors.size()));
    std::transform(factors.begin(), factors.end(), scales.data(),
                   [](double factor) { return T{static_cast<Real<T>>(factor)}; });
    return scales.to(device);
  }

  Csr<double> sizes_;  // magnitudes of the elements of A
  BandOrder order_;
  std::int64_t lower_ = 0;
  std::int64_t upper_ = 0;
  Array<T> elements_;
  double norm_one_ = 0;
  double largest_ = 0;
};

}  // namespace echelon::banded
