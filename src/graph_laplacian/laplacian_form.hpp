// SPDX-License-Identifier: BSD-3-Clause
/// Reduction of a symmetric diagonally dominant system to systems with Laplacians of connected graphs.
///
/// - Positive off-diagonal elements: Gremban's doubling. Vertices i and i + n stand for x_i and -x_i; a
///   positive a_ij becomes the edges (i, j + n) and (j, i + n); b becomes (b, -b), and x = (y - y') / 2.
/// - Excess on the diagonal: each component with excess gets one more vertex, the ground, joined to vertex i
///   by an edge with the weight of the excess of row i; x_i = y_i - y_ground. A method that can treat excess
///   itself asks for it to stay on the diagonal.
/// - Vertices are numbered component by component, so that the Laplacian is block diagonal.
///
/// K. Gremban, Combinatorial preconditioners for sparse, symmetric, diagonally dominant linear systems, 1996.
#pragma once

#include "backend/columns.hpp"
#include "graph_laplacian/component_sums.hpp"
#include "graph_laplacian/components.hpp"
#include "linalg/dominance.hpp"
#include "linalg/vector/functors.hpp"
#include "multigrid/estimates/symmetry.hpp"
#include "solver/implementation.hpp"
#include "support/text.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace echelon::graph_laplacian {

/// Counts the elements of row i of the doubled matrix, or writes them.
template <class T>
struct DoubledRow {
  const std::int64_t* offsets;
  const std::int32_t* columns;
  const T* values;
  std::int64_t n;
  std::int64_t* row_offsets;
  std::int32_t* row_columns;
  T* row_values;

  /// Writes the crossing elements of row i of A (positive off-diagonal, negated) or all others, with columns
  /// increased by `shift`, from `place` on. Returns the end. Only counts if `row_columns` is null.
  ECHELON_ANYWHERE std::int64_t put(std::int64_t i, bool crossing, std::int32_t shift,
                                    std::int64_t place) const {
    for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
      const bool crosses = columns[k] != i && values[k] > T{0};
      if (crosses != crossing || values[k] == T{0}) continue;
      if (row_columns != nullptr) {
        row_columns[place] = columns[k] + shift;
        row_values[place] = crosses ? -values[k] : values[k];
      }
      ++place;
    }
    return place;
  }
  ECHELON_ANYWHERE void operator()(std::int64_t row) const {
    const bool second = row >= n;
    const std::int64_t i = second ? row - n : row;
    const auto shift = static_cast<std::int32_t>(n);
    const std::int64_t first = row_columns != nullptr ? row_offsets[row] : 0;
    const std::int64_t end = put(i, !second, shift, put(i, second, 0, first));
    if (row_columns == nullptr) row_offsets[row] = end;
  }
};

/// Makes the matrix of Gremban's doubling: 2 n rows, no positive off-diagonal element.
template <class B, class T>
Csr<T> doubled(B& backend, const Csr<T>& A) {
  const std::int64_t n = A.rows();
  const Device& device = backend.device();
  Array<std::int64_t> offsets(device, 2 * n + 1);
  DoubledRow<T> row{A.row_offsets().data(),
                    A.column_indices().data(),
                    A.values().data(),
                    n,
                    offsets.data(),
                    nullptr,
                    nullptr};
  backend.for_each(2 * n, row);
  const std::int64_t nonzeros = backend.exclusive_scan(2 * n, offsets.data(), offsets.data());
  Array<std::int32_t> columns(device, nonzeros);
  Array<T> values(device, nonzeros);
  row.row_columns = columns.data();
  row.row_values = values.data();
  backend.for_each(2 * n, row);
  return Csr<T>::unchecked(2 * n, 2 * n, std::move(offsets), std::move(columns), std::move(values));
}

/// Marks the components that have excess.
template <class T>
struct MarkGrounded {
  const T* excess;
  const std::int32_t* component;
  std::uint8_t* grounded;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    if (excess[i] != T{0}) atomic_store(grounded + component[i], std::uint8_t{1});
  }
};

/// Part of a LaplacianForm that represents excess.
enum class Excess {
  ground,    ///< one more vertex in each component with excess
  diagonal,  ///< the diagonal, as in A: components with excess have nonsingular blocks
};

/// sizes[c] = number of vertices of component c, the ground included.
struct CountVertices {
  const std::int64_t* offsets;
  const std::uint8_t* grounded;
  Excess excess;
  std::int64_t* sizes;
  ECHELON_ANYWHERE void operator()(std::int64_t c) const {
    const bool has_ground = excess == Excess::ground && grounded[c] != 0;
    sizes[c] = offsets[c + 1] - offsets[c] + (has_ground ? 1 : 0);
  }
};

