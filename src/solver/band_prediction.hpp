// SPDX-License-Identifier: BSD-3-Clause
/// Predicted cost of a band factorisation, for the choice of a method.
#pragma once

#include <echelon/device.hpp>
#include <echelon/matrix/csr.hpp>

#include <cstddef>
#include <cstdint>

namespace echelon {

/// Cost of banded-lu on one core or a GPU, as predicted from the half-bandwidths.
struct BandPrediction {
  std::int64_t lower = 0;   ///< diagonals below the main one
  std::int64_t upper = 0;   ///< diagonals above it
  bool renumbered = false;  ///< after a reverse Cuthill-McKee numbering, else in A's own
  double seconds = 0;       ///< numbering, factorisation, and solution of one right-hand side
  std::size_t bytes = 0;    ///< of the factors
};

/// A lower bound of the seconds that a sparse factorisation takes on one core, or with a GPU and 16 cores:
/// ordering, symbolic factorisation and assembly without its flops. `entries`: rows and stored elements;
/// `renumbered`: A has a narrow band after a renumbering only.
/// Measured: 0.16 us an entry on two cores for long bands, up to 2 us for indefinite systems of control
/// problems, and 0.6 to 1.3 us on one core for grids of width 5 to 100; on 16 cores 0.06 to 0.13 us for
/// grids, and 0.12 to 0.33 us for hidden bands.
[[nodiscard]] inline double least_sparse_seconds(double entries, const Device& device, bool renumbered) {
  if (device.on_host()) return 5e-7 * entries;
  return (renumbered ? 1.2e-7 : 6e-8) * entries;
}

/// Predicts the factorisation on `device` of a square matrix with these half-bandwidths. Defined with the
/// method.
[[nodiscard]] BandPrediction predict_band(std::int64_t rows, std::int64_t lower, std::int64_t upper,
                                          std::size_t element_size, const Device& device);

/// The prediction for A in its own numbering, or that after a reverse Cuthill-McKee numbering if that is
/// faster, the time of the numbering on the host included. The numbering is not tried if it cannot make
/// banded-lu faster than least_sparse_seconds. O(nonzeros). Defined with the method.
template <class T>
[[nodiscard]] BandPrediction predict_band(const Csr<T>& A, const BandPrediction& natural,
                                          const Device& device);

}  // namespace echelon
