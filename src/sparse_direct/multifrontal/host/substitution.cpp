// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/multifrontal/host/substitution.hpp"

#include "sparse_direct/multifrontal/host/kernels.hpp"

#include <support/scalar_list.hpp>

#include <algorithm>
#include <atomic>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace echelon::sparse_direct {

namespace {

template <class T>
class Substitution {
 public:
  Substitution(const MultifrontalFactors<T>& factors, int columns, T* x, T* w)
      : factors_(factors), columns_(columns), x_(x), w_(w) {}

  /// Substitutes from the leaves to the roots: the kernel also subtracts from the rows below. Fronts whose
  /// pivots have right-hand sides of zero change nothing.
  void forward(const TriangleKernels<T>& triangle, const std::int32_t* numbers) {
    for (const FrontRecord& record : factors_.fronts) {
      const T* const own = row(record.first_pivot);
      if (std::all_of(own, own + record.eliminated * columns_, [](const T& value) { return value == T{0}; }))
        continue;
      gather(record, numbers);
      triangle.in_front(factors_.front(record), columns_, w_);
      scatter_pivots(record);
      const std::int64_t below = record.size - record.eliminated;
      const T* from = w_ + static_cast<std::int64_t>(record.eliminated) * columns_;
      for (std::int64_t i = 0; i < below; ++i, from += columns_) {
        std::copy_n(from, columns_, row(numbers[record.below + i]));
      }
    }
  }

  /// Substitutes from the roots to the leaves: the kernel only reads the rows below.
  void backward(const TriangleKernels<T>& triangle, const std::int32_t* numbers) {
    for (auto record = factors_.fronts.rbegin(); record != factors_.fronts.rend(); ++record) {
      gather(*record, numbers);
      triangle.in_front(factors_.front(*record), columns_, w_);
      scatter_pivots(*record);
    }
  }

 private:
  [[nodiscard]] T* row(std::int64_t number) const { return x_ + number * columns_; }

  void gather(const FrontRecord& record, const std::int32_t* numbers) const {
    T* to = std::copy_n(row(record.first_pivot), static_cast<std::int64_t>(record.eliminated) * columns_, w_);
    const std::int64_t below = record.size - record.eliminated;
    for (std::int64_t i = 0; i < below; ++i) to = std::copy_n(row(numbers[record.below + i]), columns_, to);
  }
  void scatter_pivots(const FrontRecord& record) const {
    std::copy_n(w_, static_cast<std::int64_t>(record.eliminated) * columns_, row(record.first_pivot));
  }

  const MultifrontalFactors<T>& factors_;
  std::int64_t columns_;
  T* x_;
  T* w_;
};

/// Substitution with one right-hand side by a team of threads. A range keeps its sums for rows outside in
/// memory of its thread; they are added to x in the order of the ranges, before the fronts above.
template <class T>
class VectorSubstitution {
 public:
  VectorSubstitution(const MultifrontalFactors<T>& factors, const SubstitutionSchedule& schedule,
                     const RunTeam& run, T* x, T* scratch)
      : factors_(factors), schedule_(schedule), run_(run), x_(x), scratch_(scratch) {
    std::int64_t sums = 0;
    for (std::size_t r = 0; r < schedule.ranges.size() && has_top(); ++r) {
      sum_begin_.push_back(sums);
      for (const std::int32_t root : roots_of(r)) sums += front(root).size - front(root).eliminated;
    }
    shared_ = scratch + sums;
    own_ = shared_ + factors.largest_front;
  }

  static std::int64_t scratch_size(const MultifrontalFactors<T>& factors,
                                   const SubstitutionSchedule& schedule, int threads) {
    const std::int64_t front = factors.largest_front;
    if (schedule.top.empty()) return 2 * front;
    std::int64_t sums = 0;
    for (const std::int32_t root : schedule.roots) {
      const FrontRecord& record = factors.fronts[static_cast<std::size_t>(root)];
      sums += record.size - record.eliminated;
    }
    return sums + front + threads * (front + factors.n);
  }

  void forward(const TriangleKernels<T>& triangle, const std::int32_t* numbers) const {
    if (!has_top()) return triangle.vector(factors_, whole(), x_, shared_);
    std::atomic<std::size_t> next = 0;
    run_([&](int part, int parts) {
      const Team team{part, parts};
      T* const w = own_ + part * (factors_.largest_front + factors_.n);
      for (std::size_t r = next++; r < schedule_.ranges.size(); r = next++)
        forward_in_range(triangle, numbers, r, w);
      team.barrier();
      if (part == 0) add_sums(numbers);
      team.barrier();
      bool shared = true;  // the front before
      for (const std::int32_t s : schedule_.top) shared = substitute_at_top(triangle, s, team, shared, w);
    });
  }

