// SPDX-License-Identifier: BSD-3-Clause
/// LU factorisation of band matrices, by the nodes of a plan, on any backend.
#pragma once

#include "backend/backend.hpp"
#include "backend/store.hpp"
#include "linalg/vector/functors.hpp"
#include "sparse_direct/banded/nodes.hpp"
#include "sparse_direct/banded/partition_rule.hpp"
#include "support/scalar.hpp"

#include <echelon/array.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace echelon::banded {

/// Facts about the factors of a matrix.
struct BandFacts {
  double largest = 0;           ///< magnitude of the largest element of U; NaN if there is one
  FirstIndex zero_column = {};  ///< the first column of A without a pivot
  friend ECHELON_ANYWHERE BandFacts combine(BandFacts a, BandFacts b) {
    return {combine(Largest{a.largest}, Largest{b.largest}).value, combine(a.zero_column, b.zero_column)};
  }
};

/// Facts of node i.
struct FactsOfNode {
  const NodeFacts* nodes;
  ECHELON_ANYWHERE BandFacts operator()(std::int64_t i) const {
    return {nodes[i].largest, {nodes[i].zero_column < 0 ? FirstIndex::none : nodes[i].zero_column}};
  }
};

/// Smallest and largest magnitudes of the reciprocals of pivots.
struct ReciprocalPivots {
  double smallest = std::numeric_limits<double>::infinity();
  double largest = 0;
  friend ECHELON_ANYWHERE ReciprocalPivots combine(ReciprocalPivots a, ReciprocalPivots b) {
    return {a.smallest < b.smallest ? a.smallest : b.smallest, a.largest > b.largest ? a.largest : b.largest};
  }
};

/// Those of node i.
template <class T>
struct ReciprocalPivotsOfNode {
  const BandNode* nodes;
  const T* upper;
  ECHELON_ANYWHERE ReciprocalPivots operator()(std::int64_t i) const {
    const BandNode& node = nodes[i];
    ReciprocalPivots range;
    for (std::int64_t step = 0; step < node.steps; ++step) {
      const auto reciprocal = static_cast<double>(magnitude(upper[node.upper_offset + step * node.width()]));
      range = combine(range, {reciprocal, reciprocal});
    }
    return range;
  }
};

/// Scratch memory of substitutions with a factorisation, for `columns` right-hand sides at once.
template <class T>
struct SubstitutionWorkspace {
  Array<T> reduced;
  Array<T> sums;
  std::int64_t columns = 0;
  [[nodiscard]] std::size_t bytes() const { return reduced.bytes() + sums.bytes(); }
};

template <class B, class T>
class BandFactorizationOn {
 public:
  explicit BandFactorizationOn(const Device& device) : device_(device) {}
  BandFactorizationOn(const BandFactorizationOn&) = delete;
  BandFactorizationOn& operator=(const BandFactorizationOn&) = delete;

  /// Allocates memory for matrices of this shape, in `partitions` partitions; 0: a number that suits the
  /// device. Keeps the memory of the last call if the shape is the same.
  void prepare(const BandShape& shape, std::int64_t partitions) {
    if (shape == shape_ && partitions == partitions_ && nodes_.size() > 0) return;
    shape_ = shape;
    partitions_ = partitions;
    plan_ = make_band_plan(shape.n, shape.lower, shape.upper, rule_for(shape, partitions));
    release();
    const std::int64_t count = shape.count;
    nodes_ = Array<BandNode>(device_, std::span<const BandNode>(plan_.nodes));
    pivots_ = Array<std::int32_t>(device_, plan_.n * count);
    kept_ = Array<std::int32_t>(device_, plan_.block_rows * count);
    lower_ = Array<T>(device_, plan_.lower_size * count + vector_padding);
    upper_ = Array<T>(device_, plan_.upper_size * count);
    blocks_ = Array<T>(device_, plan_.block_rows * 2 * plan_.interface() * count);
    node_facts_ = Array<NodeFacts>(device_, nodes_.size() * count);
    offsets_ = Array<std::int64_t>(device_, count + 1);
    facts_ = Array<BandFacts>(device_, count);
    set_batch();
  }

  /// Memory of the factors of a matrix of this shape, in as many partitions as prepare() makes.
  [[nodiscard]] std::size_t bytes_for(const BandShape& shape, std::int64_t partitions) const {
    return factor_bytes(make_band_plan(shape.n, shape.lower, shape.upper, rule_for(shape, partitions)),
                        sizeof(T));
  }

  /// Factors A, of the shape prepared for. Queued; does not wait. The factors are unusable after a cancel.
  void factor(B& backend, const BandMatrices<T>& A, const SetupControl& control = {}) {
    FactorBatch<T> batch = batch_;
    batch.control = {&control, plan_.n};
    for (std::int64_t level = 0; level < plan_.levels(); ++level) eliminate_nodes(backend, batch, A, level);
    backend.for_each(shape_.count + 1, Multiples{nodes_.size(), offsets_.data()});
    backend.segmented_reduce(shape_.count, offsets_.data(), FactsOfNode{node_facts_.data()}, facts_.data());
  }

  /// Facts of each matrix, in the device's memory.
  [[nodiscard]] const BandFacts* facts() const { return facts_.data(); }
  [[nodiscard]] const BandPlan& plan() const { return plan_; }
  [[nodiscard]] const BandShape& shape() const { return shape_; }

