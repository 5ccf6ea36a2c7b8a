// SPDX-License-Identifier: BSD-3-Clause
/// Smoothed random vectors, from which affinities and energies are computed.
#pragma once

#include "graph_laplacian/affinity_multigrid/elimination.hpp"
#include "graph_laplacian/affinity_multigrid/for_each_costly.hpp"

#include <cstdint>
#include <utility>

namespace echelon::affinity_multigrid {

inline constexpr int test_vector_count = 4;

/// Values of all test vectors at one vertex.
struct alignas(16) TestValues {
  float at[test_vector_count] = {};
  friend ECHELON_ANYWHERE TestValues combine(const TestValues& a, const TestValues& b) {
    TestValues sum;
    for (int v = 0; v < test_vector_count; ++v) sum.at[v] = a.at[v] + b.at[v];
    return sum;
  }
};

/// Random numbers in [-1, 1).
struct DrawTestValues {
  std::uint64_t seed;
  TestValues* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    for (int v = 0; v < test_vector_count; ++v) {
      const auto number = static_cast<std::uint64_t>(i) * test_vector_count + static_cast<std::uint64_t>(v);
      const std::uint64_t bits = hash_bits(seed + golden_ratio_64 * (number + 1));
      x[i].at[v] = static_cast<float>(bits >> 40U) * 0x1p-23F - 1.0F;
    }
  }
};

template <class T>
struct TestProduct {
  const std::int32_t* columns;
  const T* values;
  const TestValues* x;
  ECHELON_ANYWHERE TestValues operator()(std::int64_t k) const {
    TestValues product = x[columns[k]];
    for (float& value : product.at) value *= static_cast<float>(values[k]);
    return product;
  }
};

/// x -= omega D^-1 A x, for the products in `sums`.
template <class T>
struct RelaxTestValues {
  const T* inverse;
  const TestValues* sums;
  TestValues* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    constexpr float omega = 2.0F / 3.0F;
    const float factor = omega * static_cast<float>(inverse[i]);
    for (int v = 0; v < test_vector_count; ++v) x[i].at[v] -= factor * sums[i].at[v];
  }
};

/// Draws random vectors and relaxes them.
template <class T>
struct DrawAndRelax {
  const std::int64_t* offsets;
  TestProduct<T> product;
  RelaxTestValues<T> relax;
  std::int64_t n;
  int sweeps;
  std::uint64_t seed;
  TestValues* sums;  ///< scratch
  ECHELON_LOOPS_ANYWHERE
  template <class Loops>
  ECHELON_ANYWHERE void operator()(Loops& loops) const {
    for_each_costly(loops, n, DrawTestValues{seed, relax.x});
    for (int s = 0; s < sweeps; ++s) {
      loops.segmented_reduce(n, offsets, product, sums);
      loops.for_each(n, relax);
    }
  }
};

/// Makes random vectors and relaxes them for A x = 0 by `sweeps` damped Jacobi sweeps. `inverse` has the
/// reciprocals of the diagonal. The same on every device but for the order of the sums in a row.
template <class B, class T>
Array<TestValues> make_test_vectors(B& backend, const Csr<T>& A, const T* inverse, int sweeps,
                                    std::uint64_t seed) {
  const std::int64_t n = A.rows();
  Array<TestValues> x(backend.device(), n);
  Array<TestValues> sums(backend.device(), n);
  run_sequence(backend, A.nonzeros(),
               DrawAndRelax<T>{A.row_offsets().data(),
                               {A.column_indices().data(), A.values().data(), x.data()},
                               {inverse, sums.data(), x.data()},
                               n,
                               sweeps,
                               seed,
                               sums.data()});
  return x;
}

}  // namespace echelon::affinity_multigrid
