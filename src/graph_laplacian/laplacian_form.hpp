// SPDX-License-Identifier: BSD-3-Clause
/// Reduction of a symmetric diagonally dominant system to systems with Laplacians of connected graphs.
///
/// - Positive off-diagonal elements: Gremban's doubling. Vertices i and i + n stand for x_i and -x_i; a
///   positive a_ij becomes the edges (i, j + n) and (j, i + n); b becomes (b, -b), and x = (y - y') / 2.
/// - Negative dominant matrices: A = -(-A).
/// - Excess on the diagonal: each component with excess gets one more vertex, the ground, joined to vertex i
///   by an edge with the weight of the excess of row i; x_i = y_i - y_ground. A method that can treat excess
///   itself asks for it to stay on the diagonal.
/// - Excess at the level of rounding is kept if it is known exactly and its signs, or its few rows, show that
/// it
///   is no rounding error. Otherwise the rows of its component count as zero sums.
/// - Vertices are numbered component by component, so that the Laplacian is block diagonal.
///
/// K. Gremban, Combinatorial preconditioners for sparse, symmetric, diagonally dominant linear systems, 1996.
#pragma once

#include "backend/columns.hpp"
#include "graph_laplacian/component_sums.hpp"
#include "graph_laplacian/doubling.hpp"
#include "graph_laplacian/lifted_matrix.hpp"
#include "graph_laplacian/lifted_vectors.hpp"
#include "graph_laplacian/recognition.hpp"
#include "linalg/components.hpp"
#include "linalg/dominance.hpp"
#include "linalg/rows_of_elements.hpp"
#include "linalg/vector/functors.hpp"
#include "solver/implementation.hpp"
#include "solver/inconsistent.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace echelon::graph_laplacian {

/// Reduction of A to Laplacian form, as described at the head of the file. Keeps a reference to A, which must
/// outlive this object and not move.
template <class B, class T>
class LaplacianForm {
 public:
  /// Scratch of one lift or restore in progress.
  struct Workspace {
    Array<Sum> sums;         ///< one for each component
    Array<Sum> pieces;       ///< scratch memory of sums
    Array<Removed> removed;  ///< one, for this vector and those that are treated with it
    [[nodiscard]] std::size_t bytes() const { return sums.bytes() + pieces.bytes() + removed.bytes(); }
  };
  /// A right-hand side b (rows() elements) and y (vertices() elements), and a workspace of their own.
  template <class V>
  struct Lifted {
    Workspace* workspace;
    const T* b;
    V* y;
  };
  /// An iterate y (vertices() elements) and x (rows() elements), and a workspace of their own.
  template <class V>
  struct Restored {
    Workspace* workspace;
    const V* y;
    T* x;
  };
  /// Vectors that are lifted or restored together, at most.
  static constexpr std::size_t most_vectors = most_columns;

  /// Sets the reduction up for a square, finite A. Returns an error that names the row if neither A nor -A is
  /// symmetric and diagonally dominant.
  Outcome setup(B& backend, const Csr<T>& A, Excess representation = Excess::ground) {
    A_ = &A;
    n_ = A.rows();
    representation_ = representation;
    lifted_ = Csr<T>();
    excess_ = Array<T>();
    sign_ = 1;
    RowData rows(backend.device(), n_);
    DominanceFacts facts = classify(backend, A, rows.view());
    Csr<T> made;  // -A, or the double cover of A or -A
    const Csr<T>* M = &A;
    if (facts.kind() == DominanceKind::none) {
      RowData negative(backend.device(), n_);
      made = negated(backend, A);
      const DominanceFacts facts_of_negative = classify(backend, made, negative.view());
      if (facts_of_negative.kind() == DominanceKind::none) return refusal(backend, facts, rows.excess);
      facts = facts_of_negative;
      rows = std::move(negative);
      sign_ = -1;
      M = &made;
    }
    kind_ = facts.kind();
    if (kind_ == DominanceKind::sdd) {
      Csr<T> double_cover = graph_laplacian::doubled(backend, *M);
      made = std::move(double_cover);
      M = &made;
      rows = RowData(backend.device(), M->rows());
      classify_rows(backend, *M, rows.view());
    }
    lift_matrix(backend, *M, rows);
    if (representation == Excess::diagonal) {
      excess_ = Array<T>(backend.device(), vertices_);
      backend.for_each(vertices_, LiftVector<T, T>{rows.excess.data(), vertex_.data(), rows.excess.size(),
                                                   T{1}, excess_.data()});
    }
    if (made.rows() > 0 && !owns()) lifted_ = std::move(made);
    return {};
  }

