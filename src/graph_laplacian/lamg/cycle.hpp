// SPDX-License-Identifier: BSD-3-Clause
/// Fractional cycles of lean algebraic multigrid.
#pragma once

#include "graph_laplacian/lamg/hierarchy.hpp"
#include "graph_laplacian/lamg/recombination.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace echelon::lamg {

/// Counter of descents in a cycle with a fractional index: level l descends until it has done so `index`
/// times as often as level l - 1; the finest level descends once. An index of 1.5 makes 1, 2, 3, 5, 8, 12,
/// 18, 27 descents.
class VisitCounter {
 public:
  explicit VisitCounter(std::size_t levels) : descents_(levels) {}
  void start() { descents_.assign(descents_.size(), 0); }
  /// True if level l descends once more, which is then counted. `index` is the cycle index of level l - 1.
  bool descend(std::size_t l, double index) {
    const double most = l == 0 ? 1 : index * static_cast<double>(descents_[l - 1]);
    if (!(static_cast<double>(descents_[l]) < most)) return false;
    ++descents_[l];
    return true;
  }
  [[nodiscard]] const std::vector<std::int64_t>& descents() const { return descents_; }

 private:
  std::vector<std::int64_t> descents_;
};

struct CycleOptions {
  int pre_sweeps = 1;
  int post_sweeps = 2;
  /// Largest number of iterates to combine, on the finest level over several cycles; 0 disables it.
  std::size_t combined_iterates = 4;
};

/// Vectors of a solve in progress, all allocated before the first cycle.
template <class T>
struct CycleVectors {
  struct OfLevel {
    Vector<T> x;
    Vector<Cell<T>> cells;
    Vector<T> fine_b;  ///< right-hand side and solution before the level's elimination
    Vector<T> fine_x;
    Recombination<T> iterates;
  };
  CycleVectors(const LamgHierarchy<T>& hierarchy, const CycleOptions& options);
  [[nodiscard]] std::size_t bytes() const;

  std::vector<OfLevel> levels;
  VisitCounter visits;
};

/// Iteration for L x = b by cycles over a hierarchy.
template <class T>
class LamgCycle {
 public:
  LamgCycle(const LamgHierarchy<T>& hierarchy, const CycleOptions& options)
      : hierarchy_(&hierarchy), options_(options) {}

  /// Begins from x = 0 for a right-hand side whose sum is zero on each component.
  void start(CycleVectors<T>& vectors, const T* b) const;
  /// Does one cycle and returns the 2-norm of the residual of L x = b. Equations of eliminated vertices
  /// contribute nothing, since they are satisfied exactly.
  double step(CycleVectors<T>& vectors) const;
  /// Writes the iterate for all vertices, eliminated ones included, to x.
  void finish(CycleVectors<T>& vectors, T* x) const;

 private:
  void visit_levels(CycleVectors<T>& vectors, std::size_t coarsest) const;
  void descend(CycleVectors<T>& vectors, std::size_t l) const;
  void ascend(CycleVectors<T>& vectors, std::size_t l) const;
  void solve_coarsest(CycleVectors<T>& vectors) const;

  const LamgHierarchy<T>* hierarchy_;
  CycleOptions options_;
};

extern template struct CycleVectors<float>;
extern template struct CycleVectors<double>;
extern template class LamgCycle<float>;
extern template class LamgCycle<double>;

}  // namespace echelon::lamg
