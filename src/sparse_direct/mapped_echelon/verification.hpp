// SPDX-License-Identifier: BSD-3-Clause
/// Test whether a small pivot is more than rounding. Host code.
#pragma once

#include "sparse_direct/mapped_echelon/combination.hpp"
#include "sparse_direct/mapped_echelon/form.hpp"

#include <echelon/csr.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

namespace echelon::mapped {

/// |value| / size below which a pivot may be noise, eps^(1/3).
template <class T>
constexpr double suspicious_pivot = std::is_same_v<T, double> ? 6e-6 : 5e-3;

/// Copies of a form and its matrix in host memory.
///
/// The pivot of an unknown c is s = w^T A x: w says how its row combines the rows of A, and x, with x_c = 1
/// and zeros in later unknowns, solves the equations of the earlier pivots. If every element of A changed by
/// |s| / (|w|^T |A| |x|) of its size, s could be zero: where that is less than rounding does, s is noise,
/// however large it may be. (It is large where earlier pivots are small, which makes x large.)
template <class B, class T>
class PivotCheck {
 public:
  PivotCheck(const MappedForm<B, RealField<T>>& form, const Csr<T>& A)
      : form_(form),
        record_(form.record().to_host()),
        columns_(form.factor().columns().to_vector()),
        values_(form.factor().values().to_vector()),
        a_offsets_(A.row_offsets().to_vector()),
        a_columns_(A.column_indices().to_vector()),
        a_values_(A.values().to_vector()),
        owned_(form.owner().size()) {
    for (const OwnedUnknown& row : form.factor().owned().to_vector()) {
      owned_[static_cast<std::size_t>(row.unknown)] = row;
    }
  }

  /// |value| / size of the first pivot, in the order of elimination, that is noise. Looks at the first 32
  /// suspicious ones.
  [[nodiscard]] std::optional<double> find_noise() const {
    int checked = 0;
    for (std::size_t k = 0; k < form_.order().size() && checked < most_checked; ++k) {
      const double size = form_.relative_sizes()[static_cast<std::size_t>(form_.order()[k])];
      if (!(size < suspicious_pivot<T>)) continue;
      ++checked;
      if (relative_distance(k) < noise) return size;
    }
    return std::nullopt;
  }

 private:
  static constexpr int most_checked = 32;
  static constexpr double epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
  static constexpr double noise = 2 * epsilon;

  /// |s| / (|w|^T |A| |x|) for the unknown that was eliminated as number k.
  [[nodiscard]] double relative_distance(std::size_t k) const {
    const OwnedUnknown& pivot = owned_[static_cast<std::size_t>(form_.order()[k])];
    const std::vector<double> x = null_vector(k);
    const std::vector<T> w = combination_of(form_.field(), record_, form_.rows(), pivot.row);
    double scale = 0;
    for (std::size_t i = 0; i < w.size(); ++i) {
      if (w[i] == 0) continue;
      double sum = 0;
      for (auto e = static_cast<std::size_t>(a_offsets_[i]); e < static_cast<std::size_t>(a_offsets_[i + 1]); ++e) {
        sum += std::abs(static_cast<double>(a_values_[e]) * x[static_cast<std::size_t>(a_columns_[e])]);
      }
      scale += std::abs(static_cast<double>(w[i])) * sum;
    }
    return std::abs(static_cast<double>(values_[static_cast<std::size_t>(pivot.begin)])) / scale;
  }

  /// x with a one for the k-th eliminated unknown, that the pivot rows before map to zero.
  [[nodiscard]] std::vector<double> null_vector(std::size_t k) const {
    std::vector<double> x(owned_.size(), 0);
    x[static_cast<std::size_t>(form_.order()[k])] = 1;
    while (k-- > 0) {
      const auto unknown = static_cast<std::size_t>(form_.order()[k]);
      if (form_.owner()[unknown] == nobody) continue;
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

  const MappedForm<B, RealField<T>>& form_;
  HostRecord<T> record_;
  std::vector<std::int32_t> columns_;
  std::vector<T> values_;
  std::vector<std::int64_t> a_offsets_;
  std::vector<std::int32_t> a_columns_;
  std::vector<T> a_values_;
  std::vector<OwnedUnknown> owned_;  // by unknown
};

}  // namespace echelon::mapped