  /// Kind of A, or of -A.
  [[nodiscard]] DominanceKind kind() const { return kind_; }
  /// Whether a component has no excess: A is singular, exactly or up to rounding.
  [[nodiscard]] bool is_singular() const { return kinds_.singular + kinds_.rounded > 0; }
  /// Number of unknowns of A.
  [[nodiscard]] std::int64_t rows() const { return n_; }
  /// Number of vertices of the Laplacian.
  [[nodiscard]] std::int64_t vertices() const { return vertices_; }
  /// Laplacian: rows sum to zero up to rounding, no off-diagonal element is positive. With excess on the
  /// diagonal, rows sum to excess() instead. Refers to A, which may have explicit zeros, if A has this form
  /// and a connected graph; otherwise to a block diagonal matrix without explicit zeros in this object.
  [[nodiscard]] const Csr<T>& laplacian() const { return owns() ? lifted_ : *A_; }
  /// True if laplacian() is stored in this object, false if it is A.
  [[nodiscard]] bool owns() const { return lifted_.rows() > 0; }
  [[nodiscard]] std::int64_t components() const { return components_.count; }
  /// Offsets of the components: component c has the vertices [offsets[c], offsets[c + 1]). On the device,
  /// components() + 1 elements.
  [[nodiscard]] const Array<std::int64_t>& component_offsets() const { return lifted_offsets_; }
  /// Component of each vertex, on the device.
  [[nodiscard]] const Array<std::int32_t>& component_of() const { return of_place_; }
  /// Flags of the components: 1 if the last vertex of the component is a ground, or if the component has
  /// excess on its diagonal. On the device.
  [[nodiscard]] const Array<std::uint8_t>& grounded() const { return grounded_; }
  /// Excess of each row of laplacian(), if it stays on the diagonal. On the device.
  [[nodiscard]] const Array<T>& excess() const { return excess_; }
  [[nodiscard]] std::size_t bytes() const {
    return lifted_.bytes() + excess_.bytes() + components_.bytes() + lifted_offsets_.bytes() + sums_.bytes() +
           of_place_.bytes() + grounded_.bytes() + rounded_.bytes() + place_.bytes() + vertex_.bytes();
  }

  [[nodiscard]] Workspace make_workspace(B& backend) const {
    const Device& device = backend.device();
    return {Array<Sum>(device, components_.count), sums_.make_scratch(backend), Array<Removed>(device, 1)};
  }

  /// Computes y (vertices() elements), whose sum is zero in each component that is singular, from b (rows()
  /// elements). Returns the norms of the parts of b outside the range of A, which y does not contain. Waits.
  template <class V>
  OutsideRange lift(B& backend, Workspace& workspace, const T* b, V* y) const {
    const Lifted<V> one{&workspace, b, y};
    return lift(backend, std::span<const Lifted<V>>(&one, 1))[0];
  }
  /// lift() for at most `most_vectors` vectors, each with the bits that it has alone. Waits once.
  template <class V>
  std::array<OutsideRange, most_vectors> lift(B& backend, std::span<const Lifted<V>> vectors) const {
    std::array<OutsideRange, most_vectors> parts{};
    if (vectors.empty()) return parts;
    lift_into_range(backend, vectors);
    const Removed found = backend.read(vectors.front().workspace->removed.data());
    const double copies = kind_ == DominanceKind::sdd ? 2 : 1;
    for (std::size_t c = 0; c < vectors.size(); ++c) {
      parts[c] = {std::sqrt(found.at[c].first / copies), std::sqrt(found.at[c].second / copies)};
    }
    return parts;
  }
  /// lift() without the norms. Queued.
  template <class V>
  void lift_into_range(B& backend, std::span<const Lifted<V>> vectors) const {
    using Own = Lifted<V>;
    if (vectors.empty()) return;
    for_each_column(backend, vertices_, vectors, [&](const Own& own) { return spread_of(own.b, own.y); });
    sum_components<V>(backend, vectors);
    Removed* const removed = vectors.front().workspace->removed.data();
    std::size_t stored = 0;
    reduce_columns(
        backend, components_.count, vectors,
        [&](const Own& own) {
          return BalanceComponent<V>{lifted_offsets_.data(), grounded_.data(),           rounded_.data(),
                                     representation_,        own.workspace->sums.data(), own.y};
        },
        [&](const Own&) { return Store<TwoSums>{removed->at + stored++}; });
    subtract_means<V>(backend, vectors, grounded_.data());
  }

