// SPDX-License-Identifier: BSD-3-Clause
/// Functors that make the lifted matrix: vertices numbered component by component, and a ground in each
/// component with excess.
#pragma once

#include "backend/atomic.hpp"
#include "backend/backend.hpp"
#include "linalg/dominance.hpp"

#include <cstdint>

namespace echelon::graph_laplacian {

/// Marks the components with a row that sums to zero only up to rounding.
struct MarkRounded {
  const SlightExcess* slight;
  const std::int32_t* component;
  std::uint8_t* rounded;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    if (slight[i] == SlightExcess::rounding) atomic_store(rounded + component[i], std::uint8_t{1});
  }
};
/// Counts the rows with slight excess in components that are not marked.
struct CountSlight {
  const SlightExcess* slight;
  const std::int32_t* component;
  const std::uint8_t* rounded;
  std::int32_t* counts;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const std::int32_t c = component[i];
    if (slight[i] == SlightExcess::positive && rounded[c] == 0) atomic_add(counts + c, 1);
  }
};
/// Marks the components whose slight excesses may be due to rounding.
struct MarkDoubtful {
  const std::int64_t* offsets;
  const std::int32_t* counts;
  std::uint8_t* rounded;
  ECHELON_ANYWHERE void operator()(std::int64_t c) const {
    if (may_be_rounding(counts[c], offsets[c + 1] - offsets[c])) rounded[c] = 1;
  }
};
/// Makes slight excess zero in the marked components.
template <class T>
struct DropSlight {
  const SlightExcess* slight;
  const std::int32_t* component;
  const std::uint8_t* rounded;
  T* excess;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    if (slight[i] != SlightExcess::none && rounded[component[i]] != 0) excess[i] = T{0};
  }
};

/// Numbers of components by what is known about their null spaces.
struct ComponentKinds {
  std::int64_t grounded = 0;  ///< with excess
  std::int64_t singular = 0;  ///< without, all row sums exactly zero
  std::int64_t rounded = 0;   ///< without, row sums zero up to rounding
  friend ECHELON_ANYWHERE ComponentKinds combine(const ComponentKinds& a, const ComponentKinds& b) {
    return {a.grounded + b.grounded, a.singular + b.singular, a.rounded + b.rounded};
  }
};
struct KindOfComponent {
  const std::uint8_t* grounded;
  const std::uint8_t* rounded;
  ECHELON_ANYWHERE ComponentKinds operator()(std::int64_t c) const {
    if (grounded[c] != 0) return {1, 0, 0};
    return rounded[c] != 0 ? ComponentKinds{0, 0, 1} : ComponentKinds{0, 1, 0};
  }
};

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

/// component[p] = component of the vertex at place p.
struct ComponentOfPlace {
  const std::int32_t* vertex;
  const std::int32_t* component;
  std::int32_t* of_place;
  ECHELON_ANYWHERE void operator()(std::int64_t p) const {
    of_place[p] = vertex[p] < 0 ? -(vertex[p] + 1) : component[vertex[p]];
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

}  // namespace echelon::graph_laplacian
