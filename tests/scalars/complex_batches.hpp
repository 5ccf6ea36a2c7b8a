// SPDX-License-Identifier: BSD-3-Clause
/// Batches of complex matrices for tests, two of which have no solution.
#pragma once

#include "scalars/complex_systems.hpp"

#include <echelon/batched.hpp>

namespace echelon::test {

template <class T>
class ComplexBatches : public ComplexSystems<T> {
 public:
  static constexpr std::int64_t count = 9;
  static constexpr std::int64_t columns = 3;

  /// Matrix 2 is singular, and matrix 5 has a NaN in one part; the others are Hermitian positive
  /// definite or random.
  struct Systems {
    std::vector<Entries> entries;
    std::vector<Vector> b;  // of all columns
    std::vector<T> A, B;
  };
  static Systems make_systems(std::int64_t n, bool definite) {
    Systems systems;
    for (std::int64_t k = 0; k < count; ++k) {
      const auto seed = static_cast<unsigned>(500 + 10 * n + k);
      Entries entries = definite ? random_hermitian(n, 6, seed) : random_entries(n, n, seed);
      for (std::int64_t i = 0; i < n && k == 2; ++i) {
        entries(i, n - 1) = n > 1 ? Exact(0, 2) * entries(i, 0) : Exact(0);
        if (definite) entries(n - 1, i) = std::conj(entries(i, n - 1));
      }
      if (definite && k == 2 && n > 1) entries(n - 1, n - 1) = Exact(4) * entries(0, 0);
      for (std::int64_t j = 0; j < n; ++j) {
        for (std::int64_t i = 0; i < n; ++i) systems.A.push_back(rounded<T>(entries(i, j)));
      }
      const Real<T> nan = std::numeric_limits<Real<T>>::quiet_NaN();
      if (k == 5) systems.A.back() = definite ? T{nan, 0} : T{1, nan};
      for (std::int64_t c = 0; c < columns; ++c) {
        systems.b.push_back(Random(seed + static_cast<unsigned>(c)).vector(n));
        for (const Exact& value : systems.b.back()) systems.B.push_back(rounded<T>(value));
      }
      systems.entries.push_back(std::move(entries));
    }
    return systems;
  }
  static DenseBatch<T> batch(std::vector<T>& elements, std::int64_t m, std::int64_t n, const Device& device) {
    return {elements.data(), m, n, count, device};
  }
  static void expect_outcomes(const Array<BatchOutcome>& of_device) {
    const Array<BatchOutcome> outcomes = of_device.to(Device());
    for (std::int64_t k = 0; k < count; ++k) {
      const Status expected = k == 2 ? Status::singular : k == 5 ? Status::not_a_number : Status::direct;
      EXPECT_EQ(outcomes[k].status, expected) << "matrix " << k;
    }
  }
  static void expect_solutions(const Systems& systems, const std::vector<T>& X, std::int64_t n) {
    for (std::int64_t k = 0; k < count; ++k) {
      for (std::int64_t c = 0; c < columns; ++c) {
        const T* const x = X.data() + (k * columns + c) * n;
        if (k == 2 || k == 5) {
          EXPECT_NE(x[0], x[0]) << "NaN for matrix " << k;
          continue;
        }
        const Vector& b = systems.b[static_cast<std::size_t>(k * columns + c)];
        EXPECT_LT(relative_error(x, solution(systems.entries[static_cast<std::size_t>(k)], b)),
                  ComplexSystems<T>::largest_error)
            << "matrix " << k;
      }
    }
  }
};

}  // namespace echelon::test
