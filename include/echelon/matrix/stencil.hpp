// SPDX-License-Identifier: BSD-3-Clause
/// Matrices that couple the points of a grid with their neighbours, given by coefficients in place of rows.
#pragma once

#include <echelon/device.hpp>
#include <echelon/enum_words.hpp>
#include <echelon/export.h>
#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/linear_operator.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace echelon {

/// Meaning of neighbours beyond both ends of an axis of a grid.
enum class BoundaryCondition {
  dirichlet,  ///< u = 0 there: their coefficients are left out
  neumann,    ///< u is that of the nearest point of the grid, to which their coefficients are added: no flux
  periodic,   ///< the last point and the first one are neighbours; for axes of three points or more
};
constexpr std::array<EnumWord<BoundaryCondition>, 3> words_of(BoundaryCondition) {
  return {{{BoundaryCondition::dirichlet, "dirichlet"},
           {BoundaryCondition::neumann, "neumann"},
           {BoundaryCondition::periodic, "periodic"}}};
}

/// Grid of points along one to three axes. The first axis is numbered fastest: point (x, y, z) is row
/// x + points[0] (y + points[1] z) of a matrix. At most 2^31 - 1 points.
struct ECHELON_API StencilGrid {
  std::vector<std::int64_t> points;                ///< along each axis
  std::vector<BoundaryCondition> boundaries = {};  ///< of each axis, or one for all; empty: dirichlet
};

/// Distances of a neighbour along the axes, each -1, 0 or 1.
using StencilOffset = std::array<int, 3>;

/// Coefficient of the neighbour at an offset, in the rows of all points.
template <class T>
struct ECHELON_API StencilEntry {
  StencilOffset offset;
  T value;
};

/// Coefficients of the neighbour at an offset: one for the row of each point, in the order of the rows.
template <class T>
struct ECHELON_API StencilArray {
  StencilOffset offset;
  std::span<const T> values;
};

template <class T>
struct StencilState;
struct StencilAccess;

/// The matrix A of a stencil on a grid, (A u)(p) = sum over offsets d of c_d(p) u(p + d), without row offsets
/// and column indices. Goes wherever a method takes an operator, and to `structured-multigrid`; to_csr()
/// makes a matrix for other methods. T is float or double. Immutable, and cheap to copy: copies share the
/// coefficients.
///
/// Memory: 27 coefficients for each of the 3 to 27 places of the stencil (5 in one or two dimensions, 7 in
/// three, or with neighbours apart along several axes 9 and 27) where the coefficients are constant, or equal
/// but for the rows at both ends of the axes; n for each place where they vary.
///
/// Throws InvalidMatrix, which names the axis, the offset or the point: for a grid without points or of more
/// than 2^31 - 1, a periodic axis of fewer than three points, an offset out of range, beyond the axes of the
/// grid or given twice, no coefficient for the point itself, an array of another length, NaN and Inf. Throws
/// OutOfMemory, and NotBuilt for an OpenCL device.
template <class T>
class ECHELON_API Stencil {
 public:
  /// Constant coefficients, in the memory of `device`.
  [[nodiscard]] static Stencil constant(const StencilGrid& grid, const std::vector<StencilEntry<T>>& entries,
                                        const Device& device = {});
  /// Coefficients by points, copied from arrays in the memory of `device`. O(n) time for each offset; waits.
  [[nodiscard]] static Stencil variable(const StencilGrid& grid, const std::vector<StencilArray<T>>& arrays,
                                        const Device& device = {});
  /// Coefficients f(point, offset), in the memory of `device`. The function is called on the host for each
  /// point and offset, in the order of the rows. Memory in addition to the result: one more copy.
  [[nodiscard]] static Stencil variable(
      const StencilGrid& grid, const std::vector<StencilOffset>& offsets,
      const std::function<T(const std::array<std::int64_t, 3>& point, const StencilOffset& offset)>& f,
      const Device& device = {});
  /// -Laplace u times h^2 on a mesh of width h: of 3 points along one axis; of 5 along two, or of 9 (compact:
  /// 20 on the diagonal, -4 along the axes, -1 across; times 6 h^2); of 7 along three, or of 27 (26, and -1
  /// for each neighbour). 0: neighbours along the axes only. Throws BadOption for other numbers.
  [[nodiscard]] static Stencil laplacian(const StencilGrid& grid, int points = 0, const Device& device = {});

  [[nodiscard]] std::int64_t rows() const { return operator_.rows(); }
  [[nodiscard]] std::int64_t columns() const { return operator_.columns(); }
  [[nodiscard]] const Device& device() const { return operator_.device(); }
  /// Bytes of the coefficients.
  [[nodiscard]] std::size_t bytes() const;
  /// Text such as "5-point, 4000 x 4000, periodic in x, constant coefficients".
  [[nodiscard]] std::string describe() const;

  /// A copy in the memory of `device`.
  [[nodiscard]] Stencil to(const Device& device) const;
  /// A^T. O(1) time and memory for constant coefficients whose transpose has constant coefficients; O(n)
  /// otherwise. Waits.
  [[nodiscard]] Stencil transposed() const;
  /// The products y = A x and y = A^T x. The first product with A^T transposes the coefficients, which are
  /// kept.
  [[nodiscard]] const LinearOperator<T>& linear_operator() const { return operator_; }

 private:
  friend struct StencilAccess;
  explicit Stencil(std::shared_ptr<const StencilState<T>> state);

  std::shared_ptr<const StencilState<T>> state_;
  LinearOperator<T> operator_;
};

extern template class Stencil<float>;
extern template class Stencil<double>;

/// A in CSR form without zeros, in the memory of A. O(n) time on one core; waits.
template <class T>
[[nodiscard]] ECHELON_API Csr<T> to_csr(const Stencil<T>& A);

}  // namespace echelon
