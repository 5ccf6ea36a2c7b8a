// SPDX-License-Identifier: BSD-3-Clause
#include "matrix_copy.hpp"

#include "guard.hpp"

#include <echelon/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iomanip>
#include <limits>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace echelon::petsc {

namespace {

/// The arrays of a seqaij matrix, given back in the destructor.
class SequentialRows {
 public:
  explicit SequentialRows(Mat A) : A_(A) {}
  SequentialRows(const SequentialRows&) = delete;
  SequentialRows& operator=(const SequentialRows&) = delete;
  ~SequentialRows() {
    if (values_ != nullptr) (void)MatSeqAIJRestoreArrayRead(A_, &values_);
    if (offsets_ != nullptr)
      (void)MatRestoreRowIJ(A_, 0, PETSC_FALSE, PETSC_FALSE, &rows_, &offsets_, &columns_, &done_);
  }

  PetscErrorCode open() {
    PetscCall(MatGetSize(A_, nullptr, &column_count_));
    PetscCall(MatGetRowIJ(A_, 0, PETSC_FALSE, PETSC_FALSE, &rows_, &offsets_, &columns_, &done_));
    PetscCheck(done_ == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_SUP, "the matrix does not give its rows");
    return MatSeqAIJGetArrayRead(A_, &values_);
  }

  [[nodiscard]] PetscInt rows() const { return rows_; }
  [[nodiscard]] PetscInt column_count() const { return column_count_; }
  [[nodiscard]] PetscInt nonzeros() const { return rows_ > 0 ? offsets_[rows_] : 0; }
  [[nodiscard]] const PetscInt* offsets() const { return offsets_; }
  [[nodiscard]] std::span<const PetscInt> columns_of(PetscInt row) const {
    return {columns_ + offsets_[row], columns_ + offsets_[row + 1]};
  }
  [[nodiscard]] const PetscScalar* values_of(PetscInt row) const { return values_ + offsets_[row]; }

