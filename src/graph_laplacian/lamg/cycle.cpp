// SPDX-License-Identifier: BSD-3-Clause
#include "graph_laplacian/lamg/cycle.hpp"

#include <algorithm>
#include <cmath>

namespace echelon::lamg {

namespace {

/// Does a forward Gauss-Seidel sweep and updates the residual. The increments e solve the lower triangular
/// system (D - W_lower) e = r and leave the residual W_upper e, which lower vertices receive through the
/// edges that the sweep reads: one half of the matrix is enough.
template <class T>
void sweep(const LowerTriangle<T>& A, T* x, Cell<T>* cells) {
  for (std::int32_t i = 0; i < A.n; ++i) {
    const std::int32_t begin = A.offsets[i];
    const std::int32_t end = A.offsets[i + 1];
    T sum = cells[i].residual;
    for (std::int32_t k = begin; k < end; ++k) sum += A.weights[k] * cells[A.neighbours[k]].step;
    const T step = sum * A.inverse[i];
    cells[i] = {0, step};
    x[i] += step;
    for (std::int32_t k = begin; k < end; ++k) cells[A.neighbours[k]].residual += A.weights[k] * step;
  }
}

/// Adds P c to x for the aggregates' corrections c, and updates the residual.
template <class T>
void add_correction(const Level<T>& level, const T* correction, T* x, Cell<T>* cells) {
  const LowerTriangle<T>& A = level.matrix;
  const Interpolation<T>& P = level.interpolation;
  for (std::int32_t i = 0; i < A.n; ++i) {
    T step = correction[level.aggregate[i]];
    if (!P.empty()) step += P.share[i] * (correction[P.second[i]] - step);
    T residual = cells[i].residual;
    for (std::int32_t k = A.offsets[i]; k < A.offsets[i + 1]; ++k) {
      Cell<T>& other = cells[A.neighbours[k]];
      const T flow = A.weights[k] * (step - other.step);
      residual -= flow;
      other.residual += flow;
    }
    cells[i] = {residual, step};
    x[i] += step;
  }
}

/// Adds P^T r to b.
template <class T>
void restrict_residual(const Level<T>& level, const Cell<T>* cells, T* b) {
  const Interpolation<T>& P = level.interpolation;
  for (std::int32_t i = 0; i < level.matrix.n; ++i) {
    const T second = P.empty() ? T{0} : P.share[i] * cells[i].residual;
    b[level.aggregate[i]] += cells[i].residual - second;
    if (second != 0) b[P.second[i]] += second;
  }
}

template <class T>
double residual_norm(const Vector<Cell<T>>& cells) {
  double sum = 0;
  for (const Cell<T>& cell : cells)
    sum += static_cast<double>(cell.residual) * static_cast<double>(cell.residual);
  return std::sqrt(sum);
}

}  // namespace

template <class T>
CycleVectors<T>::CycleVectors(const LamgHierarchy<T>& hierarchy, const CycleOptions& options)
    : levels(hierarchy.levels.size()), visits(hierarchy.levels.size()) {
  for (std::size_t l = 0; l < levels.size(); ++l) {
    const Level<T>& level = hierarchy.levels[l];
    const auto n = static_cast<std::size_t>(level.matrix.n);
    OfLevel& own = levels[l];
    own.x.resize(n);
    own.cells.resize(n);
    own.fine_b.resize(static_cast<std::size_t>(level.elimination.fine));
    own.fine_x.resize(own.fine_b.size());
    const std::size_t iterates = std::min<std::size_t>(options.combined_iterates, l == 0 ? 4 : 2);
    own.iterates = Recombination<T>(level.matrix.n, iterates);
  }
}

template <class T>
std::size_t CycleVectors<T>::bytes() const {
  std::size_t bytes = 0;
  for (const OfLevel& level : levels) {
    bytes += sizeof(T) * (level.x.size() + 2 * level.cells.size() + 2 * level.fine_b.size()) +
             level.iterates.bytes();
  }
  return bytes;
}

template <class T>
void LamgCycle<T>::start(CycleVectors<T>& vectors, const T* b) const {
  auto& finest = vectors.levels.front();
  const Vector<std::int32_t>& order = hierarchy_->order;
  for (std::size_t i = 0; i < finest.fine_b.size(); ++i)
    finest.fine_b[i] = b[order.empty() ? i : index(order[i])];
  hierarchy_->levels.front().elimination.restrict_to(finest.fine_b.data(), finest.x.data());
  for (std::size_t i = 0; i < finest.x.size(); ++i) finest.cells[i] = {finest.x[i], 0};
  std::fill(finest.x.begin(), finest.x.end(), T{0});
  finest.iterates.clear();
}

template <class T>
double LamgCycle<T>::step(CycleVectors<T>& vectors) const {
  auto& finest = vectors.levels.front();
  const std::size_t coarsest = hierarchy_->levels.size() - 1;
  if (options_.combined_iterates > 0) finest.iterates.save(finest.x.data(), finest.cells.data());
  vectors.visits.start();
  if (coarsest == 0) {
    solve_coarsest(vectors);
  } else {
    visit_levels(vectors, coarsest);
  }
  finest.iterates.minimise(finest.x.data(), finest.cells.data());
  return residual_norm(finest.cells);
}

template <class T>
void LamgCycle<T>::visit_levels(CycleVectors<T>& vectors, std::size_t coarsest) const {
  for (std::size_t l = 0;;) {
    if (l == coarsest) {
      solve_coarsest(vectors);
      ascend(vectors, --l);
    } else if (vectors.visits.descend(l, l == 0 ? 1 : hierarchy_->levels[l - 1].cycle_index)) {
      descend(vectors, l++);
    } else if (l == 0) {
      return;
    } else {
      ascend(vectors, --l);
    }
  }
}

template <class T>
void LamgCycle<T>::finish(CycleVectors<T>& vectors, T* x) const {
  auto& finest = vectors.levels.front();
  const Vector<std::int32_t>& order = hierarchy_->order;
  T* const own = order.empty() ? x : finest.fine_x.data();
  hierarchy_->levels.front().elimination.prolong(finest.x.data(), finest.fine_b.data(), own);
  for (std::size_t i = 0; i < order.size(); ++i) x[index(order[i])] = own[i];
}

/// Smooths level l and computes the right-hand side of the next coarser level.
template <class T>
void LamgCycle<T>::descend(CycleVectors<T>& vectors, std::size_t l) const {
  const Level<T>& level = hierarchy_->levels[l];
  auto& own = vectors.levels[l];
  auto& next = vectors.levels[l + 1];
  for (int s = 0; s < options_.pre_sweeps; ++s) sweep(level.matrix, own.x.data(), own.cells.data());
  if (l > 0 && options_.combined_iterates > 0) own.iterates.save(own.x.data(), own.cells.data());
  std::fill(next.fine_b.begin(), next.fine_b.end(), T{0});
  restrict_residual(level, own.cells.data(), next.fine_b.data());
  hierarchy_->levels[l + 1].elimination.restrict_to(next.fine_b.data(), next.x.data());
  for (std::size_t i = 0; i < next.x.size(); ++i) next.cells[i] = {next.x[i], 0};
  std::fill(next.x.begin(), next.x.end(), T{0});
  next.iterates.clear();
}

/// Corrects level l by the solution of the next coarser level and smooths it.
template <class T>
void LamgCycle<T>::ascend(CycleVectors<T>& vectors, std::size_t l) const {
  const Level<T>& level = hierarchy_->levels[l];
  auto& own = vectors.levels[l];
  auto& next = vectors.levels[l + 1];
  next.iterates.minimise(next.x.data(), next.cells.data());
  hierarchy_->levels[l + 1].elimination.prolong(next.x.data(), next.fine_b.data(), next.fine_x.data());
  add_correction(level, next.fine_x.data(), own.x.data(), own.cells.data());
  for (int s = 0; s < options_.post_sweeps; ++s) sweep(level.matrix, own.x.data(), own.cells.data());
}

template <class T>
void LamgCycle<T>::solve_coarsest(CycleVectors<T>& vectors) const {
  const Level<T>& level = hierarchy_->levels.back();
  auto& own = vectors.levels.back();
  if (!hierarchy_->direct) {
    for (int s = 0; s < 10; ++s) sweep(level.matrix, own.x.data(), own.cells.data());
    return;
  }
  // If the finest level is also the coarsest, x holds the result of earlier cycles.
  Vector<Cell<T>>& cells = own.cells;
  for (std::size_t i = 0; i < cells.size(); ++i) own.fine_x[i] = cells[i].residual;
  hierarchy_->coarsest.solve(own.fine_x.data());
  for (std::size_t i = 0; i < cells.size(); ++i) own.x[i] += own.fine_x[i];
  if (vectors.levels.size() > 1) return;  // nothing reads the residual
  for (Cell<T>& cell : cells) cell.step = 0;
  for (std::int32_t i = 0; i < level.matrix.n; ++i) {
    const T step = own.fine_x[static_cast<std::size_t>(i)];
    T residual = cells[static_cast<std::size_t>(i)].residual;
    for (std::int32_t k = level.matrix.offsets[i]; k < level.matrix.offsets[i + 1]; ++k) {
      Cell<T>& other = cells[static_cast<std::size_t>(level.matrix.neighbours[k])];
      const T flow = level.matrix.weights[k] * (step - other.step);
      residual -= flow;
      other.residual += flow;
    }
    cells[static_cast<std::size_t>(i)] = {residual, step};
  }
}

template struct CycleVectors<float>;
template struct CycleVectors<double>;
template class LamgCycle<float>;
template class LamgCycle<double>;

}  // namespace echelon::lamg