  /// Computes y (vertices() elements), zero at grounds, from an initial guess x.
  template <class V>
  void spread_guess(B& backend, const T* x, V* y) const {
    LiftVector<T, V> spread = spread_of(x, y);
    spread.sign = T{1};
    backend.for_each(vertices_, spread);
  }

  /// The norms that lift() returned for a right-hand side, as proven only if every a_ij equals a_ji: then the
  /// range of A is orthogonal to the null vectors. Waits.
  [[nodiscard]] OutsideRange verified(B& backend, const OutsideRange& parts) const {
    if (parts.proven == 0 || find_asymmetry(backend, *A_, 0).value == FirstIndex::none) return parts;
    return {0, parts.norm()};
  }

  /// Computes the part of b in the range of A from the y of lift().
  template <class V>
  void part_in_range(B& backend, Workspace& workspace, const V* y, T* b) const {
    const Restored<V> one{&workspace, y, b};
    sum_components<V>(backend, std::span<const Restored<V>>(&one, 1));
    GatherVertices<T, V> gather = gather_of(one);
    gather.excess = Excess::diagonal;
    gather.sign = sign_;
    backend.for_each(n_, gather);
  }

  /// Computes x (rows() elements) from y (vertices() elements); x has mean zero in components without a
  /// ground.
  template <class V>
  void restore(B& backend, Workspace& workspace, const V* y, T* x) const {
    const Restored<V> one{&workspace, y, x};
    restore(backend, std::span<const Restored<V>>(&one, 1));
  }
  /// restore() for at most `most_vectors` vectors, each with the bits that it has alone.
  template <class V>
  void restore(B& backend, std::span<const Restored<V>> vectors) const {
    if (vectors.empty()) return;
    sum_components<V>(backend, vectors);
    for_each_column(backend, n_, vectors, [&](const Restored<V>& own) { return gather_of(own); });
  }

 private:
  /// Excess of the rows of a matrix, on the device.
  struct RowData {
    RowData(const Device& device, std::int64_t n) : excess(device, n), slight(device, n) {}
    [[nodiscard]] RowExcess<T> view() { return {excess.data(), slight.data()}; }
    Array<T> excess;
    Array<SlightExcess> slight;
  };

  static Csr<T> negated(B& backend, const Csr<T>& A) {
    Array<T> values(backend.device(), A.nonzeros());
    backend.for_each(A.nonzeros(), CopyNegated<T>{A.values().data(), values.data()});
    return Csr<T>::unchecked(A.rows(), A.columns(), A.row_offsets(), A.column_indices(), std::move(values));
  }

