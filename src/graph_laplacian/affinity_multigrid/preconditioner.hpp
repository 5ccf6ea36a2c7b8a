// SPDX-License-Identifier: BSD-3-Clause
/// Cycles of a hierarchy as a preconditioner of vectors of T, in the precision of H.
#pragma once

#include "backend/columns.hpp"
#include "graph_laplacian/affinity_multigrid/hierarchy.hpp"
#include "graph_laplacian/inverse_diagonal.hpp"
#include "multigrid/cycle_operator.hpp"

#include <echelon/methods/multigrid/hierarchy.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace echelon::affinity_multigrid {

/// An operator M on vectors of T, in whichever precision it is computed.
template <class B, class T>
class AffinityPreconditioner {
 public:
  AffinityPreconditioner() = default;
  AffinityPreconditioner(const AffinityPreconditioner&) = delete;
  AffinityPreconditioner& operator=(const AffinityPreconditioner&) = delete;
  virtual ~AffinityPreconditioner() = default;
  [[nodiscard]] virtual std::unique_ptr<Workspace> make_workspace() const = 0;
  /// z = M r for each column, with the bits that it has alone. The workspace serves any number of columns.
  virtual void apply(B& backend, Workspace& workspace, const MultiVector<const T>& r,
                     const MultiVector<T>& z) const = 0;
  /// The elements of M if it is a diagonal matrix, otherwise null.
  [[nodiscard]] virtual const T* diagonal() const { return nullptr; }
  [[nodiscard]] virtual std::size_t bytes() const = 0;
  /// Matrix of a level, if it keeps one.
  [[nodiscard]] virtual std::optional<Csr<T>> level_matrix(std::size_t level) const = 0;
  /// Levels in float of an M that rounds to it, or in T of another one, whose aggregates a later set-up may
  /// take; null if there are none.
  [[nodiscard]] virtual ParallelHierarchy<B, float>* rounded_levels() { return nullptr; }
  [[nodiscard]] virtual ParallelHierarchy<B, T>* working_levels() { return nullptr; }
  /// Appends the levels to a description, and says why coarsening ended.
  virtual void describe(HierarchyDescription& description) const = 0;
  /// Number of steps of an iteration without progress after which it is considered to have stagnated.
  [[nodiscard]] virtual int idle_steps() const = 0;
};

using graph_laplacian::ScaledElement;

/// z = D^-1 r.
template <class T>
struct DivideByDiagonal {
  ScaledElement<T> scaled;
  T* z;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { z[i] = scaled[i]; }
};

/// Preconditioner by the diagonal of A alone, without levels.
template <class B, class T>
class DiagonalPreconditioner final : public AffinityPreconditioner<B, T> {
  struct Nothing final : Workspace {
    [[nodiscard]] std::size_t bytes() const override { return 0; }
  };

 public:
  /// A has to outlive the preconditioner.
  DiagonalPreconditioner(B& backend, const Csr<T>& A) : A_(&A), inverse_(backend.device(), A.rows()) {
    affinity_multigrid::invert_diagonal(backend, A, inverse_.data());
  }
  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<Nothing>();
  }
  void apply(B& backend, Workspace& /*workspace*/, const MultiVector<const T>& r,
             const MultiVector<T>& z) const override {
    for_each_column(backend, inverse_.size(), r.columns(), [&](int c) {
      return DivideByDiagonal<T>{{inverse_.data(), r[c]}, z[c]};
    });
  }
  [[nodiscard]] const T* diagonal() const override { return inverse_.data(); }
  [[nodiscard]] std::size_t bytes() const override { return inverse_.bytes(); }
  void describe(HierarchyDescription& description) const override {
    description.levels.push_back({.rows = inverse_.size(),
                                  .nonzeros = A_->nonzeros(),
                                  .prolongation_nonzeros = 0,
                                  .method = "diagonal",
                                  .seconds = 0,
                                  .bytes = bytes()});
    description.end = "conjugate gradients with the diagonal converge fast";
  }
  [[nodiscard]] std::optional<Csr<T>> level_matrix(std::size_t level) const override {
    return level == 0 ? std::optional<Csr<T>>(*A_) : std::nullopt;
  }
  /// Residuals of conjugate gradients may increase for many steps.
  [[nodiscard]] int idle_steps() const override { return 1000; }

 private:
  const Csr<T>* A_;
  Array<T> inverse_;
};

