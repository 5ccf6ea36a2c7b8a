// SPDX-License-Identifier: BSD-3-Clause
/// Crout's formulas as a fixed-point iteration, with partial pivoting, in sections along the diagonal.
/// L. Čejka, Parallel Computation of LU Decomposition on GPUs, Czech Technical University in Prague, 2023;
/// without pivoting: Chow and Patel, SIAM J. Sci. Comput. 37 (2015).
///
/// In the order of elimination an element depends on earlier ones only. From any start the iteration
/// therefore reaches the factors themselves, up to rounding, after finitely many sweeps: about two for each
/// column of a diagonal section and one for each exchange of rows. Elements that depend on others that have
/// not converged yet may be huge before they converge, or NaN.
#pragma once

#include "studies/crout/elimination.hpp"

#include <echelon/cancellation.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

namespace echelon::crout {

struct IterationSettings {
  std::int64_t section_size = 0;  ///< rows of a diagonal section, 1 or more
  double tolerance = 0;           ///< an element has converged if a sweep changes it by no more than this
  bool pivoting = true;
  double pivot_threshold =
      1;  ///< a diagonal element of this multiple of the largest below it stays the pivot
  std::int64_t block_size = 32;  ///< on a GPU: rows and columns of a block's tile, 8, 16 or 32
  double zero_pivot = 0;  ///< with pivoting, takes the place of a pivot that is exactly zero; 0: ends there
};

/// The section size of the published method: a tenth of the rows, from 256 to 1024.
inline std::int64_t default_section_size(std::int64_t n) {
  return std::clamp<std::int64_t>(n / 10, 256, 1024);
}

/// Work of the iteration. Sweeps are counted over diagonal sections, over the elements of a column below the
/// diagonal, and over the regions below and to the right of sections.
struct IterationCounts {
  std::int64_t sections = 0;
  std::int64_t diagonal_sweeps = 0, most_diagonal_sweeps = 0;
  std::int64_t lower_sweeps = 0, upper_sweeps = 0;
  std::int64_t exchanges = 0;
  std::int64_t elements = 0;  ///< evaluations of a formula

  IterationCounts& operator+=(const IterationCounts& other) {
    sections += other.sections;
    diagonal_sweeps += other.diagonal_sweeps;
    most_diagonal_sweeps = std::max(most_diagonal_sweeps, other.most_diagonal_sweeps);
    lower_sweeps += other.lower_sweeps;
    upper_sweeps += other.upper_sweeps;
    exchanges += other.exchanges;
    elements += other.elements;
    return *this;
  }
};

/// Moves an element to the factors. Reports max(i, j) if the sweep changed it by more than the tolerance: NaN
/// has not converged. A zero on the diagonal of the first `final_columns` is replaced.
template <class T>
struct AcceptElement {
  Region region;
  Factor part;
  double tolerance;
  std::int64_t final_columns;
  T zero_pivot;
  DenseView<const T> next;
  DenseView<T> factors;
  ECHELON_ANYWHERE FirstIndex operator()(std::int64_t e) const {
    const std::int64_t i = region.row_begin + e % region.rows();
    const std::int64_t j = region.column_begin + e / region.rows();
    if (factor_at(i, j) != part) return {};
    T value = next.data()[j * next.leading() + i];
    if (i == j && j < final_columns && value == T{0}) value = zero_pivot;
    T& element = factors.data()[j * factors.leading() + i];
    const double change = std::fabs(static_cast<double>(value) - static_cast<double>(element));
    element = value;
    if (change <= tolerance) return {};
    return {i > j ? i : j};
  }
};

/// The iteration for an m-by-n matrix, m >= n. Keeps A, the present factors and the next ones, m n elements
/// each, which the caller provides: column-major, the factors equal to A at first.
template <class B, class T>
class Iteration {
 public:
  Iteration(B& backend, DenseView<T> A, DenseView<T> factors, DenseView<T> next,
            std::span<std::int64_t> pivots, const IterationSettings& settings,
            const CancellationToken& cancel)
      : backend_(backend),
        A_(A),
        factors_(factors),
        next_(next),
        pivots_(pivots),
        settings_(settings),
        cancel_(cancel),
        largest_(backend.device(), 1),
        unconverged_(backend.device(), 1) {}

  struct Result : EliminationResult {
    std::int64_t zero_pivot = -1;  ///< a zero on the diagonal that ended the iteration
    bool converged = true;         ///< false: too many sweeps, because elements overflowed
  };

  /// `pivots[j]` is the row that was exchanged with row j.
  Result factor() {
    const std::int64_t rows = A_.rows();
    const std::int64_t columns = A_.columns();
    for (std::int64_t first = 0; first < columns; first += settings_.section_size) {
      const std::int64_t last = std::min(first + settings_.section_size, columns);
      ++counts_.sections;
      if (!factor_diagonal_section(first, last)) return result_;
      const bool below = settings_.pivoting ||  // converged already, for the search of pivots
                         converge({last, rows, first, last}, Factor::lower, counts_.lower_sweeps);
      if (!below || !converge({first, last, last, columns}, Factor::upper, counts_.upper_sweeps))
        return result_;
    }
    return result_;
  }

