// SPDX-License-Identifier: BSD-3-Clause
#include "backend/store.hpp"
#include "solver/instantiate.hpp"
#include "solver/iteration/iterative_method.hpp"

#include <echelon/methods/triangular_iterative.hpp>

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>

namespace echelon {

namespace {

/// The first rows with a nonzero element left or right of the diagonal, and with a zero on it.
struct TriangleFacts {
  FirstIndex left, right, zero_diagonal;
  friend ECHELON_ANYWHERE TriangleFacts combine(const TriangleFacts& a, const TriangleFacts& b) {
    return {combine(a.left, b.left), combine(a.right, b.right), combine(a.zero_diagonal, b.zero_diagonal)};
  }
};

template <class T>
[[nodiscard]] ECHELON_ANYWHERE TriangleFacts facts_of(std::int64_t i, std::int64_t j, T value) {
  TriangleFacts facts;
  if (j == i) {
    if (value == 0) facts.zero_diagonal = {i};
  } else if (value != 0) {
    (j < i ? facts.left : facts.right) = {i};
  }
  return facts;
}

template <class T>
struct InspectSparseRow {
  const std::int64_t* row_offsets;
  const std::int32_t* column_indices;
  const T* values;
  ECHELON_ANYWHERE TriangleFacts operator()(std::int64_t i) const {
    TriangleFacts facts;
    facts.zero_diagonal = {i};
    for (std::int64_t k = row_offsets[i]; k < row_offsets[i + 1]; ++k) {
      const TriangleFacts element = facts_of(i, column_indices[k], values[k]);
      facts.left = combine(facts.left, element.left);
      facts.right = combine(facts.right, element.right);
      if (column_indices[k] == i) facts.zero_diagonal = element.zero_diagonal;
    }
    return facts;
  }
};

/// Element e of A in the order of its memory.
template <class T>
struct InspectDenseElement {
  DenseView<const T> A;
  ECHELON_ANYWHERE TriangleFacts operator()(std::int64_t e) const {
    const std::int64_t line = e / A.rows();
    const std::int64_t place = e % A.rows();
    const bool by_column = A.layout() == Layout::column_major;
    return facts_of(by_column ? place : line, by_column ? line : place, A.data()[line * A.leading() + place]);
  }
};

/// Where sweeps read and write. The sum of squares of b - A x is that of the x before the sweep.
template <class T>
struct SweepVectors {
  const IterationState* state;
  bool lower;
  const T* b;
  const T* x;
  T* next;

  /// next_i = sum / a_ii, where sum = b_i - (N x)_i. Returns the square of (b - A x)_i; zero if the sweep
  /// does not change x_i.
  ECHELON_ANYWHERE Sum finish(std::int64_t i, T sum, T diagonal) const {
    next[i] = sum / diagonal;
    if (next[i] == x[i]) return {};
    const auto residual = static_cast<double>(sum - diagonal * x[i]);
    return {residual * residual};
  }
};

template <class T>
struct SweepSparseRow : SweepVectors<T> {
  const std::int64_t* row_offsets;
  const std::int32_t* column_indices;
  const T* values;
  ECHELON_ANYWHERE Sum operator()(std::int64_t i) const {
    if (!this->state->running()) return {};
    T sum = this->b[i];
    T diagonal = 0;
    for (std::int64_t k = row_offsets[i]; k < row_offsets[i + 1]; ++k) {
      const std::int64_t j = column_indices[k];
      if (j == i) {
        diagonal = values[k];
      } else if ((j < i) ==
                 this->lower) {  // not a zero of the other triangle, which an infinite x_j makes NaN
        sum -= values[k] * this->x[j];
      }
    }
    return this->finish(i, sum, diagonal);
  }
};

/// Rows of a dense A that are swept together: on the host, so that the sums of neighbours are vector
/// instructions.
template <class T>
struct SweepDenseRows : SweepVectors<T> {
  static constexpr int tile_rows = std::is_same_v<ThisTarget, HostTarget> ? 64 : 1;

  DenseView<const T> A;

  ECHELON_ANYWHERE Sum operator()(std::int64_t tile) const {
    if (!this->state->running()) return {};
    const std::int64_t first = tile * tile_rows;
    const std::int64_t left = A.rows() - first;
    const int count = left < tile_rows ? static_cast<int>(left) : tile_rows;
    T sums[tile_rows];
    for (int r = 0; r < count; ++r) sums[r] = this->b[first + r];
    if (this->lower) {
      subtract_columns(first, count, 0, first, sums);
    } else {
      subtract_columns(first, count, first + count, A.rows(), sums);
    }
    Sum squares;
    for (int r = 0; r < count; ++r) {
      const std::int64_t i = first + r;
      const std::int64_t begin = this->lower ? first : i + 1;
      const std::int64_t end = this->lower ? i : first + count;
      for (std::int64_t j = begin; j < end; ++j) sums[r] -= *element(i, j) * this->x[j];
      squares = combine(squares, this->finish(i, sums[r], *element(i, i)));
    }
    return squares;
  }