  /// Workspace for up to `columns` right-hand sides of each matrix at once; if `transposed`, also for one
  /// system with the transpose of the first matrix.
  [[nodiscard]] SubstitutionWorkspace<T> make_workspace(std::int64_t columns, bool transposed) const {
    SubstitutionWorkspace<T> workspace;
    workspace.columns = columns;
    workspace.reduced = Array<T>(device_, plan_.block_rows * shape_.count * columns);
    if (transposed) workspace.sums = Array<T>(device_, nodes_.size() * 2 * plan_.interface());
    return workspace;
  }

  /// Replaces `rhs.columns` right-hand sides of each matrix by the solutions, as many at once as the
  /// workspace holds. Queued; does not wait.
  void solve(B& backend, SubstitutionWorkspace<T>& workspace, RhsBatch<T> rhs) const {
    const std::int64_t columns = rhs.columns;
    rhs.reduced = workspace.reduced.data();
    rhs.block_rows = plan_.block_rows;
    for (std::int64_t first = 0; first < columns; first += workspace.columns) {
      rhs.columns = std::min(workspace.columns, columns - first);
      substitute(backend, SubstitutionPass::forward, SubstitutionPass::backward, rhs);
      rhs.b += rhs.columns * rhs.b_leading;
      rhs.x += rhs.columns * rhs.x_leading;
    }
  }

  /// Computes x = A^-T x for the first matrix. Queued; does not wait.
  void solve_transposed(B& backend, SubstitutionWorkspace<T>& workspace, T* x) const {
    RhsBatch<T> rhs;
    rhs.b = x;
    rhs.x = x;
    rhs.columns = 1;
    rhs.reduced = workspace.reduced.data();
    rhs.sums = workspace.sums.data();
    rhs.block_rows = plan_.block_rows;
    backend.fill(workspace.sums.size(), T{}, workspace.sums.data());
    substitute(backend, SubstitutionPass::transposed_forward, SubstitutionPass::transposed_backward, rhs);
  }

  /// The smallest pivot of the first matrix relative to the largest. O(n). Waits.
  [[nodiscard]] double pivot_ratio(B& backend) const {
    Array<ReciprocalPivots> range(device_, 1);
    backend.reduce(nodes_.size(), ReciprocalPivotsOfNode<T>{nodes_.data(), upper_.data()},
                   Store<ReciprocalPivots>{range.data()});
    const ReciprocalPivots found = backend.read(range.data());
    return found.smallest / found.largest;
  }

  /// Determinant of the first matrix, which has a pivot in every column. O(n); on a GPU after the factors are
  /// copied. Waits.
  [[nodiscard]] DeterminantProduct determinant() const {
    const Array<T> copy = device_.on_host() ? Array<T>() : upper_.to(Device());
    return band_determinant(plan_, pivots_.to_vector(), kept_.to_vector(),
                            device_.on_host() ? upper_.data() : copy.data());
  }

  [[nodiscard]] std::size_t bytes() const {
    return nodes_.bytes() + pivots_.bytes() + kept_.bytes() + lower_.bytes() + upper_.bytes() +
           blocks_.bytes() + node_facts_.bytes();
  }

 private:
  /// Elements after the multipliers that kernels may read: two vectors of float.
  static constexpr std::int64_t vector_padding = 32;

  /// Complex columns are eliminated one by one.
  [[nodiscard]] PartitionRule rule_for(const BandShape& shape, std::int64_t partitions) const {
    PartitionRule rule = partition_rule(device_, shape, partitions);
    if (is_complex<T>) rule.extra_slots = 0;
    return rule;
  }

  void release() {
    pivots_ = kept_ = Array<std::int32_t>();
    lower_ = upper_ = blocks_ = Array<T>();
  }

  void set_batch() {
    batch_.plan = &plan_;
    batch_.nodes = nodes_.data();
    batch_.first = {pivots_.data(), lower_.data(), upper_.data(), blocks_.data(), kept_.data()};
    batch_.facts = node_facts_.data();
    batch_.count = shape_.count;
    batch_.lower_stride = plan_.lower_size;
    batch_.upper_stride = plan_.upper_size;
    batch_.n = plan_.n;
    batch_.k = plan_.interface();
    batch_.block_rows = plan_.block_rows;
    batch_.node_count = nodes_.size();
  }

  void substitute(B& backend, SubstitutionPass up, SubstitutionPass down, const RhsBatch<T>& rhs) const {
    for (std::int64_t level = 0; level < plan_.levels(); ++level) {
      substitute_nodes(backend, up, batch_, rhs, level);
    }
    for (std::int64_t level = plan_.levels(); level-- > 0;)
      substitute_nodes(backend, down, batch_, rhs, level);
  }

  Device device_;
  BandShape shape_;
  std::int64_t partitions_ = 0;
  BandPlan plan_;
  Array<BandNode> nodes_;
  Array<std::int32_t> pivots_, kept_;
  Array<T> lower_, upper_, blocks_;
  Array<NodeFacts> node_facts_;
  Array<std::int64_t> offsets_;
  Array<BandFacts> facts_;
  FactorBatch<T> batch_;  // refers to the members above
};

}  // namespace echelon::banded
