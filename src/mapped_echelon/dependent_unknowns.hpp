// SPDX-License-Identifier: BSD-3-Clause
/// Test whether pivots are more than rounding errors. Host code.
#pragma once

#include "mapped_echelon/form.hpp"

#include <echelon/matrix/csr.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace echelon::mapped {

/// True if a pivot of this size must be tested: two steps of amplification leave noise of size eps^(1/3).
template <class T>
bool is_suspicious(double of_terms, double of_row) {
  constexpr double limit = std::is_same_v<T, double> ? 6e-6 : 5e-3;
  return of_terms < limit || of_row < limit;
}

/// Relative residual of A x = 0 up to which x is a null vector to within rounding.
template <class T>
constexpr double null_vector_residual = 16 * static_cast<double>(std::numeric_limits<T>::epsilon());

/// Result of a test of pivots.
struct FoundNoise {
  std::vector<std::uint8_t> noise;  ///< one number for each unknown, 1 if its pivot is noise
  /// Smallest relative residual of a vector for a pivot that is not noise; infinite if no such pivot was
  /// tested.
  double smallest_residual = std::numeric_limits<double>::infinity();
};

/// Copies of a form and of its matrix in host memory.
///
/// A vector x with x_c = 1 and zeros in the unknowns that were eliminated after c is computed from the rows
/// of the map so that their equations have the right-hand side 0. If A x is 0 to within rounding, column c
/// depends on columns before it, and the pivot of c is a rounding error, however large it may be. (It is
/// large where earlier pivots are small, which makes x large.) Rows and columns are scaled to norm 1 for
/// this.
template <class B, class T>
class DependentUnknowns {
 public:
  DependentUnknowns(const MappedForm<B, RealField<T>>& form, const Csr<T>& A)
      : form_(form),
        columns_(form.factor().columns().to_vector()),
        values_(form.factor().values().to_vector()),
        a_offsets_(A.row_offsets().to_vector()),
        a_columns_(A.column_indices().to_vector()),
        a_values_(A.values().to_vector()),
        owned_(form.owner().size()),
        row_norm_(a_offsets_.size() - 1, 0),
        column_norm_(form.owner().size(), 0) {
    for (const OwnedUnknown& row : form.factor().owned().to_vector()) {
      owned_[static_cast<std::size_t>(row.unknown)] = row;
    }
    for_each_element([&](std::size_t i, std::size_t /*j*/, double a) {
      row_norm_[i] = std::max(row_norm_[i], std::abs(a));
    });
    for_each_element([&](std::size_t i, std::size_t j, double a) {
      if (a != 0) column_norm_[j] = std::max(column_norm_[j], std::abs(a) / row_norm_[i]);
    });
  }

  /// Tests suspicious pivots, and those that were eliminated after the first one found, but no more than
  /// 1000.
  [[nodiscard]] FoundNoise find() const {
    constexpr int most_tests = 1000;
    FoundNoise found{std::vector<std::uint8_t>(owned_.size(), 0)};
    bool any = false;
    int tests = 0;
    for (std::size_t k = 0; k < form_.order().size() && tests < most_tests; ++k) {
      const auto unknown = static_cast<std::size_t>(form_.order()[k]);
      const PivotSize size = form_.pivot_sizes()[unknown];
      const bool suspicious = is_suspicious<T>(size.of_terms, size.of_row / column_norm_[unknown]);
      if (form_.owner()[unknown] == no_row || !(any || suspicious)) continue;
      ++tests;
      const double residual = relative_residual(candidate(k, found.noise));
      if (residual <= null_vector_residual<T>) {
        found.noise[unknown] = 1;
        any = true;
      } else {
        found.smallest_residual = std::min(found.smallest_residual, residual);
      }
    }
    return found;
  }

 private:
  /// f(row, column, value) for every element of A.
  template <class F>
  void for_each_element(const F& f) const {
    for (std::size_t i = 0; i + 1 < a_offsets_.size(); ++i) {
      for (auto e = static_cast<std::size_t>(a_offsets_[i]); e < static_cast<std::size_t>(a_offsets_[i + 1]);
           ++e) {
        f(i, static_cast<std::size_t>(a_columns_[e]), static_cast<double>(a_values_[e]));
      }
    }
  }

  /// Vector x with a one for the k-th eliminated unknown, which the pivot rows before it map to zero, except
  /// for those whose pivots are noise.
  [[nodiscard]] std::vector<double> candidate(std::size_t k, const std::vector<std::uint8_t>& noise) const {
    std::vector<double> x(owned_.size(), 0);
    x[static_cast<std::size_t>(form_.order()[k])] = 1;
    while (k-- > 0) {
      const auto unknown = static_cast<std::size_t>(form_.order()[k]);
      if (form_.owner()[unknown] == no_row || noise[unknown] != 0) continue;
      const auto begin = static_cast<std::size_t>(owned_[unknown].begin);
      const auto end = static_cast<std::size_t>(owned_[unknown].end);
      double sum = 0;
      for (std::size_t e = begin + 1; e < end; ++e) {
        sum += static_cast<double>(values_[e]) * x[static_cast<std::size_t>(columns_[e])];
      }
      x[unknown] = -sum / static_cast<double>(values_[begin]);
    }
    return x;
  }

  /// The largest |A x|_i, for rows and columns scaled to norm 1 and relative to the norm of x; infinite if it
  /// overflowed.
  [[nodiscard]] double relative_residual(const std::vector<double>& x) const {
    double x_norm = 0;
    for (std::size_t j = 0; j < x.size(); ++j) x_norm = std::max(x_norm, column_norm_[j] * std::abs(x[j]));
    std::vector<double> product(row_norm_.size(), 0);
    for_each_element([&](std::size_t i, std::size_t j, double a) { product[i] += a * x[j]; });
    double largest = 0;
    for (std::size_t i = 0; i < product.size(); ++i) {
      if (product[i] == 0) continue;
      const double residual = std::abs(product[i]) / (row_norm_[i] * x_norm);
      if (!std::isfinite(residual)) return std::numeric_limits<double>::infinity();
      largest = std::max(largest, residual);
    }
    return largest;
  }

  const MappedForm<B, RealField<T>>& form_;
  std::vector<std::int32_t> columns_;
  std::vector<T> values_;
  std::vector<std::int64_t> a_offsets_;
  std::vector<std::int32_t> a_columns_;
  std::vector<T> a_values_;
  std::vector<OwnedUnknown> owned_;  // by unknown
  std::vector<double> row_norm_;     // largest magnitude
  std::vector<double> column_norm_;  // largest magnitude relative to the norm of its row
};

}  // namespace echelon::mapped
