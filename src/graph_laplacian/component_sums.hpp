// SPDX-License-Identifier: BSD-3-Clause
/// Sums of the elements of a vector over the components of a graph whose vertices are numbered component by
/// component.
#pragma once

#include "backend/backend.hpp"
#include "backend/columns.hpp"
#include "backend/store.hpp"
#include "linalg/vector/functors.hpp"

#include <echelon/array.hpp>

#include <cstdint>
#include <span>

namespace echelon::graph_laplacian {

template <class V>
struct ElementToSum {
  const V* x;
  ECHELON_ANYWHERE Sum operator()(std::int64_t k) const { return {static_cast<double>(x[k])}; }
};
/// Element k of those in large components.
template <class V>
struct ListedToSum {
  const std::int32_t* list;
  const V* x;
  ECHELON_ANYWHERE Sum operator()(std::int64_t k) const { return {static_cast<double>(x[list[k]])}; }
};
struct PieceToSum {
  const Sum* pieces;
  ECHELON_ANYWHERE Sum operator()(std::int64_t q) const { return pieces[q]; }
};

/// A vector, memory for the sums of its components, and scratch memory.
template <class V>
struct SummedVector {
  const V* x;
  Sum* scratch;
  Sum* sums;
};

/// Vertices of a piece at most: some dozens of elements for each lane of a warp.
inline constexpr std::int64_t component_piece = 2048;
/// Vertices of a component that one thread sums, at most.
inline constexpr std::int64_t small_component = 8;

/// Vertices of each component, one flag and pieces, for the large ones.
struct MeasureComponent {
  const std::int64_t* offsets;
  std::int64_t* vertices;
  std::int64_t* number;
  std::int64_t* pieces;
  ECHELON_ANYWHERE void operator()(std::int64_t c) const {
    const std::int64_t size = offsets[c + 1] - offsets[c];
    const bool is_large = size > small_component;
    vertices[c] = is_large ? size : 0;
    number[c] = is_large ? 1 : 0;
    pieces[c] = is_large ? (size + component_piece - 1) / component_piece : 0;
  }
};
/// Writes where the pieces of component c begin among the listed elements, and where the last one of all
/// ends.
struct PlacePieces {
  std::int64_t count;
  const std::int64_t* vertices;  ///< of large components before
  const std::int64_t* number;
  const std::int64_t* pieces;  ///< before
  std::int64_t* first_piece;   ///< of each large component
  std::int64_t* piece_offsets;
  ECHELON_ANYWHERE void operator()(std::int64_t c) const {
    std::int64_t at = vertices[c];
    for (std::int64_t q = pieces[c]; q < pieces[c + 1]; ++q, at += component_piece) piece_offsets[q] = at;
    if (number[c + 1] > number[c]) first_piece[number[c]] = pieces[c];
    if (c + 1 < count) return;
    piece_offsets[pieces[count]] = vertices[count];
    first_piece[number[count]] = pieces[count];
  }
};
/// Lists the elements of large components.
struct ListElement {
  const std::int64_t* offsets;
  const std::int32_t* component;
  const std::int64_t* vertices;
  std::int32_t* list;
  ECHELON_ANYWHERE void operator()(std::int64_t p) const {
    const std::int32_t c = component[p];
    if (offsets[c + 1] - offsets[c] <= small_component) return;
    list[vertices[c] + p - offsets[c]] = static_cast<std::int32_t>(p);
  }
};
/// Sums a small component, or takes the sum of a large one.
template <class V>
struct SumComponent {
  const std::int64_t* offsets;
  const std::int64_t* number;
  SummedVector<V> vector;
  const Sum* large;
  ECHELON_ANYWHERE void operator()(std::int64_t c) const {
    Sum sum;
    if (offsets[c + 1] - offsets[c] > small_component) {
      sum = large[number[c]];
    } else {
      for (std::int64_t p = offsets[c]; p < offsets[c + 1]; ++p) {
        sum.value += static_cast<double>(vector.x[p]);
      }
    }
    vector.sums[c] = sum;
  }
};

/// Sums over components, in a fixed order. Components of a few vertices, of which there may be thousands,
/// take a thread each. Larger ones are cut into pieces, which are summed at the same time and then added up:
/// a single thread, or warp, would take as long as the largest component.
template <class B>
class ComponentSums {
 public:
  ComponentSums() = default;
  /// `offsets` has count + 1 elements, the first vertices of the components, and has to outlive the object;
  /// `component` has the component of each vertex.
  ComponentSums(B& backend, std::int64_t count, const std::int64_t* offsets, std::int64_t vertices,
                const std::int32_t* component)
      : count_(count), offsets_(offsets) {
    if (count <= 1) return;
    const Device& device = backend.device();
    Array<std::int64_t> before(device, count + 1);
    Array<std::int64_t> pieces(device, count + 1);
    number_ = Array<std::int64_t>(device, count + 1);
    backend.for_each(count, MeasureComponent{offsets, before.data(), number_.data(), pieces.data()});
    const std::int64_t listed = backend.exclusive_scan(count, before.data(), before.data());
    large_ = backend.exclusive_scan(count, number_.data(), number_.data());
    pieces_ = backend.exclusive_scan(count, pieces.data(), pieces.data());
    if (large_ == 0) return;
    list_ = Array<std::int32_t>(device, listed);
    first_piece_ = Array<std::int64_t>(device, large_ + 1);
    piece_offsets_ = Array<std::int64_t>(device, pieces_ + 1);
    backend.for_each(count, PlacePieces{count, before.data(), number_.data(), pieces.data(),
                                        first_piece_.data(), piece_offsets_.data()});
    backend.for_each(vertices, ListElement{offsets, component, before.data(), list_.data()});
  }