/// Preconditioner with a hierarchy of H, which is T or float.
template <class B, class T, class H>
class PreconditionerIn final : public AffinityPreconditioner<B, T> {
  static constexpr bool rounds = !std::is_same_v<T, H>;

  using Cycle = multigrid::Cycle<B, H>;
  struct Vectors final : Workspace {
    [[nodiscard]] std::size_t bytes() const override { return r.bytes() + z.bytes() + cycle->bytes(); }
    MultiVectorArray<H> r, z;
    MultiVectorArray<FloatScale> scales;  ///< one row
    std::unique_ptr<typename Cycle::Scratch> cycle;
  };

 public:
  /// Sets up for the Laplacian A, whose pattern has to stay. Takes the aggregates of `previous`, unless it is
  /// null, as ParallelHierarchy does. Waits.
  PreconditionerIn(B& backend, const Csr<T>& A, const HierarchyOptions& options, const SetupControl& control,
                   ParallelHierarchy<B, H>* previous = nullptr)
      : device_(backend.device()), n_(A.rows()) {
    hierarchy_ =
        std::make_unique<ParallelHierarchy<B, H>>(backend, matrix(backend, A), options, control, previous);
    cycle_ = hierarchy_->make_cycle(backend);
  }

  [[nodiscard]] const ParallelHierarchy<B, H>& hierarchy() const { return *hierarchy_; }
  [[nodiscard]] ParallelHierarchy<B, float>* rounded_levels() override {
    if constexpr (rounds) return hierarchy_.get();
    return nullptr;
  }
  [[nodiscard]] ParallelHierarchy<B, T>* working_levels() override {
    if constexpr (!rounds) return hierarchy_.get();
    return nullptr;
  }
  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    auto vectors = std::make_unique<Vectors>();
    if constexpr (rounds) {
      vectors->r = MultiVectorArray<H>(device_, n_);
      vectors->z = MultiVectorArray<H>(device_, n_);
      vectors->scales = MultiVectorArray<FloatScale>(device_, 1);
    }
    vectors->cycle = cycle_->make_scratch(device_);
    return vectors;
  }
  void apply(B& backend, Workspace& workspace, const MultiVector<const T>& r,
             const MultiVector<T>& z) const override {
    auto& own = static_cast<Vectors&>(workspace);
    if constexpr (rounds) {
      apply_rounded(backend, own, r, z);
    } else {
      cycle_->apply(backend, *own.cycle, r, z);
    }
  }
  [[nodiscard]] std::size_t bytes() const override { return hierarchy_->bytes() + cycle_->bytes(); }

  void describe(HierarchyDescription& description) const override {
    const std::string smoother = device_.on_host() ? "jacobi" : "chebyshev";
    const auto& levels = hierarchy_->levels();
    for (std::size_t l = 0; l < levels.size(); ++l) {
      const bool coarsest = l + 1 == levels.size();
      description.levels.push_back({.rows = levels[l].rows(),
                                    .nonzeros = hierarchy_->nonzeros(l),
                                    .prolongation_nonzeros = levels[l].P.nonzeros(),
                                    .method = coarsest                     ? cycle_->coarse_solver().name()
                                              : levels[l].is_elimination() ? "elimination"
                                                                           : smoother,
                                    .seconds = levels[l].seconds,
                                    .bytes = levels[l].bytes() + cycle_->level_bytes(l)});
    }
    description.end = hierarchy_->end();
  }
  [[nodiscard]] std::optional<Csr<T>> level_matrix(std::size_t level) const override {
    const auto& levels = hierarchy_->levels();
    if (level >= levels.size() || levels[level].is_elimination()) return {};
    const Csr<H>& A = levels[level].own;
    std::vector<T> values;
    for (const H value : A.values().to_vector()) values.push_back(static_cast<T>(value / matrix_factor_));
    return Csr<T>::unchecked(A.rows(), A.columns(), A.row_offsets(), A.column_indices(),
                             Array<T>(device_, std::span<const T>(values)));
  }
  [[nodiscard]] int idle_steps() const override { return 20; }

 private:
  /// Applies the cycle to each r scaled and rounded to float.
  void apply_rounded(B& backend, Vectors& own, const MultiVector<const T>& r, const MultiVector<T>& z) const {
    const int columns = r.columns();
    for (MultiVectorArray<H>* vectors : {&own.r, &own.z}) vectors->make_room(columns);
    own.scales.make_room(columns);
    const MultiVector<H> rounded = own.r.first(columns);
    const WidenedVectors<T> result{own.z.first(columns), own.scales.first(columns), matrix_factor_};
    const MultiVector<FloatScale> scales = own.scales.first(columns);
    reduce_columns(
        backend, n_, columns, [&](int c) { return LargestMagnitude<const T*>{r[c]}; },
        [&](int c) { return StoreScale{scales[c]}; });
    for_each_column(backend, n_, columns, [&](int c) { return RoundVector<T>{scales[c], r[c], rounded[c]}; });
    cycle_->apply(backend, *own.cycle, rounded, own.z.first(columns));
    for_each_column(backend, n_, columns, [&](int c) {
      return StoreVector<T, WidenedVector<T>>{result[c], z[c]};
    });
  }

  /// Matrix of the finest level, with the pattern of A: its values, or these rounded and scaled by a power of
  /// two.
  Csr<H> matrix(B& backend, const Csr<T>& A) {
    if constexpr (rounds) {
      Array<FloatScale> scale(device_, 1);
      backend.reduce(A.nonzeros(), LargestMagnitude<const T*>{A.values().data()}, StoreScale{scale.data()});
      matrix_factor_ = backend.read(scale.data()).factor;
      return multigrid::rounded(backend, A, scale.data());
    } else {
      return CsrAccess::with_pattern_of(
          A, Array<T>::borrow(device_, const_cast<T*>(A.values().data()), A.nonzeros()));
    }
  }

  Device device_;
  std::int64_t n_;
  double matrix_factor_ = 1;
  std::unique_ptr<ParallelHierarchy<B, H>> hierarchy_;
  std::unique_ptr<Cycle> cycle_;
};