  /// Makes excess zero where it can be a rounding error, and finds the components with and without excess.
  void classify_components(B& backend, RowData& rows) {
    const Device& device = backend.device();
    const std::int64_t count = components_.count;
    const std::int64_t m = rows.excess.size();
    const std::int32_t* const of_vertex = components_.of_vertex.data();
    rounded_ = Array<std::uint8_t>(device, count);
    grounded_ = Array<std::uint8_t>(device, count);
    Array<std::int32_t> slight(device, count);
    backend.fill(count, std::uint8_t{0}, rounded_.data());
    backend.fill(count, std::uint8_t{0}, grounded_.data());
    backend.fill(count, std::int32_t{0}, slight.data());
    backend.for_each(m, MarkRounded{rows.slight.data(), of_vertex, rounded_.data()});
    backend.for_each(m, CountSlight{rows.slight.data(), of_vertex, rounded_.data(), slight.data()});
    backend.for_each(count, MarkDoubtful{components_.offsets.data(), slight.data(), rounded_.data()});
    backend.for_each(m, DropSlight<T>{rows.slight.data(), of_vertex, rounded_.data(), rows.excess.data()});
    backend.for_each(m, MarkGrounded<T>{rows.excess.data(), of_vertex, grounded_.data()});
    Array<ComponentKinds> kinds(device, 1);
    backend.reduce(count, KindOfComponent{grounded_.data(), rounded_.data()},
                   Store<ComponentKinds>{kinds.data()});
    kinds_ = backend.read(kinds.data());
    if (kind_ == DominanceKind::laplacian && kinds_.grounded > 0) kind_ = DominanceKind::sddm;
  }

  void lift_matrix(B& backend, const Csr<T>& M, RowData& rows) {
    const Device& device = backend.device();
    const std::int64_t m = M.rows();
    components_ = find_components(backend, M);
    const std::int64_t count = components_.count;
    classify_components(backend, rows);
    lifted_offsets_ = Array<std::int64_t>(device, count + 1);
    backend.for_each(count, CountVertices{components_.offsets.data(), grounded_.data(), representation_,
                                          lifted_offsets_.data()});
    vertices_ = backend.exclusive_scan(count, lifted_offsets_.data(), lifted_offsets_.data());
    place_ = Array<std::int32_t>(device, m);
    vertex_ = Array<std::int32_t>(device, vertices_);
    of_place_ = Array<std::int32_t>(device, vertices_);
    backend.for_each(
        m, PlaceVertices{components_.members.data(), components_.of_vertex.data(), components_.offsets.data(),
                         lifted_offsets_.data(), place_.data(), vertex_.data()});
    if (representation_ == Excess::ground) {
      backend.for_each(count, PlaceGrounds{lifted_offsets_.data(), grounded_.data(), vertex_.data()});
    }
    backend.for_each(vertices_,
                     ComponentOfPlace{vertex_.data(), components_.of_vertex.data(), of_place_.data()});
    sums_ = ComponentSums<B>(backend, count, lifted_offsets_.data(), vertices_, of_place_.data());
    const bool adds_ground = representation_ == Excess::ground && kinds_.grounded > 0;
    if (count > 1 || adds_ground) lifted_ = lifted(backend, M, rows.excess);
    components_.members = Array<std::int32_t>();  // of no further use
    components_.offsets = Array<std::int64_t>();
  }

  Csr<T> lifted(B& backend, const Csr<T>& M, const Array<T>& excess) const {
    const Device& device = backend.device();
    const bool grounds = representation_ == Excess::ground;
    Array<std::int64_t> before(device, grounds ? M.rows() + 1 : 0);
    if (grounds) {
      backend.for_each(M.rows(), CountExcess<T>{components_.members.data(), excess.data(), before.data()});
      backend.scan(M.rows(), before.data(), before.data());
    }
    const Array<std::int64_t> nonzeros =
        device.on_host() ? Array<std::int64_t>() : nonzeros_before(backend, M);
    Array<std::int64_t> offsets(device, vertices_ + 1);
    LiftedRow<T> row{M.row_offsets().data(),
                     M.column_indices().data(),
                     M.values().data(),
                     grounds ? excess.data() : nullptr,
                     components_.of_vertex.data(),
                     place_.data(),
                     vertex_.data(),
                     components_.offsets.data(),
                     lifted_offsets_.data(),
                     before.data(),
                     nonzeros.data(),
                     offsets.data(),
                     nullptr,
                     nullptr};
    backend.for_each(vertices_, row);
    const std::int64_t size = backend.exclusive_scan(vertices_, offsets.data(), offsets.data());
    Array<std::int32_t> columns(device, size);
    Array<T> values(device, size);
    row.row_columns = columns.data();
    row.row_values = values.data();
    backend.for_each(vertices_, row);
    if (row.nonzeros_before != nullptr) {
      const Array<std::int32_t> rows = rows_of_elements(backend, M);
      backend.for_each(M.nonzeros(), PlaceElement<T>{row, rows.data()});
    }
    if (grounds) complete_grounds(backend, excess, offsets, columns, values);
    return Csr<T>::unchecked(vertices_, vertices_, std::move(offsets), std::move(columns), std::move(values));
  }