  [[nodiscard]] const IterationCounts& counts() const { return counts_; }

 private:
  /// Sweeps over the section until its columns have converged and been pivoted. The leading block through
  /// column j has converged when a sweep changes none of its elements, so that columns are pivoted from the
  /// left.
  bool factor_diagonal_section(std::int64_t first, std::int64_t last) {
    const Region square{first, last, first, last};
    std::int64_t sweeps = 0;
    std::int64_t exchanged = 0;
    std::int64_t j = first;  // the first column that is not final
    while (j < last) {
      if (!may_sweep(sweeps++, 3 * (last - first) + 2 * exchanged)) return false;
      const std::int64_t lower = sweep(square, Factor::lower);
      const std::int64_t converged = std::min(lower, sweep(square, Factor::upper));
      for (bool exchange = false; j < last && j < converged && !exchange; ++j) {
        if (settings_.pivoting &&
            !converge({j + 1, A_.rows(), j, j + 1}, Factor::lower, counts_.lower_sweeps)) {
          return false;
        }
        exchange = settings_.pivoting && pivot(j);
        exchanged += exchange ? 1 : 0;
        if (!accept_pivot(j)) return false;
        if (!exchange) pivots_[static_cast<std::size_t>(j)] = j;
      }
    }
    counts_.diagonal_sweeps += sweeps;
    counts_.most_diagonal_sweeps = std::max(counts_.most_diagonal_sweeps, sweeps);
    return true;
  }

  /// Makes column j final, and replaces its pivot if that is zero; false if it is not to be replaced.
  bool accept_pivot(std::int64_t j) {
    T* const pivot = factors_.data() + j * (factors_.leading() + 1);
    final_columns_ = j + 1;
    if (backend_.read(pivot) != T{0}) return true;
    if (!settings_.pivoting || settings_.zero_pivot == 0) {
      result_.zero_pivot = j;
      return false;
    }
    backend_.write(static_cast<T>(settings_.zero_pivot), pivot);
    result_.add_replaced(j);
    return true;
  }

  /// Exchanges row j with that of the largest element below it if that is larger by more than the threshold
  /// allows.
  bool pivot(std::int64_t j) {
    find_largest<B, T>(backend_, factors_, j, j, largest_.data());
    const LargestElement largest = backend_.read(largest_.data());
    const double diagonal =
        std::fabs(static_cast<double>(backend_.read(factors_.data() + j * (factors_.leading() + 1))));
    const bool acceptable = diagonal > 0 && diagonal >= settings_.pivot_threshold * largest.magnitude;
    if (largest.row == j || acceptable) return false;
    pivots_[static_cast<std::size_t>(j)] = largest.row;
    exchange_rows(backend_, A_, j, largest.row);
    exchange_rows(backend_, factors_, j, largest.row);
    ++counts_.exchanges;
    return true;
  }

  /// Sweeps until no element changes: at most once for each of the region's columns (L) or rows (U), and once
  /// to see it.
  bool converge(const Region& region, Factor part, std::int64_t& total) {
    if (region.elements() == 0) return true;
    const std::int64_t depth = part == Factor::lower ? region.columns() : region.rows();
    std::int64_t sweeps = 0;
    do {
      if (!may_sweep(sweeps++, depth + 1)) return false;
    } while (sweep(region, part) != FirstIndex::none);
    total += sweeps;
    return true;
  }

  /// True if another sweep is allowed after this many sweeps.
  bool may_sweep(std::int64_t sweeps, std::int64_t most) {
    constexpr std::int64_t margin = 8;
    result_.cancelled = cancel_.stop_requested();
    result_.converged = sweeps < most + margin;
    return result_.converged && !result_.cancelled;
  }

  /// A synchronous sweep; returns the least max(i, j) of an element that it changed.
  std::int64_t sweep(const Region& region, Factor part) {
    evaluate_formulas<B, T>(backend_, region, part, A_, factors_, next_);
    const AcceptElement<T> accept{
        region, part,    settings_.tolerance, final_columns_, static_cast<T>(settings_.zero_pivot),
        next_,  factors_};
    backend_.reduce(region.elements(), accept, Store<FirstIndex>{unconverged_.data()});
    counts_.elements += region.elements();
    return backend_.read(unconverged_.data()).value;
  }

  B& backend_;
  DenseView<T> A_, factors_, next_;
  std::span<std::int64_t> pivots_;
  IterationSettings settings_;
  const CancellationToken& cancel_;
  std::int64_t final_columns_ = 0;
  Array<LargestElement> largest_;
  Array<FirstIndex> unconverged_;
  Result result_ = {};
  IterationCounts counts_ = {};
};

}  // namespace echelon::crout
