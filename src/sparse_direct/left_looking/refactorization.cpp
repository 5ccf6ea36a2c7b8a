// SPDX-License-Identifier: BSD-3-Clause
// New values in the pattern of left-looking factors.
#include "sparse_direct/left_looking/elimination_schedule.hpp"
#include "sparse_direct/left_looking/factorization.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

namespace echelon::sparse_direct {

namespace {

/// Whether a pivot may stay: it is usable, and at least `threshold` times the largest element of its row.
template <class T>
bool is_acceptable(T pivot, T largest, T threshold) {
  const T magnitude = std::fabs(pivot);
  return std::isfinite(largest) && magnitude >= least_pivot<T> && magnitude >= threshold * largest;
}

/// Elimination by a schedule.
template <class T>
class ScheduledElimination {
 public:
  ScheduledElimination(const Csr<T>& a, const LeftLookingOptions& options, LeftLookingFactors<T>& factors)
      : a_(a), options_(options), f_(factors), plan_(*factors.schedule), values_(factors.values.data()) {}

  LeftLookingEnd run() {
    scatter();
    const LeftLookingEnd end = eliminate();
    if (end != LeftLookingEnd::finished) return end;
    const T* const upper = f_.upper.value.data();
    const T largest_upper = largest_of(f_.upper.size(), [=](std::int64_t p) { return std::fabs(upper[p]); });
    f_.largest_element = static_cast<double>(std::max(largest_, largest_upper));
    return end;
  }

 private:
  /// Largest of n numbers, in chains that do not wait for each other.
  template <class F>
  static T largest_of(std::int64_t n, const F& number) {
    constexpr int chains = 4;
    T largest[chains] = {};
    std::int64_t p = 0;
    for (; p + chains <= n; p += chains) {
      for (int c = 0; c < chains; ++c) largest[c] = std::max(largest[c], number(p + c));
    }
    for (; p < n; ++p) largest[0] = std::max(largest[0], number(p));
    return std::max(std::max(largest[0], largest[1]), std::max(largest[2], largest[3]));
  }

  /// The next entries of the lists of the schedule.
  struct Lists {
    const std::int32_t* multiplier;
    const std::int32_t* target;
  };

  /// Puts the scaled elements of A in their places, and zeros elsewhere.
  void scatter() {
    std::fill_n(values_, f_.values.size(), T{0});
    const T* const elements = a_.values().data();
    const double* const scales = plan_.scales.data();
    const std::int32_t* const places = plan_.places.data();
    f_.largest_given = static_cast<double>(largest_of(a_.nonzeros(), [=, this](std::int64_t p) {
      const auto value = static_cast<T>(scales[p] * static_cast<double>(elements[p]));
      values_[places[p]] = value;
      return std::fabs(value);
    }));
  }

  LeftLookingEnd eliminate() {
    const auto steps = std::ssize(plan_.steps);
    Lists next{plan_.multipliers.data(), plan_.targets.data()};
    for (std::int64_t first = 0; first < steps; first += check_every) {
      if (options_.control.stops_at(share_of_columns(first, steps))) return LeftLookingEnd::cancelled;
      if (!eliminate(first, std::min(first + check_every, steps), next)) return LeftLookingEnd::no_pivot;
    }
    return LeftLookingEnd::finished;
  }

  /// Takes some steps; false at a pivot that is not acceptable.
  bool eliminate(std::int64_t first, std::int64_t last, Lists& next) {
    const auto threshold = static_cast<T>(options_.threshold);
    T* const values = values_;
    T* const reciprocals = f_.reciprocal.data();
    auto [multiplier, target] = next;
    T largest = largest_;
    for (std::int64_t s = first; s < last; ++s) {
      const EliminationSchedule::Step step = plan_.steps[s];
      T* const lower = values + step.lower;
      const T pivot = values[step.pivot];
      const T reciprocal = T{1} / pivot;
      T largest_of_row = std::fabs(pivot);
      for (std::int32_t r = 0; r < step.rows; ++r) {
        largest_of_row = std::max(largest_of_row, std::fabs(lower[r]));
        lower[r] *= reciprocal;
      }
      if (!is_acceptable(pivot, largest_of_row, threshold)) return false;
      reciprocals[step.pivot] = reciprocal;
      largest = std::max(largest, largest_of_row);
      for (std::int32_t c = 0; c < step.columns; ++c) {
        const T factor = values[*multiplier++];
        for (std::int32_t r = 0; r < step.rows; ++r) values[target[r]] -= factor * lower[r];
        target += step.rows;
      }
    }
    next = {multiplier, target};
    largest_ = largest;
    return true;
  }

