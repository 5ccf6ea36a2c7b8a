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

struct CountPieces {
  const std::int64_t* offsets;
  std::int64_t* counts;
  ECHELON_ANYWHERE void operator()(std::int64_t c) const {
    counts[c] = (offsets[c + 1] - offsets[c] + component_piece - 1) / component_piece;
  }
};
/// Writes where the pieces of component c begin, and the last one of all ends.
struct PlacePieces {
  const std::int64_t* offsets;
  const std::int64_t* first_piece;
  std::int64_t* piece_offsets;
  ECHELON_ANYWHERE void operator()(std::int64_t c) const {
    std::int64_t at = offsets[c];
    for (std::int64_t q = first_piece[c]; q < first_piece[c + 1]; ++q, at += component_piece) {
      piece_offsets[q] = at;
    }
    piece_offsets[first_piece[c + 1]] = offsets[c + 1];
  }
};

/// Sums over components. Large components are cut into pieces, which are summed at the same time and then
/// added up, in a fixed order: a single thread, or warp, would take as long as the largest component.
template <class B>
class ComponentSums {
 public:
  ComponentSums() = default;
  /// `offsets` has count + 1 elements, the first vertices of the components, and has to outlive the object.
  ComponentSums(B& backend, std::int64_t count, const std::int64_t* offsets)
      : count_(count), offsets_(offsets) {
    if (count <= 1) return;
    first_piece_ = Array<std::int64_t>(backend.device(), count + 1);
    backend.for_each(count, CountPieces{offsets, first_piece_.data()});
    pieces_ = backend.exclusive_scan(count, first_piece_.data(), first_piece_.data());
    if (pieces_ == count) return;
    piece_offsets_ = Array<std::int64_t>(backend.device(), pieces_ + 1);
    backend.for_each(count, PlacePieces{offsets, first_piece_.data(), piece_offsets_.data()});
  }

  [[nodiscard]] std::size_t bytes() const { return first_piece_.bytes() + piece_offsets_.bytes(); }
  /// Scratch memory of one computation.
  [[nodiscard]] Array<Sum> make_scratch(B& backend) const {
    return {backend.device(), piece_offsets_.size() > 0 ? pieces_ : 0};
  }
  /// sums[c] = the sum of the elements of component c, for at most EachColumn::capacity vectors of `vertices`
  /// elements. Each has the bits that it has alone.
  template <class V>
  void compute(B& backend, std::int64_t vertices, std::span<const SummedVector<V>> vectors) const {
    using Vector = SummedVector<V>;
    const auto elements = each_column(vectors, [](const Vector& own) { return ElementToSum<V>{own.x}; });
    const auto sums = each_column(vectors, [](const Vector& own) { return own.sums; });
    if (count_ == 1) {
      reduce_columns(backend, vertices, elements,
                     each_column(vectors, [](const Vector& own) { return Store<Sum>{own.sums}; }));
    } else if (piece_offsets_.size() == 0) {
      segmented_reduce_columns(backend, count_, offsets_, elements, sums);
    } else {
      segmented_reduce_columns(backend, pieces_, piece_offsets_.data(), elements,
                               each_column(vectors, [](const Vector& own) { return own.scratch; }));
      segmented_reduce_columns(
          backend, count_, first_piece_.data(),
          each_column(vectors, [](const Vector& own) { return PieceToSum{own.scratch}; }), sums);
    }
  }

 private:
  std::int64_t count_ = 0;
  std::int64_t pieces_ = 0;
  const std::int64_t* offsets_ = nullptr;
  Array<std::int64_t> first_piece_;    ///< of each component
  Array<std::int64_t> piece_offsets_;  ///< first vertex of each piece; empty if each component is one piece
};

}  // namespace echelon::graph_laplacian