/// Computes the positions of vertices in the numbering by component; the ground is the last of its component.
struct PlaceVertices {
  const std::int32_t* members;
  const std::int32_t* component;
  const std::int64_t* offsets;         ///< of components without grounds
  const std::int64_t* lifted_offsets;  ///< of components with grounds
  std::int32_t* place;
  std::int32_t* vertex;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const {
    const std::int32_t v = members[k];
    const std::int32_t c = component[v];
    const auto p = static_cast<std::int32_t>(lifted_offsets[c] + k - offsets[c]);
    place[v] = p;
    vertex[p] = v;
  }
};
struct PlaceGrounds {
  const std::int64_t* lifted_offsets;
  const std::uint8_t* grounded;
  std::int32_t* vertex;
  ECHELON_ANYWHERE void operator()(std::int64_t c) const {
    if (grounded[c] != 0) vertex[lifted_offsets[c + 1] - 1] = -static_cast<std::int32_t>(c) - 1;
  }
};

/// before[k] = 1 if member k of the components has excess; scanned, the number of such members before k.
template <class T>
struct CountExcess {
  const std::int32_t* members;
  const T* excess;
  std::int64_t* before;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const { before[k] = excess[members[k]] != T{0} ? 1 : 0; }
};

/// Computes the length of a row of the lifted matrix, or writes its elements, except for rows of grounds.
template <class T>
struct LiftedRow {
  const std::int64_t* offsets;
  const std::int32_t* columns;
  const T* values;
  const T* excess;  ///< null if it stays on the diagonal
  const std::int32_t* component;
  const std::int32_t* place;
  const std::int32_t* vertex;
  const std::int64_t* component_offsets;
  const std::int64_t* lifted_offsets;
  const std::int64_t* excess_before;
  /// Number of nonzero elements before each element of A, if PlaceElement writes them; otherwise null.
  const std::int64_t* nonzeros_before;
  std::int64_t* row_offsets;
  std::int32_t* row_columns;
  T* row_values;

  ECHELON_ANYWHERE std::int64_t length(std::int64_t p) const {
    const std::int32_t v = vertex[p];
    if (v < 0) {
      const std::int64_t c = -(v + 1);
      return 1 + excess_before[component_offsets[c + 1]] - excess_before[component_offsets[c]];
    }
    std::int64_t count = excess != nullptr && excess[v] != T{0} ? 1 : 0;
    if (nonzeros_before != nullptr) {
      return count + nonzeros_before[offsets[v + 1]] - nonzeros_before[offsets[v]];
    }
    for (std::int64_t k = offsets[v]; k < offsets[v + 1]; ++k) count += values[k] != T{0} ? 1 : 0;
    return count;
  }
  /// Writes row p; an element in the column of the ground is written to the ground's row as well.
  ECHELON_ANYWHERE void fill(std::int64_t p) const {
    const std::int32_t v = vertex[p];
    if (v < 0) return;
    if (nonzeros_before == nullptr) {
      std::int64_t at = row_offsets[p];
      for (std::int64_t k = offsets[v]; k < offsets[v + 1]; ++k) {
        if (values[k] == T{0}) continue;
        row_columns[at] = place[columns[k]];
        row_values[at++] = values[k];
      }
    }
    if (excess == nullptr || excess[v] == T{0}) return;
    const std::int64_t at = row_offsets[p + 1] - 1;
    const std::int32_t c = component[v];
    const auto ground = static_cast<std::int32_t>(lifted_offsets[c + 1] - 1);
    row_columns[at] = ground;
    row_values[at] = -excess[v];
    const std::int64_t first = component_offsets[c];
    const std::int64_t member = first + p - lifted_offsets[c];
    const std::int64_t mirror = row_offsets[ground] + excess_before[member] - excess_before[first];
    row_columns[mirror] = static_cast<std::int32_t>(p);
    row_values[mirror] = -excess[v];
  }
  ECHELON_ANYWHERE void operator()(std::int64_t p) const {
    if (row_columns == nullptr) {
      row_offsets[p] = length(p);
    } else {
      fill(p);
    }
  }
};