 private:
  [[nodiscard]] ECHELON_ANYWHERE const T* element(std::int64_t i, std::int64_t j) const {
    return A.data() + (A.layout() == Layout::column_major ? i + j * A.leading() : i * A.leading() + j);
  }

  /// sums -= A(first + r, [begin, end)) x for r < count.
  ECHELON_ANYWHERE void subtract_columns(std::int64_t first, int count, std::int64_t begin, std::int64_t end,
                                         T* sums) const {
    if (A.layout() == Layout::column_major) {
      for (std::int64_t j = begin; j < end; ++j) {
        const T* const a = element(first, j);
        for (int r = 0; r < count; ++r) sums[r] -= a[r] * this->x[j];
      }
      return;
    }
    for (int r = 0; r < count; ++r) {
      for (std::int64_t j = begin; j < end; ++j) sums[r] -= *element(first + r, j) * this->x[j];
    }
  }
};

/// Ends a sweep. An iterate that overflowed does not stop the iteration, since later sweeps do not depend on
/// it: its norm counts as the largest number.
struct RecordSweep {
  IterationState* state;
  ECHELON_ANYWHERE void operator()(Sum squares) const {
    if (!state->running()) return;
    const double norm = std::sqrt(squares.value);
    state->record(norm <= DBL_MAX ? norm : DBL_MAX);
  }
};

/// Lets iterates grow without limit.
struct PermitGrowth {
  IterationState* state;
  ECHELON_ANYWHERE void operator()(std::int64_t /*i*/) const { state->divergence = DBL_MAX; }
};

/// x = next while the iteration runs.
template <class T>
struct AcceptIterate {
  const IterationState* state;
  const T* next;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    if (state->running()) x[i] = next[i];
  }
};

template <class B, class T>
class TriangularIteration final : public IterativeMethod<B, T> {
  using Base = IterativeMethod<B, T>;
  using typename Base::SolveWorkspace;

 public:
  TriangularIteration(const Device& device, const TriangularIterativeOptions& options)
      : Base(device, options.stop) {}

  Outcome setup(const MatrixRef<T>& A) override {
    Base::setup(A);
    const TriangleFacts facts = inspect(A);
    lower_ = facts.right.value == FirstIndex::none;
    if (!lower_ && facts.left.value != FirstIndex::none) {
      return {Status::breakdown,
              "triangular-iterative needs a triangular matrix: A has nonzero elements to the left of the "
              "diagonal, first in row " +
                  std::to_string(facts.left.value) + " (from 0), and to the right of it, first in row " +
                  std::to_string(facts.right.value),
              facts.left.value};
    }
    if (const std::int64_t row = facts.zero_diagonal.value; row != FirstIndex::none) {
      return {Status::singular,
              "A is singular: it is triangular, and its diagonal element of row " + std::to_string(row) +
                  " (from 0) is zero",
              row};
    }
    return {};
  }
  Outcome update_values(const MatrixRef<T>& A) override { return setup(A); }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return this->complete_workspace(std::make_unique<SolveWorkspace>(this->device(), this->matrix().rows()));
  }

 private:
  [[nodiscard]] TriangleFacts inspect(const MatrixRef<T>& A) const {
    B backend(this->device());
    Array<TriangleFacts> facts(this->device(), 1);
    const Store<TriangleFacts> store{facts.data()};
    if (const Csr<T>* csr = A.csr()) {
      backend.reduce(
          A.rows(),
          InspectSparseRow<T>{csr->row_offsets().data(), csr->column_indices().data(), csr->values().data()},
          store);
    } else {
      backend.reduce(A.rows() * A.rows(), InspectDenseElement<T>{A.dense()}, store);
    }
    return backend.read(facts.data());
  }

  void start(SolveWorkspace& workspace, const T* /*b*/, T* /*x*/) const override {
    workspace.backend.for_each(1, PermitGrowth{workspace.state()});
  }

  /// The next iterate takes the place of the residual, whose norm alone is needed.
  void step(SolveWorkspace& workspace, const T* b, T* x) const override {
    B& backend = workspace.backend;
    T* const next = workspace.r.data();
    const SweepVectors<T> vectors{workspace.state(), lower_, b, x, next};
    const RecordSweep record{workspace.state()};
    if (const Csr<T>* csr = this->matrix().csr()) {
      backend.reduce(workspace.n,
                     SweepSparseRow<T>{vectors, csr->row_offsets().data(), csr->column_indices().data(),
                                       csr->values().data()},
                     record);
    } else {
      const SweepDenseRows<T> sweep{vectors, this->matrix().dense()};
      backend.reduce((workspace.n + sweep.tile_rows - 1) / sweep.tile_rows, sweep, record);
    }
    backend.for_each(workspace.n, AcceptIterate<T>{workspace.state(), next, x});
  }

  bool lower_ = true;  // A has no nonzero element right of the diagonal
};

}  // namespace

template <>
struct MethodWith<TriangularIterativeOptions> {
  template <class B, class T>
  using Type = TriangularIteration<B, T>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<ThisTarget>(
    const Device&, const TriangularIterativeOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<ThisTarget>(
    const Device&, const TriangularIterativeOptions&);

}  // namespace echelon