/// Largest and smallest magnitude of the nonzero elements.
struct MagnitudeRange {
  double largest = 0;
  double smallest = 1.7e308;
  friend ECHELON_ANYWHERE MagnitudeRange combine(const MagnitudeRange& a, const MagnitudeRange& b) {
    return {a.largest > b.largest ? a.largest : b.largest, a.smallest < b.smallest ? a.smallest : b.smallest};
  }
};
template <class T>
struct RangeOfElement {
  const T* values;
  ECHELON_ANYWHERE MagnitudeRange operator()(std::int64_t k) const {
    const double magnitude = std::fabs(static_cast<double>(values[k]));
    if (magnitude == 0) return {};
    return {magnitude, magnitude};
  }
};

/// Makes the preconditioner: in float, unless the weights differ by so many decades that the differences
/// between vertices with heavy edges would be lost in float. Takes the aggregates of `previous`, which may be
/// null, if that has the same precision. Waits.
template <class B, class T>
std::unique_ptr<AffinityPreconditioner<B, T>> make_preconditioner(B& backend, const Csr<T>& A,
                                                                  const HierarchyOptions& options,
                                                                  const SetupControl& control,
                                                                  AffinityPreconditioner<B, T>* previous) {
  constexpr double float_range = 1e8;
  if constexpr (std::is_same_v<T, double>) {
    Array<MagnitudeRange> found(backend.device(), 1);
    backend.reduce(A.nonzeros(), RangeOfElement<T>{A.values().data()}, Store<MagnitudeRange>{found.data()});
    const MagnitudeRange range = backend.read(found.data());
    if (!(range.largest > float_range * range.smallest)) {
      return std::make_unique<PreconditionerIn<B, T, float>>(
          backend, A, options, control, previous != nullptr ? previous->rounded_levels() : nullptr);
    }
  }
  return std::make_unique<PreconditionerIn<B, T, T>>(
      backend, A, options, control, previous != nullptr ? previous->working_levels() : nullptr);
}

}  // namespace echelon::affinity_multigrid