  [[nodiscard]] std::size_t bytes() const {
    return number_.bytes() + list_.bytes() + first_piece_.bytes() + piece_offsets_.bytes();
  }
  /// Scratch memory of one computation.
  [[nodiscard]] Array<Sum> make_scratch(B& backend) const { return {backend.device(), pieces_ + large_}; }
  /// sums[c] = the sum of the elements of component c, for at most `most_columns` vectors of `vertices`
  /// elements. Each has the bits that it has alone.
  template <class V>
  void compute(B& backend, std::int64_t vertices, std::span<const SummedVector<V>> vectors) const {
    using Vector = SummedVector<V>;
    if (count_ == 1) {
      reduce_columns(
          backend, vertices, vectors, [](const Vector& own) { return ElementToSum<V>{own.x}; },
          [](const Vector& own) { return Store<Sum>{own.sums}; });
      return;
    }
    segmented_reduce_columns(
        backend, pieces_, piece_offsets_.data(), vectors,
        [&](const Vector& own) {
          return ListedToSum<V>{list_.data(), own.x};
        },
        [](const Vector& own) { return own.scratch; });
    segmented_reduce_columns(
        backend, large_, first_piece_.data(), vectors,
        [](const Vector& own) { return PieceToSum{own.scratch}; },
        [&](const Vector& own) { return own.scratch + pieces_; });
    for_each_column(backend, count_, vectors, [&](const Vector& own) {
      return SumComponent<V>{offsets_, number_.data(), own, own.scratch + pieces_};
    });
  }

 private:
  std::int64_t count_ = 0;
  std::int64_t large_ = 0;   ///< number of large components
  std::int64_t pieces_ = 0;  ///< of these
  const std::int64_t* offsets_ = nullptr;
  Array<std::int64_t> number_;         ///< of large components before each component
  Array<std::int32_t> list_;           ///< vertices of large components
  Array<std::int64_t> first_piece_;    ///< of each large component
  Array<std::int64_t> piece_offsets_;  ///< first listed element of each piece
};

}  // namespace echelon::graph_laplacian
