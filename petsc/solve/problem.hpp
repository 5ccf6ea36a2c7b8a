// SPDX-License-Identifier: BSD-3-Clause
/// Linear system of the program echelon-petsc-solve, which one process reads and divides; free of PETSc.
#pragma once

#include <echelon/domain_decomposition/bddc.hpp>
#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/dense.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace echelon::petsc {

/// Files in the folder by which echelon-petsc-solve and the program that starts it exchange data.
namespace exchange {
inline constexpr const char* matrix = "A.petsc";
inline constexpr const char* right_hand_sides = "b.petsc";
inline constexpr const char* near_null_space = "near_null_space.petsc";
inline constexpr const char* solution = "x.petsc";
inline constexpr const char* result = "result";
inline constexpr const char* error = "error";
}  // namespace exchange

/// Form in which the processes hold the matrix.
enum class Division {
  rows,        ///< each process has rows of A
  subdomains,  ///< A is a sum of matrices, of which each process has one
};

/// Share of one process in the matrix: rows `offsets`, `columns`, `values`. Division::rows: columns of A.
/// Division::subdomains: columns of the subdomain's matrix, whose unknowns in A `unknowns` holds.
struct Part {
  std::vector<std::int32_t> unknowns;
  std::vector<std::int32_t> offsets;
  std::vector<std::int32_t> columns;
  std::vector<double> values;
};

/// A system whose unknowns are ordered by parts of a partition by METIS, so that each process owns successive
/// ones.
class Problem {
 public:
  /// Reads the system from a folder. Throws ParseError, BadOption (more parts than nodes), OutOfMemory.
  Problem(std::string folder, std::int64_t parts, std::int64_t block_size, Division division);

  /// Number of rows that each part owns.
  [[nodiscard]] const std::vector<std::int32_t>& rows_of_parts() const { return rows_of_parts_; }
  /// Share of part p. Throws OutOfMemory; Error if it has more elements than 32 bits count.
  [[nodiscard]] Part part(std::int64_t p) const;
  /// Right-hand sides, and vectors of the near null space, if any, in the new order.
  [[nodiscard]] const Dense<double>& right_hand_sides() const { return right_hand_sides_; }
  [[nodiscard]] const Dense<double>& near_null_space() const { return near_null_space_; }
  /// Number of unknowns that several subdomains share; 0 for Division::rows.
  [[nodiscard]] std::int64_t shared_unknowns() const;
  /// Writes X, which has the new order, in the order of the file.
  void write_solution(const Dense<double>& X) const;

 private:
  [[nodiscard]] Dense<double> reordered(const Dense<double>& columns) const;

  std::string folder_;
  Array<std::int32_t> order_;  // order_[k]: row of the file that is the k-th
  std::vector<std::int32_t> rows_of_parts_;
  Csr<double> A_;                            // for Division::rows
  std::vector<SubdomainMatrix> subdomains_;  // for Division::subdomains, with unknowns in the new order
  Dense<double> right_hand_sides_;
  Dense<double> near_null_space_;
};

}  // namespace echelon::petsc
