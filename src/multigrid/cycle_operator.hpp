// SPDX-License-Identifier: BSD-3-Clause
/// Cycles as operators on vectors of T, computed in T or in float.
#pragma once

#include "linalg/vector/float_vector.hpp"
#include "matrix/row_blocks.hpp"
#include "multigrid/cycle.hpp"
#include "multigrid/smoothers/chebyshev.hpp"
#include "multigrid/smoothers/jacobi.hpp"
#include "multigrid/smoothers/nested.hpp"
#include "multigrid/smoothers/sweeps.hpp"

#include <cmath>
#include <limits>
#include <utility>

namespace echelon::multigrid {

/// Makes the smoother for a level; null, with the reason in `why`, if its set-up fails.
template <class B, class T>
std::unique_ptr<Smoother<B, T>> make_smoother(B& backend, const AmgOptions& options, SmootherKind kind,
                                              const Csr<T>& A, bool symmetric, std::string& why) {
  const Device& device = backend.device();
  switch (kind) {
    case SmootherKind::automatic:
    case SmootherKind::jacobi:
      return make_jacobi(backend, A, options.sweeps, options.weight, symmetric);
    case SmootherKind::l1_jacobi:
      return make_l1_jacobi(backend, A, options.sweeps);
    case SmootherKind::chebyshev:
      return std::make_unique<ChebyshevSmoother<B, T>>(backend, A, options.degree, symmetric);
    case SmootherKind::gauss_seidel:
      return std::make_unique<SweepSmoother<B, T>>(device, A, false, options.sweeps, 1.0);
    case SmootherKind::symmetric_gauss_seidel:
      return std::make_unique<SweepSmoother<B, T>>(device, A, true, options.sweeps, options.omega);
    case SmootherKind::ilu0:
    case SmootherKind::ic0:
      break;
  }
  Solver<T> solver = make_solver<T>(kind == SmootherKind::ic0 ? "ic0" : "ilu0", device);
  const Report report = solver.setup(A);
  if (!report.ready()) {
    why = report.message;
    return nullptr;
  }
  return std::make_unique<NestedSmoother<B, T>>(A, std::move(solver), options.sweeps);
}

/// Makes a cycle over `levels`; null, with the reason, if a smoother or the coarse solver cannot be set up.
/// The coarsest matrix is `exact` times `scale`. Waits.
template <class B, class T, class Exact>
std::unique_ptr<Cycle<B, T>> make_cycle(B& backend, const AmgOptions& options, SmootherKind smoother,
                                        const std::vector<HierarchyLevel<T>>& levels,
                                        const CoarsestMatrix<Exact>& exact, double scale, std::string& why) {
  const bool symmetric = exact.symmetric;
  std::vector<typename Cycle<B, T>::Level> smoothed;
  for (std::size_t l = 0; l < levels.size(); ++l) {
    const bool coarsest = l + 1 == levels.size();
    smoothed.push_back({&levels[l], nullptr});
    if (coarsest) break;
    smoothed.back().smoother = make_smoother(backend, options, smoother, *levels[l].A, symmetric, why);
    if (!smoothed.back().smoother) {
      why = "the smoother of level " + std::to_string(l) + ": " + why;
      return nullptr;
    }
  }
  const Csr<T>& coarsest = *levels.back().A;
  auto coarse = make_coarse_solver<B, T>(backend, coarsest, exact, scale, [&] {
    return make_jacobi(backend, coarsest, options.sweeps, {}, symmetric);
  });
  if (!coarse) {
    why = "the coarsest matrix has elements that are not finite";
    return nullptr;
  }
  return std::make_unique<Cycle<B, T>>(options.cycle, std::move(smoothed), std::move(coarse));
}

/// Interface of a cycle z = M r on vectors of T, in whichever precision it is computed.
template <class B, class T>
class CycleOperator {
 public:
  CycleOperator() = default;
  CycleOperator(const CycleOperator&) = delete;
  CycleOperator& operator=(const CycleOperator&) = delete;
  virtual ~CycleOperator() = default;
  [[nodiscard]] virtual std::unique_ptr<Workspace> make_workspace() const = 0;
  /// Applies the cycle to each column. The workspace serves any number of columns.
  virtual void apply(B& backend, Workspace& workspace, const MultiVector<const T>& r,
                     const MultiVector<T>& z) const = 0;
  /// Bytes held by smoothers, the coarse solver and copies of matrices.
  [[nodiscard]] virtual std::size_t bytes() const = 0;
  [[nodiscard]] virtual std::size_t level_bytes(std::size_t level) const = 0;
  /// The matrix of a level as the cycle has it, in the precision of T.
  [[nodiscard]] virtual Csr<T> level_matrix(B& backend, std::size_t level) const = 0;
  [[nodiscard]] virtual std::string coarse_solver() const = 0;
  [[nodiscard]] virtual std::int64_t null_space() const = 0;
};

template <class B, class T>
class WorkingCycle final : public CycleOperator<B, T> {
 public:
  WorkingCycle(const Device& device, std::unique_ptr<Cycle<B, T>> cycle)
      : device_(device), cycle_(std::move(cycle)) {}
  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return cycle_->make_scratch(device_);
  }
  void apply(B& backend, Workspace& workspace, const MultiVector<const T>& r,
             const MultiVector<T>& z) const override {
    cycle_->apply(backend, static_cast<typename Cycle<B, T>::Scratch&>(workspace), r, z);
  }
  [[nodiscard]] std::size_t bytes() const override { return cycle_->bytes(); }
  [[nodiscard]] std::size_t level_bytes(std::size_t level) const override {
    return cycle_->level_bytes(level);
  }
  [[nodiscard]] Csr<T> level_matrix(B& /*backend*/, std::size_t level) const override {
    return cycle_->level_matrix(level);
  }
  [[nodiscard]] std::string coarse_solver() const override { return cycle_->coarse_solver().name(); }
  [[nodiscard]] std::int64_t null_space() const override { return cycle_->coarse_solver().null_space(); }

