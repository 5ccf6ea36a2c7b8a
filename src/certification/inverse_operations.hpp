// SPDX-License-Identifier: BSD-3-Clause
/// A dense matrix, an approximate inverse, and products with them, in the memory of a device.
#pragma once

#include <echelon/array.hpp>
#include <echelon/matrix/matrix.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace echelon::certification {

/// Binary exponents of zero, and of NaN and infinity; those of all other numbers lie between.
inline constexpr int exponent_of_zero = -100'000;
inline constexpr int exponent_of_nonfinite = 100'000;

/// Vector of unevaluated sums high + low, and upper bounds of their distances from what they approximate.
struct DoubledVector {
  std::vector<double> high, low, error;
};

/// Algorithm that computes an approximate inverse.
enum class InverseAlgorithm {
  elimination,  ///< Gauss-Jordan elimination in place: 2 n^3 flops
  lu,           ///< method `lu`, which repairs a large growth of elements: 8/3 n^3 flops and more
};

/// S = D A E for diagonal matrices D and E of powers of two, such that the largest magnitude of each row is
/// in [1, 2); R, an approximate inverse of S; and F = I - R S as computed. Memory: 3 n^2 elements on the
/// device.
///
/// Elements of S that are subnormal are rounded, by less than the smallest normal number.
class InverseOperations {
 public:
  enum class Factor { S, R, F };

  InverseOperations() = default;
  InverseOperations(const InverseOperations&) = delete;
  InverseOperations& operator=(const InverseOperations&) = delete;
  virtual ~InverseOperations() = default;

  /// Binary logarithms of the elements of D and E. A row of A that is not finite has the exponent
  /// -exponent_of_nonfinite, and one of zeros -exponent_of_zero; S and all else is then undefined.
  [[nodiscard]] virtual const std::vector<int>& row_exponents() const = 0;
  [[nodiscard]] virtual const std::vector<int>& column_exponents() const = 0;

  /// Computes R and F, and returns whether there is an R. Elements of R and F need not be finite.
  [[nodiscard]] virtual bool invert(InverseAlgorithm how) = 0;

  /// M (high + low) + start, in twice the precision: 2 n^2 products.
  [[nodiscard]] virtual DoubledVector multiply_doubled(Factor M, const std::vector<double>& high,
                                                       const std::vector<double>& low,
                                                       const std::vector<double>& start) = 0;
  /// Upper bounds of |M| v for v >= 0; NaN or infinite where M is not finite.
  [[nodiscard]] virtual std::vector<double> multiply_magnitudes(Factor M, const std::vector<double>& v) = 0;
};

/// Operations for a square A of float or double, in the memory of its device. Instantiated for HostTarget
/// and, in builds with CUDA, for CudaTarget.
template <class Target, class T>
[[nodiscard]] std::unique_ptr<InverseOperations> make_inverse_operations(Dense<T> A);

}  // namespace echelon::certification