/// before[k] = 1 if element k is not an explicit zero.
template <class T>
struct CountNonzero {
  const T* values;
  std::int64_t* before;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const { before[k] = values[k] != T{0} ? 1 : 0; }
};
/// Writes element k of A to its row of the lifted matrix, unless it is an explicit zero.
template <class T>
struct PlaceElement {
  LiftedRow<T> row;
  const std::int32_t* rows;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const {
    if (row.values[k] == T{0}) return;
    const std::int32_t v = rows[k];
    const std::int64_t first = row.nonzeros_before[row.offsets[v]];
    const std::int64_t at = row.row_offsets[row.place[v]] + row.nonzeros_before[k] - first;
    row.row_columns[at] = row.place[row.columns[k]];
    row.row_values[at] = row.values[k];
  }
};

/// Writes the diagonal elements of the grounds' rows: the excess of each component.
template <class T>
struct CompleteGround {
  const std::int64_t* lifted_offsets;
  const std::uint8_t* grounded;
  const Sum* excess;
  const std::int64_t* row_offsets;
  std::int32_t* row_columns;
  T* row_values;
  ECHELON_ANYWHERE void operator()(std::int64_t c) const {
    if (grounded[c] == 0) return;
    const std::int64_t ground = lifted_offsets[c + 1] - 1;
    const std::int64_t last = row_offsets[ground + 1] - 1;
    row_columns[last] = static_cast<std::int32_t>(ground);
    row_values[last] = static_cast<T>(excess[c].value);
  }
};

/// Permutes b, doubled if requested, to the numbering of the lifted matrix; zero for a ground.
template <class T, class V>
struct Spread {
  const T* b;
  const std::int32_t* vertex;  ///< vertex at each position; null for the identity
  std::int64_t n;
  V* y;
  ECHELON_ANYWHERE void operator()(std::int64_t p) const {
    const std::int64_t v = vertex != nullptr ? vertex[p] : p;
    y[p] = v < 0 ? V{0} : static_cast<V>(v < n ? b[v] : -b[v - n]);
  }
};

/// Makes the elements of each component sum to zero: the ground gets the negated sum of the others; in a
/// component without excess the mean is subtracted, and n_c mean^2 is added to `removed`.
template <class V>
struct BalanceComponent {
  const std::int64_t* lifted_offsets;
  const std::uint8_t* grounded;
  Excess excess;
  const Sum* sums;
  V* y;
  ECHELON_ANYWHERE Sum operator()(std::int64_t c) const {
    const std::int64_t first = lifted_offsets[c];
    const std::int64_t last = lifted_offsets[c + 1];
    if (grounded[c] != 0) {
      if (excess == Excess::ground) y[last - 1] = static_cast<V>(-sums[c].value);
      return {};
    }
    const double mean = sums[c].value / static_cast<double>(last - first);
    return {mean * mean * static_cast<double>(last - first)};
  }
};
template <class V>
struct SubtractMeans {
  const std::int64_t* lifted_offsets;
  const std::uint8_t* spared;
  const std::int32_t* component;  ///< component of each position
  const Sum* sums;
  V* y;
  ECHELON_ANYWHERE void operator()(std::int64_t p) const {
    const std::int32_t c = component[p];
    if (spared != nullptr && spared[c] != 0) return;
    y[p] -= static_cast<V>(sums[c].value / static_cast<double>(lifted_offsets[c + 1] - lifted_offsets[c]));
  }
};

/// component[p] = component of the vertex at place p.
struct ComponentOfPlace {
  const std::int32_t* vertex;
  const std::int32_t* component;
  std::int32_t* of_place;
  ECHELON_ANYWHERE void operator()(std::int64_t p) const {
    of_place[p] = vertex[p] < 0 ? -(vertex[p] + 1) : component[vertex[p]];
  }
};

/// Computes x from y: y_i - y_ground, y_i where excess is on the diagonal, or y_i minus the mean of its
/// component; with doubling, half the difference of the two copies.
template <class T, class V>
struct Gather {
  const V* y;
  const std::int32_t* place;
  const std::int32_t* component;
  const std::int64_t* lifted_offsets;
  const std::uint8_t* grounded;
  Excess excess;
  const Sum* sums;
  std::int64_t n;
  bool doubled;
  T* x;
  ECHELON_ANYWHERE double level(std::int64_t v) const {
    const std::int32_t c = component[v];
    const std::int64_t last = lifted_offsets[c + 1];
    const double own = static_cast<double>(y[place[v]]);
    if (grounded[c] == 0) return own - sums[c].value / static_cast<double>(last - lifted_offsets[c]);
    return excess == Excess::ground ? own - static_cast<double>(y[last - 1]) : own;
  }
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    x[i] = static_cast<T>(doubled ? (level(i) - level(i + n)) / 2 : level(i));
  }
};