 private:
  Mat A_;
  PetscInt rows_ = 0;
  PetscInt column_count_ = 0;
  const PetscInt* offsets_ = nullptr;
  const PetscInt* columns_ = nullptr;
  const PetscScalar* values_ = nullptr;
  PetscBool done_ = PETSC_FALSE;
};

/// Throws InvalidMatrix if indices of 32 bits do not count the columns.
void check_columns(std::int64_t columns) {
  if (columns > std::numeric_limits<std::int32_t>::max()) {
    throw InvalidMatrix("the matrix has " + std::to_string(columns) +
                        " columns, more than Echelon's indices of 32 bits count");
  }
}

Csr<double> copy_rows(const SequentialRows& A) {
  check_columns(A.column_count());
  const Device host = Device::serial();
  const std::int64_t n = A.rows();
  Array<std::int64_t> offsets(host, n + 1);
  Array<std::int32_t> columns(host, A.nonzeros());
  Array<double> values(host, A.nonzeros());
  offsets[0] = 0;
  for (PetscInt i = 0; i < A.rows(); ++i) {
    const std::span<const PetscInt> row = A.columns_of(i);
    std::int64_t k = offsets[i];
    for (const PetscInt j : row) columns[k++] = static_cast<std::int32_t>(j);
    std::copy_n(A.values_of(i), row.size(), values.data() + offsets[i]);
    offsets[i + 1] = k;
  }
  return {n, A.column_count(), std::move(offsets), std::move(columns), std::move(values)};
}

/// Row offsets of the upper triangle of A and its transpose.
Array<std::int64_t> symmetric_offsets(const SequentialRows& A) {
  Array<std::int64_t> offsets(Device::serial(), A.rows() + 1);
  std::fill_n(offsets.data(), offsets.size(), 0);
  for (PetscInt i = 0; i < A.rows(); ++i) {
    for (const PetscInt j : A.columns_of(i)) {
      if (j < i) continue;
      ++offsets[i + 1];
      if (j > i) ++offsets[j + 1];
    }
  }
  for (std::int64_t i = 0; i < A.rows(); ++i) offsets[i + 1] += offsets[i];
  return offsets;
}

/// The symmetric matrix with A's upper triangle. Row i has received its elements left of the diagonal, with
/// ascending columns, when the loop arrives at it.
Csr<double> copy_symmetric(const SequentialRows& A) {
  check_columns(A.column_count());
  Array<std::int64_t> offsets = symmetric_offsets(A);
  std::vector<std::int64_t> next(offsets.data(), offsets.data() + A.rows());
  Array<std::int32_t> columns(Device::serial(), offsets[A.rows()]);
  Array<double> values(Device::serial(), offsets[A.rows()]);
  const auto append = [&](PetscInt row, PetscInt column, double value) {
    const std::int64_t k = next[static_cast<std::size_t>(row)]++;
    columns[k] = static_cast<std::int32_t>(column);
    values[k] = value;
  };
  for (PetscInt i = 0; i < A.rows(); ++i) {
    const PetscScalar* value = A.values_of(i);
    for (const PetscInt j : A.columns_of(i)) {
      if (j >= i) append(i, j, *value);
      if (j > i) append(j, i, *value);
      ++value;
    }
  }
  return {A.rows(), A.rows(), std::move(offsets), std::move(columns), std::move(values)};
}

/// Largest difference of a_ij and a_ji, relative to the largest element of row i, that counts as rounding.
constexpr double rounding = 1e-10;

std::string describe_asymmetry(std::int64_t i, std::int64_t j, double lower, double upper) {
  std::ostringstream text;
  text << std::setprecision(std::numeric_limits<double>::max_digits10)
       << "the matrix is not symmetric: elements (" << i << ", " << j << ") and (" << j << ", " << i
       << "), counted from 0, are " << lower << " and " << upper;
  return text.str();
}

/// Difference between A's lower triangle and that of the symmetric matrix with its upper triangle.
std::string find_asymmetry(const SequentialRows& A, const Csr<double>& symmetric) {
  const Array<std::int64_t>& offsets = symmetric.row_offsets();
  const Array<std::int32_t>& columns = symmetric.column_indices();
  const Array<double>& values = symmetric.values();
  for (PetscInt i = 0; i < A.rows(); ++i) {
    double largest = 0;
    for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k)
      largest = std::max(largest, std::abs(values[k]));
    std::int64_t k = offsets[i];
    const PetscScalar* value = A.values_of(i);
    const auto differs = [&](std::int64_t j, double lower, double upper) {
      return j < i && !(std::abs(lower - upper) <= rounding * std::max(largest, std::abs(lower)));
    };
    for (const PetscInt j : A.columns_of(i)) {
      if (j >= i) break;
      for (; k < offsets[i + 1] && columns[k] < j; ++k) {
        if (differs(columns[k], 0, values[k])) return describe_asymmetry(i, columns[k], 0, values[k]);
      }
      const bool stored = k < offsets[i + 1] && columns[k] == j;
      const double upper = stored ? values[k++] : 0;
      if (differs(j, *value, upper)) return describe_asymmetry(i, j, *value, upper);
      ++value;
    }
    for (; k < offsets[i + 1] && columns[k] < i; ++k) {
      if (differs(columns[k], 0, values[k])) return describe_asymmetry(i, columns[k], 0, values[k]);
    }
  }
  return {};
}

PetscErrorCode copy_sparse(Mat A, Elements elements, Csr<double>& copy, std::string& asymmetry) {
  SequentialRows rows(A);
  PetscCall(rows.open());
  if (elements == Elements::all) {
    copy = copy_rows(rows);
  } else {
    copy = copy_symmetric(rows);
    asymmetry = find_asymmetry(rows, copy);
  }
  return success;
}

