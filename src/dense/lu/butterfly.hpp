// SPDX-License-Identifier: BSD-3-Clause
/// Random butterfly transformations, which spread the elements of a matrix so that partial pivoting no longer
/// makes them grow. Parker, UCLA CSD-950023 (1995); Baboulin, Dongarra, Herrmann, Tomov, ACM TOMS 39 (2013).
#pragma once

#include "backend/backend.hpp"
#include "support/hash.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/dense.hpp>

#include <cmath>
#include <cstdint>
#include <vector>

namespace echelon::lu {

namespace butterfly_detail {

/// Rows that a level combines: i and i + ceil(m / 2) of a block of m rows. Level 0 has one block of n rows,
/// level 1 two; the middle row of an odd m stays as it is.
struct Pairs {
  std::int64_t n;
  int level;

  struct Pair {
    std::int64_t first, second;
  };
  [[nodiscard]] ECHELON_ANYWHERE std::int64_t split() const { return level == 0 ? n : (n + 1) / 2; }
  [[nodiscard]] ECHELON_ANYWHERE std::int64_t count() const { return split() / 2 + (n - split()) / 2; }
  [[nodiscard]] ECHELON_ANYWHERE Pair operator()(std::int64_t p) const {
    const std::int64_t in_first = split() / 2;
    if (p < in_first) return {p, p + (split() + 1) / 2};
    const std::int64_t row = split() + p - in_first;
    return {row, row + (n - split() + 1) / 2};
  }
};

/// Sets diagonal[e] = exp(u / 10) for u in [-1, 1) from a hash.
template <class T>
struct RandomDiagonal {
  std::uint64_t seed;
  T* diagonal;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::uint64_t bits = hash_bits(hash_bits(seed) + static_cast<std::uint64_t>(e) * golden_ratio_64);
    const double u = symmetric_number(bits);
    diagonal[e] = static_cast<T>(std::exp(u / 10));
  }
};

/// One level on vectors whose elements are `step` apart, from one vector to the next `vector_step`:
/// (a, b) becomes (ra + sb, ra - sb) / sqrt(2), and transposed (r(a + b), s(a - b)) / sqrt(2).
template <class T>
struct ApplyLevel {
  Pairs pairs;
  const T* diagonal;
  bool transposed;
  T* data;
  std::int64_t vectors, step, vector_step;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    // Consecutive e are consecutive in memory.
    const std::int64_t count = step == 1 ? pairs.count() : vectors;
    const std::int64_t inner = e % count;
    const std::int64_t outer = e / count;
    const auto [first, second] = pairs(step == 1 ? inner : outer);
    T* const vector = data + (step == 1 ? outer : inner) * vector_step;
    const T root = static_cast<T>(0.70710678118654752440);
    const T r = root * diagonal[first];
    const T s = root * diagonal[second];
    const T a = vector[first * step];
    const T b = vector[second * step];
    vector[first * step] = transposed ? r * (a + b) : r * a + s * b;
    vector[second * step] = transposed ? s * (a - b) : r * a - s * b;
  }
};

}  // namespace butterfly_detail

/// Butterfly of depth two and order n: W = diag(B1, B2) B0, with B = [R S; R -S] / sqrt(2) for random
/// diagonals R and S near 1. Equal seeds give equal butterflies.
template <class B, class T>
class Butterfly {
 public:
  Butterfly(B& backend, std::int64_t n, std::uint64_t seed) : n_(n), diagonals_(backend.device(), 2 * n) {
    backend.for_each(2 * n, butterfly_detail::RandomDiagonal<T>{seed, diagonals_.data()});
  }
  [[nodiscard]] std::size_t bytes() const { return diagonals_.bytes(); }

  /// Determinants -r s of the blocks of two rows, on the host. Waits.
  [[nodiscard]] std::vector<double> block_determinants() const {
    const Array<T> diagonals = diagonals_.to(Device());
    std::vector<double> determinants;
    for (const int level : {0, 1}) {
      const butterfly_detail::Pairs pairs{n_, level};
      const T* const diagonal = diagonals.data() + level * n_;
      for (std::int64_t p = 0; p < pairs.count(); ++p) {
        const auto [first, second] = pairs(p);
        determinants.push_back(-static_cast<double>(diagonal[first]) * static_cast<double>(diagonal[second]));
      }
    }
    return determinants;
  }

  /// Queues X = W X, or W^T X, for a column-major X.
  void apply_to_columns(B& backend, bool transposed, DenseView<T> X) const {
    apply(backend, transposed, X.data(), X.columns(), 1, X.leading());
  }
  /// Queues X = X W for a column-major X: W^T on the rows.
  void apply_to_rows(B& backend, DenseView<T> X) const {
    apply(backend, true, X.data(), X.rows(), X.leading(), 1);
  }

 private:
  void apply(B& backend, bool transposed, T* data, std::int64_t vectors, std::int64_t step,
             std::int64_t vector_step) const {
    for (const int level : {transposed ? 1 : 0, transposed ? 0 : 1}) {
      const butterfly_detail::Pairs pairs{n_, level};
      backend.for_each(pairs.count() * vectors,
                       butterfly_detail::ApplyLevel<T>{pairs, diagonals_.data() + level * n_, transposed,
                                                       data, vectors, step, vector_step});
    }
  }

  std::int64_t n_;
  Array<T> diagonals_;  // of level 0, then of level 1
};

}  // namespace echelon::lu