/// Warning about the part of b outside the range of A, of norm `removed`, where b has norm `norm`.
inline std::string unreachable_text(double removed, double norm) {
  return "b does not sum to zero over every component of the graph: the part outside the range of A, " +
         short_number(norm > 0 ? removed / norm : 0) + " of ||b||, was removed";
}

/// Classifies the rows of an A that need not be symmetric. Symmetry is tested by products with two random
/// vectors; elements are compared only if the test fails.
template <class B, class T>
DominanceFacts classify(B& backend, const Csr<T>& A, T* excess) {
  DominanceFacts facts = classify_rows(backend, A, excess);
  if (!multigrid::is_symmetric(backend, A)) facts.asymmetric = find_asymmetry(backend, A);
  return facts;
}

/// Outcome, which names the row, for a matrix that is not symmetric or not diagonally dominant.
template <class B, class T>
Outcome refusal(B& backend, const DominanceFacts& facts, const Array<T>& excess) {
  const std::string needs = "; the methods for graph Laplacians need a symmetric, diagonally dominant matrix";
  if (facts.asymmetric.value != FirstIndex::none) {
    return {Status::breakdown,
            "A is not symmetric: an element of row " + std::to_string(facts.asymmetric.value) +
                " (from 0) differs from the one across the diagonal" + needs,
            facts.asymmetric.value};
  }
  const std::int64_t row = facts.deficient.value;
  const double deficit = -static_cast<double>(backend.read(excess.data() + row));
  return {Status::breakdown,
          "A is not diagonally dominant: in row " + std::to_string(row) +
              " (from 0) the other magnitudes exceed the diagonal element by " + short_number(deficit) +
              needs,
          row};
}