  void backward(const TriangleKernels<T>& triangle, const std::int32_t* /*numbers*/) const {
    if (!has_top()) return triangle.vector(factors_, whole(), x_, shared_);
    std::atomic<std::size_t> next = 0;
    run_([&](int part, int parts) {
      const Team team{part, parts};
      T* const w = own_ + part * (factors_.largest_front + factors_.n);
      bool shared = true;  // the front before
      for (std::size_t k = schedule_.top.size(); k-- > 0;)
        shared = substitute_at_top(triangle, schedule_.top[k], team, shared, w);
      team.barrier();
      for (std::size_t r = next++; r < schedule_.ranges.size(); r = next++) {
        const SupernodeRange range = schedule_.ranges[r];
        triangle.vector(factors_, {range.begin, range.end, factors_.n, nullptr}, x_, w);
      }
    });
  }

 private:
  [[nodiscard]] bool has_top() const { return !schedule_.top.empty(); }
  [[nodiscard]] const FrontRecord& front(std::int32_t s) const {
    return factors_.fronts[static_cast<std::size_t>(s)];
  }
  [[nodiscard]] FrontTask<T> whole() const {
    return {0, static_cast<std::int32_t>(factors_.fronts.size()), factors_.n, nullptr};
  }
  [[nodiscard]] std::span<const std::int32_t> roots_of(std::size_t r) const {
    const auto begin = static_cast<std::size_t>(r == 0 ? 0 : schedule_.root_ends[r - 1]);
    return std::span(schedule_.roots)
        .subspan(begin, static_cast<std::size_t>(schedule_.root_ends[r]) - begin);
  }
  /// Numbers of the rows after the pivots of a front.
  [[nodiscard]] static std::span<const std::int32_t> rows_below(const FrontRecord& record,
                                                                const std::int32_t* numbers) {
    return {numbers + record.below, static_cast<std::size_t>(record.size - record.eliminated)};
  }

  /// Substitutes in a front above the ranges: with all threads if it is large, otherwise with the first one,
  /// because threads wait for each other several times in a front that they share. Returns whether the front
  /// was shared.
  bool substitute_at_top(const TriangleKernels<T>& triangle, std::int32_t s, const Team& team,
                         bool previous_shared, T* w) const {
    constexpr std::int64_t worth_sharing = 1 << 16;  // entries, which take some 50 microseconds
    const FrontRecord& record = front(s);
    if (std::int64_t{record.size} * record.eliminated < worth_sharing) {
      if (team.part == 0) triangle.vector(factors_, {s, s + 1, factors_.n, nullptr}, x_, w);
      return false;
    }
    if (!previous_shared) team.barrier();
    triangle.divided(factors_, record, team, x_, shared_);
    return true;
  }

  void forward_in_range(const TriangleKernels<T>& triangle, const std::int32_t* numbers, std::size_t r,
                        T* w) const {
    const SupernodeRange range = schedule_.ranges[r];
    const FrontRecord& last = front(range.end - 1);
    T* const outside = w + factors_.largest_front;
    for (const std::int32_t root : roots_of(r)) {
      for (const std::int32_t number : rows_below(front(root), numbers)) outside[number] = 0;
    }
    triangle.vector(factors_, {range.begin, range.end, last.first_pivot + last.eliminated, outside}, x_, w);
    T* sum = scratch_ + sum_begin_[r];
    for (const std::int32_t root : roots_of(r)) {
      for (const std::int32_t number : rows_below(front(root), numbers))
        *sum++ = std::exchange(outside[number], T{0});
    }
  }

  void add_sums(const std::int32_t* numbers) const {
    const T* sum = scratch_;
    for (const std::int32_t root : schedule_.roots) {
      for (const std::int32_t number : rows_below(front(root), numbers)) x_[number] += *sum++;
    }
  }