 private:
  Device device_;
  std::unique_ptr<Cycle<B, T>> cycle_;
};

/// to = from / divisor.
template <class T>
struct DivideElements {
  double divisor;
  const float* from;
  T* to;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    to[i] = static_cast<T>(static_cast<double>(from[i]) / divisor);
  }
};
/// Makes the copy of A in float, times a factor.
template <class B, class T>
Csr<float> rounded(B& backend, const Csr<T>& A, const FloatScale* scale) {
  Array<float> values(A.device(), A.nonzeros());
  backend.for_each(A.nonzeros(), RoundVector<T>{scale, A.values().data(), values.data()});
  return CsrAccess::with_pattern_of(A, std::move(values));
}

/// Cycle in float. Its matrices are those of the hierarchy, rounded, rather than products of rounded ones:
/// every level has the same relative accuracy. A is scaled by a power of two, and every vector so that its
/// largest element is about 1, which keeps all values within the range of float.
template <class B, class T>
class SingleCycle final : public CycleOperator<B, T> {
  using Scratch = typename Cycle<B, float>::Scratch;
  struct Rounded final : Workspace {
    Rounded(const Device& device, std::int64_t n, std::unique_ptr<Scratch> scratch)
        : r(device, n), z(device, n), scales(device, 1), cycle(std::move(scratch)) {}
    [[nodiscard]] std::size_t bytes() const override { return r.bytes() + z.bytes() + cycle->bytes(); }
    void make_room(int columns) {
      for (MultiVectorArray<float>* vectors : {&r, &z}) vectors->make_room(columns);
      scales.make_room(columns);
    }
    MultiVectorArray<float> r, z;
    MultiVectorArray<FloatScale> scales;  ///< one row
    std::unique_ptr<Scratch> cycle;
  };