/// Squared norms of the parts of several right-hand sides outside the range of A, in the backend's memory.
struct Removed {
  Sum at[EachColumn<Sum>::capacity] = {};
};

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
  static constexpr std::size_t most_vectors = EachColumn<int>::capacity;

  /// Sets the reduction up for a square, finite A. Returns an error that names the row if A is not symmetric
  /// or not diagonally dominant.
  Outcome setup(B& backend, const Csr<T>& A, Excess representation = Excess::ground) {
    A_ = &A;
    n_ = A.rows();
    representation_ = representation;
    lifted_ = Csr<T>();
    excess_ = Array<T>();
    Array<T> excess(backend.device(), n_);
    const DominanceFacts facts = classify(backend, A, excess.data());
    kind_ = facts.kind();
    if (kind_ == DominanceKind::none) return refusal(backend, facts, excess);
    const Csr<T>* M = &A;
    Csr<T> double_cover;
    if (kind_ == DominanceKind::sdd) {
      double_cover = graph_laplacian::doubled(backend, A);
      M = &double_cover;
      excess = Array<T>(backend.device(), M->rows());
      classify_rows(backend, *M, excess.data());
    }
    lift_matrix(backend, *M, excess);
    if (representation == Excess::ground) return {};
    if (double_cover.rows() > 0 && !owns()) lifted_ = std::move(double_cover);
    excess_ = Array<T>(backend.device(), vertices_);
    backend.for_each(vertices_, Spread<T, T>{excess.data(), vertex_.data(), excess.size(), excess_.data()});
    return {};
  }

  [[nodiscard]] DominanceKind kind() const { return kind_; }
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
           of_place_.bytes() + grounded_.bytes() + place_.bytes() + vertex_.bytes();
  }

  [[nodiscard]] Workspace make_workspace(B& backend) const {
    const Device& device = backend.device();
    return {Array<Sum>(device, components_.count), sums_.make_scratch(backend), Array<Removed>(device, 1)};
  }

  /// Computes y (vertices() elements), whose sum is zero in each component that is singular, from b (rows()
  /// elements). Returns the 2-norm of the part of b outside the range of A, which y does not contain. Waits.
  template <class V>
  double lift(B& backend, Workspace& workspace, const T* b, V* y) const {
    const Lifted<V> one{&workspace, b, y};
    return lift(backend, std::span<const Lifted<V>>(&one, 1))[0];
  }
  /// lift() for at most `most_vectors` vectors, each with the bits that it has alone. Waits once.
  template <class V>
  std::array<double, most_vectors> lift(B& backend, std::span<const Lifted<V>> vectors) const {
    using Own = Lifted<V>;
    std::array<double, most_vectors> norms{};
    if (vectors.empty()) return norms;
    for_each_column(backend, vertices_,
                    each_column(vectors, [&](const Own& own) { return spread_of(own.b, own.y); }));
    sum_components<V>(backend, vectors);
    Removed* const removed = vectors.front().workspace->removed.data();
    std::size_t stored = 0;
    reduce_columns(backend, components_.count,
                   each_column(vectors,
                               [&](const Own& own) {
                                 return BalanceComponent<V>{lifted_offsets_.data(), grounded_.data(),
                                                            representation_, own.workspace->sums.data(),
                                                            own.y};
                               }),
                   each_column(vectors, [&](const Own&) { return Store<Sum>{removed->at + stored++}; }));
    subtract_means<V>(backend, vectors, grounded_.data());
    const Removed found = backend.read(removed);
    for (std::size_t c = 0; c < vectors.size(); ++c) {
      const double norm = std::sqrt(found.at[c].value);
      norms[c] = kind_ == DominanceKind::sdd ? norm / std::sqrt(2.0) : norm;
    }
    return norms;
  }

  /// Computes y from b as lift() does, but for the sums: of initial guesses.
  template <class V>
  void spread(B& backend, const T* b, V* y) const {
    backend.for_each(vertices_, spread_of(b, y));
  }

  /// Subtracts the mean from each singular component of y, in place. Used for iterates and residuals.
  template <class V>
  void center(B& backend, Workspace& workspace, V* y) const {
    const Lifted<V> one{&workspace, nullptr, y};
    const std::span<const Lifted<V>> vectors(&one, 1);
    sum_components<V>(backend, vectors);
    const bool grounds = representation_ == Excess::ground;
    subtract_means<V>(backend, vectors, grounds ? nullptr : grounded_.data());
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
    for_each_column(backend, n_, each_column(vectors, [&](const Restored<V>& own) {
                      return Gather<T, V>{own.y,
                                          place_.data(),
                                          components_.of_vertex.data(),
                                          lifted_offsets_.data(),
                                          grounded_.data(),
                                          representation_,
                                          own.workspace->sums.data(),
                                          n_,
                                          kind_ == DominanceKind::sdd,
                                          own.x};
                    }));
  }

 private:
  void lift_matrix(B& backend, const Csr<T>& M, const Array<T>& excess) {
    const Device& device = backend.device();
    const std::int64_t m = M.rows();
    components_ = find_components(backend, M);
    const std::int64_t count = components_.count;
    grounded_ = Array<std::uint8_t>(device, count);
    backend.fill(count, std::uint8_t{0}, grounded_.data());
    backend.for_each(m, MarkGrounded<T>{excess.data(), components_.of_vertex.data(), grounded_.data()});
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
    const bool adds_ground = representation_ == Excess::ground && kind_ != DominanceKind::laplacian;
    if (count > 1 || adds_ground) lifted_ = lifted(backend, M, excess);
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
    backend.for_each(vertices_, Spread<T, T>{excess.data(), vertex_.data(), excess.size(), placed.data()});
    Workspace workspace = make_workspace(backend);
    const Lifted<T> one{&workspace, nullptr, placed.data()};
    sum_components<T>(backend, std::span<const Lifted<T>>(&one, 1));
    backend.for_each(components_.count,
                     CompleteGround<T>{lifted_offsets_.data(), grounded_.data(), workspace.sums.data(),
                                       offsets.data(), columns.data(), values.data()});
  }

  template <class V>
  Spread<T, V> spread_of(const T* b, V* y) const {
    return {b, owns() ? vertex_.data() : nullptr, n_, y};
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
    for_each_column(backend, vertices_, each_column(vectors, [&](const Lifted<V>& own) {
                      return SubtractMeans<V>{lifted_offsets_.data(), spared, of_place_.data(),
                                              own.workspace->sums.data(), own.y};
                    }));
  }

  const Csr<T>* A_ = nullptr;
  std::int64_t n_ = 0;
  std::int64_t vertices_ = 0;
  DominanceKind kind_ = DominanceKind::none;
  Excess representation_ = Excess::ground;
  Csr<T> lifted_;
  Array<T> excess_;
  Components components_;
  Array<std::int64_t> lifted_offsets_;
  ComponentSums<B> sums_;
  Array<std::int32_t> of_place_;
  Array<std::uint8_t> grounded_;
  Array<std::int32_t> place_;
  Array<std::int32_t> vertex_;
};

}  // namespace echelon::graph_laplacian
