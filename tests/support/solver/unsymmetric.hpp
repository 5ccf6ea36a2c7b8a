// SPDX-License-Identifier: BSD-3-Clause
/// An unsymmetric sparse matrix for tests of solvers.
#pragma once

#include <echelon/matrix/csr.hpp>

#include <cstdint>
#include <vector>

namespace echelon::test {

/// A convection-diffusion-like matrix: unsymmetric, strictly dominant by rows and columns.
inline Csr<double> unsymmetric(std::int32_t n) {
  std::vector<Triplet<double>> triplets;
  for (std::int32_t i = 0; i < n; ++i) {
    triplets.push_back({i, i, 5.0 + i % 3});
    if (i + 1 < n) triplets.push_back({i, i + 1, -1});
    if (i > 0) triplets.push_back({i, i - 1, -2});
    if (i + 7 < n) triplets.push_back({i, i + 7, 0.5});
  }
  return Csr<double>::from_triplets(n, n, triplets);
}

}  // namespace echelon::test