 public:
  /// Rounds the levels, and calls rounded_level(l) after each level l but the coarsest. `largest` is the
  /// largest magnitude in the finest matrix.
  template <class F>
  SingleCycle(B& backend, const std::vector<HierarchyLevel<T>>& levels, Largest largest, F rounded_level)
      : device_(backend.device()) {
    FloatScale own;
    StoreScale{&own}(largest);
    matrix_factor_ = own.factor;
    Array<FloatScale> scale(device_, 2);
    FloatScale* const unit = scale.data() + 1;
    backend.write(own, scale.data());
    backend.write(FloatScale{}, unit);
    levels_.resize(levels.size());
    for (std::size_t l = 0; l < levels.size(); ++l) {
      levels_[l].own = rounded(backend, *levels[l].A, scale.data());
      levels_[l].A = &levels_[l].own;
      if (l + 1 == levels.size()) break;
      levels_[l].P = rounded(backend, levels[l].P, unit);
      levels_[l].R = rounded(backend, levels[l].R, unit);
      rounded_level(l);
    }
  }
  /// Sets the cycle up; false, with the reason, if that fails.
  bool make(B& backend, const AmgOptions& options, SmootherKind smoother, const CoarsestMatrix<T>& coarsest,
            std::string& why) {
    cycle_ = make_cycle<B, float>(backend, options, smoother, levels_, coarsest, matrix_factor_, why);
    return cycle_ != nullptr;
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<Rounded>(device_, levels_.front().own.rows(), cycle_->make_scratch(device_));
  }
  void apply(B& backend, Workspace& workspace, const MultiVector<const T>& r,
             const MultiVector<T>& z) const override {
    const WidenedVectors<T> widened = apply_in_float(backend, workspace, r, {});
    for (int c = 0; c < z.columns(); ++c) {
      backend.for_each(z.rows(), StoreVector<T, WidenedVector<T>>{widened[c], z[c]});
    }
  }
  /// Implements SolverImplementation::apply_in_float().
  WidenedVectors<T> apply_in_float(B& backend, Workspace& workspace, const MultiVector<const T>& r,
                                   const MultiVector<const double>& norms) const {
    auto& v = static_cast<Rounded&>(workspace);
    v.make_room(r.columns());
    const MultiVector<float> rounded = v.r.first(r.columns());
    const MultiVector<float> z = v.z.first(r.columns());
    const MultiVector<FloatScale> scales = v.scales.first(r.columns());
    for (int c = 0; c < r.columns(); ++c) {
      if (norms.columns() > 0) {
        backend.for_each(1, ScaleByNorm{norms[c], scales[c]});
      } else {
        backend.reduce(r.rows(), LargestMagnitude<const T*>{r[c]}, StoreScale{scales[c]});
      }
      backend.for_each(r.rows(), RoundVector<T>{scales[c], r[c], rounded[c]});
    }
    cycle_->apply(backend, *v.cycle, rounded, z);
    return {z, scales, matrix_factor_};
  }
  [[nodiscard]] std::size_t bytes() const override {
    std::size_t bytes = cycle_->bytes();
    for (const HierarchyLevel<float>& level : levels_) bytes += level.bytes();
    return bytes;
  }
  [[nodiscard]] std::size_t level_bytes(std::size_t level) const override {
    return cycle_->level_bytes(level) + levels_[level].bytes();
  }
  [[nodiscard]] Csr<T> level_matrix(B& backend, std::size_t level) const override {
    const Csr<float>& A = levels_[level].own;
    Array<T> values(device_, A.nonzeros());
    backend.for_each(A.nonzeros(), DivideElements<T>{matrix_factor_, A.values().data(), values.data()});
    return Csr<T>::unchecked(A.rows(), A.columns(), A.row_offsets(), A.column_indices(), std::move(values));
  }
  [[nodiscard]] std::string coarse_solver() const override { return cycle_->coarse_solver().name(); }
  [[nodiscard]] std::int64_t null_space() const override { return cycle_->coarse_solver().null_space(); }

 private:
  Device device_;
  double matrix_factor_ = 1;
  std::vector<HierarchyLevel<float>> levels_;
  std::unique_ptr<Cycle<B, float>> cycle_;
};

}  // namespace echelon::multigrid
