// SPDX-License-Identifier: BSD-3-Clause
/// The matrix of a subdomain by blocks of its interior I and its boundary B, the part on the interface.
#pragma once

#include <echelon/domain_decomposition/bddc.hpp>
#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/dense.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace echelon::bddc {

class LocalMatrix {
 public:
  LocalMatrix() = default;
  /// `interface_place[i]` is the place of unknown i of A in the interface, or -1 in an interior.
  LocalMatrix(const SubdomainMatrix& subdomain, std::span<const std::int32_t> interface_place);

  [[nodiscard]] std::int64_t interior_size() const { return std::ssize(interior_); }
  [[nodiscard]] std::int64_t boundary_size() const { return std::ssize(boundary_); }
  /// Unknowns of A in the interior and on the boundary, ascending.
  [[nodiscard]] const std::vector<std::int32_t>& interior() const { return interior_; }
  [[nodiscard]] const std::vector<std::int32_t>& boundary() const { return boundary_; }
  /// The whole matrix, the interior first.
  [[nodiscard]] const Csr<double>& matrix() const { return matrix_; }

  /// Submatrix of the rows and columns `kept`, ascending.
  [[nodiscard]] Csr<double> principal(std::span<const std::int32_t> kept) const;

  /// x_I = A_IB x_B.
  void interior_from_boundary(const double* x_B, double* x_I) const;
  /// y_B = A_BB x_B.
  void boundary_product(const double* x_B, double* y_B) const;
  /// y_B -= A_BI x_I.
  void subtract_from_boundary(const double* x_I, double* y_B) const;

  [[nodiscard]] std::size_t bytes() const {
    return matrix_.bytes() + first_boundary_.capacity() * sizeof(std::int64_t) +
           (interior_.capacity() + boundary_.capacity()) * sizeof(std::int32_t);
  }

 private:
  std::vector<std::int32_t> interior_;
  std::vector<std::int32_t> boundary_;
  Csr<double> matrix_;
  std::vector<std::int64_t> first_boundary_;  // of each row: its first element in a column of B
};

}  // namespace echelon::bddc