  const Csr<T>& a_;
  const LeftLookingOptions& options_;
  LeftLookingFactors<T>& f_;
  const EliminationSchedule& plan_;
  T* values_;
  T largest_ = 0;  // of the pivots and their columns of L before the division
};

/// Elimination by columns, for long schedules.
template <class T>
class ColumnElimination {
 public:
  ColumnElimination(const Csr<T>& a, const Scaling& scaling, const LeftLookingOptions& options,
                    LeftLookingFactors<T>& factors)
      : a_(a),
        scaling_(scaling),
        options_(options),
        f_(factors),
        number_(factors.column_order.size()),
        x_(factors.column_order.size(), T{0}) {
    for (std::size_t k = 0; k < number_.size(); ++k) {
      number_[factors.column_order[k]] = static_cast<std::int32_t>(k);
    }
  }

  LeftLookingEnd run() {
    f_.largest_given = f_.largest_element = 0;
    for (std::size_t b = 0; b + 1 < f_.block_begin.size(); ++b) {
      for (std::int32_t k = f_.block_begin[b]; k < f_.block_begin[b + 1]; ++k) {
        if (k % check_every == 0 && options_.control.stops_at(share_of_columns(k, std::ssize(number_))))
          return LeftLookingEnd::cancelled;
        scatter(k, f_.block_begin[b + 1]);
        eliminate(k);
        if (!divide(k)) return LeftLookingEnd::no_pivot;
      }
    }
    f_.largest_given = static_cast<double>(largest_given_);
    f_.largest_element = static_cast<double>(largest_element_);
    return LeftLookingEnd::finished;
  }

 private:
  void scatter(std::int32_t k, std::int32_t block_end) {
    const std::int32_t row = f_.row_order[k];
    const double row_scale = scaling_.rows[row];
    std::int64_t coupling = f_.coupling.begin[k];
    for (std::int64_t p = a_.row_offsets()[row]; p < a_.row_offsets()[row + 1]; ++p) {
      const std::int32_t column = a_.column_indices()[p];
      const T value =
          static_cast<T>(row_scale * static_cast<double>(a_.values()[p]) * scaling_.columns[column]);
      largest_given_ = std::max(largest_given_, std::fabs(value));
      if (number_[column] >= block_end) {
        f_.coupling.value[coupling++] = value;
      } else {
        x_[number_[column]] += value;
      }
    }
  }

  void eliminate(std::int32_t k) {
    const std::int32_t* index = f_.lower.index.data();
    const T* value = f_.lower.value.data();
    T largest = 0;
    for (std::int64_t u = f_.upper.begin[k]; u < f_.upper.begin[k + 1]; ++u) {
      const std::int32_t step = f_.upper.index[u];
      const T factor = x_[step];
      x_[step] = 0;
      f_.upper.value[u] = factor;
      largest = std::max(largest, std::fabs(factor));
      for (std::int64_t p = f_.lower.begin[step]; p < f_.lower.begin[step + 1]; ++p) {
        x_[index[p]] -= factor * value[p];
      }
    }
    largest_element_ = std::max(largest_element_, largest);
  }

  /// Divides by the pivot; false if that is too small, or not finite.
  bool divide(std::int32_t k) {
    const T pivot = x_[k];
    x_[k] = 0;
    T largest = std::fabs(pivot);
    for (std::int64_t p = f_.lower.begin[k]; p < f_.lower.begin[k + 1]; ++p) {
      const std::int32_t i = f_.lower.index[p];
      largest = std::max(largest, std::fabs(x_[i]));
      f_.lower.value[p] = x_[i] / pivot;
      x_[i] = 0;
    }
    f_.pivot[k] = pivot;
    largest_element_ = std::max(largest_element_, largest);
    f_.reciprocal[k] = T{1} / pivot;
    return is_acceptable(pivot, largest, static_cast<T>(options_.threshold));
  }

  const Csr<T>& a_;
  const Scaling& scaling_;
  const LeftLookingOptions& options_;
  LeftLookingFactors<T>& f_;
  std::vector<std::int32_t> number_;  // of the pivot in each column of A
  std::vector<T> x_;                  // by numbers of pivots; zero between columns
  T largest_given_ = 0;
  T largest_element_ = 0;
};

}  // namespace

template <class T>
LeftLookingEnd refactor_left_looking(const Csr<T>& a, const Scaling& scaling,
                                     const LeftLookingOptions& options, LeftLookingFactors<T>& factors) {
  if (options.control.stops_at(0)) return LeftLookingEnd::cancelled;
  if (factors.values.size() == 0) factors.join_values();
  if (!factors.schedule) factors.schedule = schedule_elimination(a, scaling, factors);
  if (!factors.schedule->steps.empty()) return ScheduledElimination<T>(a, options, factors).run();
  return ColumnElimination<T>(a, scaling, options, factors).run();
}

template LeftLookingEnd refactor_left_looking(const Csr<float>&, const Scaling&, const LeftLookingOptions&,
                                              LeftLookingFactors<float>&);
template LeftLookingEnd refactor_left_looking(const Csr<double>&, const Scaling&, const LeftLookingOptions&,
                                              LeftLookingFactors<double>&);

}  // namespace echelon::sparse_direct
