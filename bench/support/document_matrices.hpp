// SPDX-License-Identifier: BSD-3-Clause
/// Matrices of the experiments with mapped echelon form: bands, coupled blocks and a dense matrix.
#pragma once

#include <echelon/generate.hpp>
#include <echelon/matrix/builder.hpp>
#include <echelon/matrix/matrix.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace echelon::bench {

/// A band matrix with random elements, dominated by its diagonal.
inline Csr<double> band(std::int64_t n, std::int64_t half_width) {
  const Dense<double> random = generate::random_dense<double>(n, 2 * half_width + 1);
  CsrBuilder<double> builder(n, n);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = std::max<std::int64_t>(0, i - half_width); j <= std::min(n - 1, i + half_width);
         ++j)
      builder.add(static_cast<std::int32_t>(i), static_cast<std::int32_t>(j),
                  random(i, j - i + half_width) + (i == j ? 4.0 * static_cast<double>(half_width) : 0));
  }
  return builder.build();
}

/// Blocks of `size` rows, each coupled to the next one by its last row.
inline Csr<double> coupled_blocks(std::int64_t blocks, std::int64_t size) {
  const std::int64_t n = blocks * size;
  const Dense<double> random = generate::random_dense<double>(n, size);
  CsrBuilder<double> builder(n, n);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t first = i / size * size;
    for (std::int64_t j = 0; j < size; ++j)
      builder.add(static_cast<std::int32_t>(i), static_cast<std::int32_t>(first + j),
                  random(i, j) + (first + j == i ? 2.0 * static_cast<double>(size) : 0));
    if (i % size == size - 1 && i + 1 < n)
      builder.add(static_cast<std::int32_t>(i), static_cast<std::int32_t>(i + 1), 1.0);
  }
  return builder.build();
}

struct NamedMatrix {
  std::string name;
  Csr<double> matrix;
};

/// Two bands, the wider one of a quarter of `rows` rows, coupled blocks and a dense matrix.
inline std::vector<NamedMatrix> document_matrices(std::int64_t rows) {
  return {{"band, " + std::to_string(rows) + " rows, width 5", band(rows, 2)},
          {"band, " + std::to_string(rows / 4) + " rows, width 17", band(rows / 4, 8)},
          {"20 coupled blocks of 25", coupled_blocks(20, 25)},
          {"dense, 300 rows", to_csr(MatrixRef<double>(generate::random_dense<double>(300, 300)))}};
}

}  // namespace echelon::bench