  const MultifrontalFactors<T>& factors_;
  const SubstitutionSchedule& schedule_;
  const RunTeam& run_;
  T* x_;
  T* scratch_;                           // sums of all ranges
  T* shared_;                            // of the fronts above the ranges
  T* own_;                               // of each thread: rows of a front, and sums of a range
  std::vector<std::int64_t> sum_begin_;  // by range
};

/// Computes X = D^-1 X for pivots of order one and two.
template <class T>
void divide_by_pivots(const MultifrontalFactors<T>& factors, int columns, T* x) {
  const TriangleMirror mirror{is_hermitian(factors.kind)};
  for (const FrontRecord& record : factors.fronts) {
    const T* d = factors.front(record).right;
    for (int p = 0; p < record.eliminated; ++p) {
      T* row = x + (static_cast<std::int64_t>(record.first_pivot) + p) * columns;
      if (d[2 * p + 1] == T{0}) {
        for (int c = 0; c < columns; ++c) row[c] /= d[2 * p];
        continue;
      }
      // Elements are scaled by the off-diagonal one, which is the largest of the three up to the pivot
      // threshold.
      const T off_diagonal = d[2 * p + 1];
      const T mirrored = mirror(off_diagonal);
      const T phase = mirror.conjugates ? off_diagonal / mirrored : T{1};
      const T first = d[2 * p] / off_diagonal;
      const T second = d[2 * p + 2] / mirrored;
      const T determinant = first * second - T{1};
      for (int c = 0; c < columns; ++c) {
        const T b1 = row[c] / off_diagonal;
        const T b2 = row[columns + c] / off_diagonal;
        row[c] = (second * b1 - b2) / determinant;
        row[columns + c] = (first * b2 - b1) / determinant * phase;
      }
      ++p;
    }
  }
}

template <class T>
void conjugate(std::int64_t count, T* x) {
  if constexpr (is_complex<T>) std::transform(x, x + count, x, [](T value) { return std::conj(value); });
}

/// Substitutes with the triangles of the factors: `forward(triangle, numbers)`, then `backward`. With L^H, or
/// with the transpose of a Hermitian matrix, which is its conjugate, conjugates of X are solved for.
template <class T, class Method>
void substitute_with(const MultifrontalFactors<T>& factors, bool transposed, int columns, T* x,
                     SubstitutionHalves halves, Method& method) {
  const FrontKernels<T>& kernels = front_kernels<T>();
  const std::int32_t* rows = factors.row_numbers.data();
  const std::int32_t* column_numbers = factors.column_numbers.data();
  const bool forward = halves != SubstitutionHalves::backward;
  const bool backward = halves != SubstitutionHalves::forward;
  const bool hermitian = is_complex<T> && is_hermitian(factors.kind);
  const std::int64_t count = factors.n * columns;
  if (hermitian && transposed) conjugate(count, x);
  if (forward && factors.kind == FactorKind::lu) {
    method.forward(transposed ? kernels.upper_transposed : kernels.unit_lower,
                   transposed ? column_numbers : rows);
  } else if (forward) {
    method.forward(factors.kind == FactorKind::cholesky ? kernels.lower : kernels.unit_lower, rows);
    if (has_block_diagonal(factors.kind)) divide_by_pivots(factors, columns, x);
  }
  if (backward && forward) std::fill(x + factors.facts.rank * columns, x + count, T{0});
  if (hermitian && (transposed || backward)) conjugate(count, x);
  if (!backward) return;
  if (factors.kind == FactorKind::lu) {
    method.backward(transposed ? kernels.unit_lower_transposed : kernels.upper,
                    transposed ? rows : column_numbers);
  } else {
    method.backward(
        factors.kind == FactorKind::cholesky ? kernels.lower_transposed : kernels.unit_lower_transposed,
        rows);
    if (hermitian && !transposed) conjugate(count, x);
  }
}

double entries_of(const PanelLayout& layout, std::int64_t s) {
  return static_cast<double>(layout.panel_begin[static_cast<std::size_t>(s) + 1] -
                             layout.panel_begin[static_cast<std::size_t>(s)]);
}

}  // namespace

SubstitutionSchedule schedule_substitution(const PanelLayout& layout) {
  constexpr double worth_dividing = 1 << 19;  // entries, which take about half a millisecond
  constexpr int most_ranges = 64;
  const SymbolicFactor& tree = layout.tree;
  const auto count = static_cast<std::int32_t>(tree.supernodes());
  std::vector<double> entries(tree.parent.size(), 0);  // of subtrees
  double total = 0;
  for (std::int32_t s = 0; s < count; ++s) {
    entries[s] += entries_of(layout, s);
    total += entries_of(layout, s);
    if (tree.parent[s] >= 0) entries[tree.parent[s]] += entries[s];
  }
  SubstitutionSchedule schedule;
  if (total < worth_dividing) return schedule;
  const TreeDivision division = divide_tree(tree, entries, total / most_ranges);
  for (const SupernodeRange range : division.ranges) {
    for (std::int32_t s = range.begin; s < range.end; ++s) {
      if (tree.parent[s] < 0 || tree.parent[s] >= range.end) schedule.roots.push_back(s);
    }
    schedule.root_ends.push_back(static_cast<std::int32_t>(schedule.roots.size()));
  }
  schedule.ranges = division.ranges;
  schedule.top = division.top;
  return schedule;
}

template <class T>
std::int64_t substitution_scratch(const MultifrontalFactors<T>& factors, const SubstitutionSchedule& schedule,
                                  int columns, int threads) {
  const std::int64_t one = VectorSubstitution<T>::scratch_size(factors, schedule, threads);
  return std::max(one, static_cast<std::int64_t>(factors.largest_front) * columns);
}

template <class T>
void substitute(const MultifrontalFactors<T>& factors, const SubstitutionSchedule& schedule,
                const RunTeam& run, bool transposed, int columns, T* x, T* scratch,
                SubstitutionHalves halves) {
  if (columns == 1) {
    VectorSubstitution<T> method(factors, schedule, run, x, scratch);
    substitute_with(factors, transposed, columns, x, halves, method);
  } else {
    Substitution<T> method(factors, columns, x, scratch);
    substitute_with(factors, transposed, columns, x, halves, method);
  }
}

#define ECHELON_INSTANTIATE(T)                                                                               \
  template std::int64_t substitution_scratch(const MultifrontalFactors<T>&, const SubstitutionSchedule&,     \
                                             int, int);                                                      \
  template void substitute(const MultifrontalFactors<T>&, const SubstitutionSchedule&, const RunTeam&, bool, \
                           int, T*, T*, SubstitutionHalves);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::sparse_direct
