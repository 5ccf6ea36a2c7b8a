// SPDX-License-Identifier: BSD-3-Clause
/// Triangular solves with a factor of whole tiles, by the inverses of its diagonal tiles.
#pragma once

#include "backend/cuda/cuda.cuh"
#include "backend/cuda/grid.cuh"
#include "backend/cuda/shared_memory.cuh"
#include "dense/cholesky/cuda/tiled_substitution.cuh"

#include <echelon/array.hpp>
#include <echelon/matrix/dense.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace echelon::dense_cholesky {

/// Inverses of the diagonal tiles of a lower triangle L, and the products with them that shorten
/// substitutions.
template <class T>
class TiledTriangles {
 public:
  TiledTriangles() = default;
  /// Allocates memory for `rows` rows, a multiple of tiles::side.
  TiledTriangles(const Device& device, std::int64_t rows)
      : inverses_(device, rows * tiles::side),
        lower_links_(device, rows * tiles::side),
        upper_links_(device, rows * tiles::side) {}

  [[nodiscard]] T* inverses() { return inverses_.data(); }
  [[nodiscard]] std::size_t bytes() const {
    return inverses_.bytes() + lower_links_.bytes() + upper_links_.bytes();
  }

  /// Forms the products, after L and the inverses are complete. Queued.
  void form_links(const Dense<T>& l) {
    const auto rows = static_cast<int>(l.rows() / tiles::side);
    if (rows < 2) return;
    constexpr int bytes = 2 * tiles::side * tiles::padded * sizeof(T);
    allow_shared_memory(tiles::form_links<T>);
    tiles::form_links<T><<<dim3(static_cast<unsigned>(rows - 1), 2), tiles::threads, bytes, stream()>>>(
        l.data(), l.leading(), inverses_.data(), lower_links_.data(), upper_links_.data());
    check(cudaGetLastError());
  }

  /// The triangle of x = L^-1 b.
  [[nodiscard]] tiles::TiledTriangle<T> lower(const Dense<T>& l, const T* b, T* x) const {
    return {.a = l.data(),
            .leading = l.leading(),
            .inverses = inverses_.data(),
            .links = lower_links_.data(),
            .b = b,
            .x = x,
            .transposed = false,
            .backward = false,
            .waits_for_b = false};
  }
  /// The triangle of x = L^-T b.
  [[nodiscard]] tiles::TiledTriangle<T> upper(const Dense<T>& l, const T* b, T* x, bool waits_for_b) const {
    return {.a = l.data(),
            .leading = l.leading(),
            .inverses = inverses_.data(),
            .links = upper_links_.data(),
            .b = b,
            .x = x,
            .transposed = true,
            .backward = true,
            .waits_for_b = waits_for_b};
  }

 private:
  Array<T> inverses_, lower_links_, upper_links_;
};

/// Solves with one or two triangles of the same number of rows of tiles; x of both must be `not_ready`.
/// Queued.
template <class T>
void substitute_in_tiles(const tiles::TiledTriangle<T>& first, const tiles::TiledTriangle<T>* second,
                         int rows, Array<int>& counters) {
  check(cudaMemsetAsync(counters.data(), 0, counters.bytes(), stream()));
  const int count = second == nullptr ? 1 : 2;
  const tiles::SubstitutionJob<T> job{.triangles = {first, second == nullptr ? first : *second},
                                      .count = count,
                                      .tiles = rows,
                                      .next_task = counters.data(),
                                      .abandoned = counters.data() + 1};
  constexpr int threads = tiles::TiledSubstitution<T>::threads;
  const unsigned blocks = std::min(static_cast<unsigned>(count * rows),
                                   resident_blocks(tiles::substitute_tiles<T>, threads, 0, 8));
  tiles::substitute_tiles<T><<<blocks, threads, 0, stream()>>>(job);
  check(cudaGetLastError());
}

/// Fills x with `not_ready`. Queued.
template <class T>
void mark_not_ready(Array<T>& x) {
  check(cudaMemsetAsync(x.data(), tiles::not_ready_byte, x.bytes(), stream()));
}

}  // namespace echelon::dense_cholesky