/// Copies the rows of a matrix of any type that PETSc converts to seqaij.
PetscErrorCode copy_converted(Mat A, Elements elements, Csr<double>& copy, std::string& asymmetry) {
  PetscBool direct = PETSC_FALSE;
  PetscCall(PetscObjectBaseTypeCompare(reinterpret_cast<PetscObject>(A), MATSEQAIJ, &direct));
  if (direct == PETSC_TRUE) return copy_sparse(A, elements, copy, asymmetry);
  PetscMPIInt processes = 1;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm(reinterpret_cast<PetscObject>(A)), &processes));
  PetscCheck(processes == 1, PetscObjectComm(reinterpret_cast<PetscObject>(A)), PETSC_ERR_SUP,
             "Echelon solves with matrices of one process: use it inside a decomposition, as in -pc_type "
             "bjacobi -sub_pc_type echelon (or asm, bddc), or on a copy for each process, as in -pc_type "
             "redundant -redundant_pc_type echelon");
  Mat converted = nullptr;
  PetscCall(MatConvert(A, MATSEQAIJ, MAT_INITIAL_MATRIX, &converted));
  PetscErrorCode code = copy_sparse(converted, elements, copy, asymmetry);
  PetscCall(MatDestroy(&converted));
  return code;
}

PetscErrorCode copy_dense(Mat A, Elements elements, Dense<double>& copy, std::string& asymmetry) {
  PetscInt rows = 0;
  PetscInt columns = 0;
  PetscInt leading = 0;
  const PetscScalar* values = nullptr;
  PetscCall(MatGetSize(A, &rows, &columns));
  copy = Dense<double>(Device::serial(), rows, columns);
  PetscCall(MatDenseGetLDA(A, &leading));
  PetscCall(MatDenseGetArrayRead(A, &values));
  for (PetscInt j = 0; j < columns; ++j)
    std::copy_n(values + static_cast<std::ptrdiff_t>(j) * leading, rows, copy.view().column(j));
  PetscCall(MatDenseRestoreArrayRead(A, &values));
  if (elements == Elements::all) return success;
  double largest = 0;
  for (std::int64_t k = 0; k < copy.rows() * copy.columns(); ++k)
    largest = std::max(largest, std::abs(copy[k]));
  for (std::int64_t j = 0; j < columns; ++j) {
    for (std::int64_t i = 0; i < j; ++i) {
      if (asymmetry.empty() && !(std::abs(copy(i, j) - copy(j, i)) <= rounding * largest))
        asymmetry = describe_asymmetry(j, i, copy(j, i), copy(i, j));
      copy(j, i) = copy(i, j);
    }
  }
  return success;
}

bool equal_patterns(const Matrix<double>& a, const Matrix<double>& b) {
  if (a.index() != b.index()) return false;
  if (const auto* dense = std::get_if<Dense<double>>(&a)) {
    const auto& other = std::get<Dense<double>>(b);
    return dense->rows() == other.rows() && dense->columns() == other.columns();
  }
  const auto& first = std::get<Csr<double>>(a);
  const auto& second = std::get<Csr<double>>(b);
  return first.rows() == second.rows() && first.columns() == second.columns() &&
         std::ranges::equal(first.row_offsets().span(), second.row_offsets().span()) &&
         std::ranges::equal(first.column_indices().span(), second.column_indices().span());
}

}  // namespace

PetscErrorCode MatrixCopy::assign(Mat A, Elements elements, const Device& device) {
  asymmetry_.clear();
  PetscBool dense = PETSC_FALSE;
  PetscCall(PetscObjectBaseTypeCompare(reinterpret_cast<PetscObject>(A), MATSEQDENSE, &dense));
  Matrix<double> next;
  if (dense == PETSC_TRUE) {
    PetscCall(copy_dense(A, elements, next.emplace<Dense<double>>(), asymmetry_));
  } else {
    PetscCall(copy_converted(A, elements, next.emplace<Csr<double>>(), asymmetry_));
  }
  same_pattern_ = equal_patterns(next, host_);
  host_ = std::move(next);
  device_copy_.reset();
  if (!device.on_host()) {
    device_copy_ = std::visit([&](const auto& held) { return Matrix<double>(held.to(device)); }, host_);
  }
  return success;
}

}  // namespace echelon::petsc