  /// Number of elements before each one that are not explicit zeros: rows are written by elements on a GPU,
  /// since a thread would take long for the longest row.
  static Array<std::int64_t> nonzeros_before(B& backend, const Csr<T>& M) {
    Array<std::int64_t> before(backend.device(), M.nonzeros() + 1);
    backend.for_each(M.nonzeros(), CountNonzero<T>{M.values().data(), before.data()});
    backend.scan(M.nonzeros(), before.data(), before.data());
    return before;
  }

  void complete_grounds(B& backend, const Array<T>& excess, const Array<std::int64_t>& offsets,
                        Array<std::int32_t>& columns, Array<T>& values) const {
    Array<T> placed(backend.device(), vertices_);
    backend.for_each(vertices_,
                     LiftVector<T, T>{excess.data(), vertex_.data(), excess.size(), T{1}, placed.data()});
    Workspace workspace = make_workspace(backend);
    const Lifted<T> one{&workspace, nullptr, placed.data()};
    sum_components<T>(backend, std::span<const Lifted<T>>(&one, 1));
    backend.for_each(components_.count,
                     CompleteGround<T>{lifted_offsets_.data(), grounded_.data(), workspace.sums.data(),
                                       offsets.data(), columns.data(), values.data()});
  }

  template <class V>
  LiftVector<T, V> spread_of(const T* b, V* y) const {
    return {b, owns() ? vertex_.data() : nullptr, n_, static_cast<T>(sign_), y};
  }
  template <class V>
  GatherVertices<T, V> gather_of(const Restored<V>& own) const {
    return {own.y,
            place_.data(),
            components_.of_vertex.data(),
            lifted_offsets_.data(),
            grounded_.data(),
            representation_,
            own.workspace->sums.data(),
            n_,
            kind_ == DominanceKind::sdd,
            1,
            own.x};
  }
  /// Sums the y of each of the vectors over the components, into their workspaces.
  template <class V, class Vector>
  void sum_components(B& backend, std::span<const Vector> vectors) const {
    std::array<SummedVector<V>, most_vectors> summed{};
    for (std::size_t c = 0; c < vectors.size(); ++c) {
      Workspace& own = *vectors[c].workspace;
      summed[c] = {vectors[c].y, own.pieces.data(), own.sums.data()};
    }
    sums_.compute(backend, vertices_, std::span<const SummedVector<V>>(summed.data(), vectors.size()));
  }
  /// Subtracts means, except from the components marked in `spared`, which may be null.
  template <class V>
  void subtract_means(B& backend, std::span<const Lifted<V>> vectors, const std::uint8_t* spared) const {
    for_each_column(backend, vertices_, vectors, [&](const Lifted<V>& own) {
      return SubtractMeans<V>{lifted_offsets_.data(), spared, of_place_.data(), own.workspace->sums.data(),
                              own.y};
    });
  }

  const Csr<T>* A_ = nullptr;
  std::int64_t n_ = 0;
  std::int64_t vertices_ = 0;
  DominanceKind kind_ = DominanceKind::none;
  Excess representation_ = Excess::ground;
  double sign_ = 1;  ///< -1 if the form is that of -A
  ComponentKinds kinds_;
  Csr<T> lifted_;
  Array<T> excess_;
  ConnectedComponents components_;
  Array<std::int64_t> lifted_offsets_;
  ComponentSums<B> sums_;
  Array<std::int32_t> of_place_;
  Array<std::uint8_t> grounded_;
  Array<std::uint8_t> rounded_;  ///< 1 for a component whose row sums are not exact
  Array<std::int32_t> place_;
  Array<std::int32_t> vertex_;
};

}  // namespace echelon::graph_laplacian
