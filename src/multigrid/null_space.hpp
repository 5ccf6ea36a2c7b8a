// SPDX-License-Identifier: BSD-3-Clause
/// Null space of a singular symmetric matrix, from its hierarchy.
///
/// For a positive semidefinite A with P^T A P v = 0, (P v)^T A (P v) = 0 and so A P v = 0: prolongations of
/// the coarsest matrix's null vectors are null vectors of A.
#pragma once

#include "linalg/spmv/multiply.hpp"
#include "linalg/vector/functors.hpp"
#include "multigrid/coarse_solvers/coarse_solver.hpp"
#include "multigrid/estimates/character.hpp"
#include "multigrid/hierarchy.hpp"
#include "solver/null_space.hpp"

#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace echelon::multigrid {

/// Largest dimension of a null space that is projected out. A larger one indicates many disconnected parts,
/// for which the projections would take longer than a cycle.
inline constexpr std::int64_t most_null_vectors = 8;

template <class T>
struct FillOnes {
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { x[i] = T{1}; }
};
template <class T>
struct ScaleColumn {
  double factor;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    x[i] = static_cast<T>(factor * static_cast<double>(x[i]));
  }
};

template <class B, class T>
double norm(B& backend, std::int64_t n, const T* x) {
  Array<double> sum(backend.device(), 1);
  backend.reduce(n, Product<const T*, const T*>{x, x}, StoreDouble{sum.data()});
  return std::sqrt(backend.read(sum.data()));
}

/// Computes ||A x|| / (max |a_ij| ||x||); infinite if that is not defined. Waits.
template <class B, class T>
double relative_product(B& backend, const Csr<T>& A, const T* x) {
  Array<T> y(backend.device(), A.rows());
  Array<double> largest(backend.device(), 1);
  backend.reduce(A.nonzeros(), LargestMagnitude<const T*>{A.values().data()}, StoreDouble{largest.data()});
  const T factor =
      static_cast<T>(1 / backend.read(largest.data()));  // scaling, as elements are squared below
  const double length = norm(backend, A.rows(), x);
  if (!std::isfinite(factor) || !(length > 0)) return std::numeric_limits<double>::infinity();
  multiply(backend, factor, MatrixRef<T>(A), x, T{0}, y.data());
  return norm(backend, A.rows(), y.data()) / length;
}

/// Largest ||A x|| / (max |a_ij| ||x||) for which x counts as a null vector.
template <class T>
inline constexpr double null_vector_level = 1000 * static_cast<double>(std::numeric_limits<T>::epsilon());

/// Selects the columns of `candidates`, or the constant if there are none, that A maps to zero. Costs one
/// product for each.
template <class B, class T>
Dense<T> null_vectors_among(B& backend, const Csr<T>& A, const Dense<T>& candidates) {
  const Device& device = backend.device();
  const std::int64_t n = A.rows();
  Dense<T> tried = candidates;
  if (candidates.columns() == 0) {
    tried = Dense<T>(device, n, 1);
    backend.for_each(n, FillOnes<T>{tried.data()});
  }
  std::vector<std::int64_t> found;
  for (std::int64_t k = 0; k < tried.columns(); ++k) {
    if (relative_product(backend, A, tried.data() + k * n) <= null_vector_level<T>) found.push_back(k);
  }
  Dense<T> vectors(device, n, static_cast<std::int64_t>(found.size()));
  for (std::size_t k = 0; k < found.size(); ++k) {
    backend.copy(n, tried.data() + found[k] * n, vectors.data() + static_cast<std::int64_t>(k) * n);
  }
  return vectors;
}

/// Orthonormalises columns by the Gram-Schmidt process, applied twice. False if they are linearly dependent.
/// Waits.
template <class B, class T>
bool orthonormalise(B& backend, Dense<T>& basis) {
  const std::int64_t n = basis.rows();
  Array<double> parts(backend.device(), basis.columns());
  for (std::int64_t k = 0; k < basis.columns(); ++k) {
    T* const column = basis.data() + k * n;
    const double before = norm(backend, n, column);
    for (int pass = 0; pass < 2; ++pass) {
      for (std::int64_t d = 0; d < k; ++d) {
        const T* other = basis.data() + d * n;
        backend.reduce(n, Product<const T*, const T*>{other, column}, StoreDouble{parts.data()});
        backend.for_each(n, SubtractColumns<T>{other, n, 1, parts.data(), column});
      }
    }
    const double after = norm(backend, n, column);
    if (!(after > 1e-6 * before)) return false;
    backend.for_each(n, ScaleColumn<T>{1 / after, column});
  }
  return true;
}

/// Prolongs the null vectors `coarse` of the coarsest matrix to the finest level. No columns if there are
/// more than `most_null_vectors`, or rounding errors have made them inaccurate.
template <class B, class T>
Dense<T> prolonged_null_space(B& backend, const std::vector<HierarchyLevel<T>>& levels,
                              const Dense<double>& coarse) {
  const Device& device = backend.device();
  Dense<T> none(device, 0, 0);
  const std::int64_t dimension = coarse.columns();
  if (dimension == 0 || dimension > most_null_vectors) return none;
  const std::vector<double> elements = coarse.to_vector();
  const std::vector<T> rounded(elements.begin(), elements.end());
  Dense<T> basis(coarse.rows(), dimension, Array<T>(device, std::span<const T>(rounded)));
  for (std::size_t l = levels.size() - 1; l-- > 0;) {
    const Csr<T>& P = levels[l].P;
    Dense<T> finer(device, P.rows(), dimension);
    for (std::int64_t k = 0; k < dimension; ++k) {
      multiply(backend, T{1}, MatrixRef<T>(P), basis.data() + k * P.columns(), T{0},
               finer.data() + k * P.rows());
    }
    basis = std::move(finer);
  }
  if (!orthonormalise(backend, basis)) return none;
  const Csr<T>& A = *levels.front().A;
  for (std::int64_t k = 0; k < dimension; ++k) {
    if (!(relative_product(backend, A, basis.data() + k * A.rows()) <= null_vector_level<T>)) return none;
  }
  return basis;
}

template <class T>
struct FlagZeroRow {
  SparseRows<T> A;
  std::int32_t* numbers;
  std::uint8_t* flags;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    bool is_zero = true;
    for (std::int64_t k = A.begin(i); k < A.end(i); ++k) is_zero = is_zero && A.values[k] == T{0};
    numbers[i] = static_cast<std::int32_t>(i);
    flags[i] = is_zero ? 1 : 0;
  }
};
/// Lists the `count` zero rows of A. Waits if there are any.
template <class B, class T>
Array<std::int32_t> list_zero_rows(B& backend, const Csr<T>& A, std::int64_t count) {
  Array<std::int32_t> list(backend.device(), count);
  if (count == 0) return list;
  Array<std::int32_t> numbers(backend.device(), A.rows());
  Array<std::uint8_t> flags(backend.device(), A.rows());
  backend.for_each(A.rows(), FlagZeroRow<T>{SparseRows<T>(A), numbers.data(), flags.data()});
  backend.select(A.rows(), flags.data(), numbers.data(), list.data());
  return list;
}

/// Makes all columns zero in the listed rows: for a symmetric A whose rows these are, null vectors remain
/// null vectors.
template <class B, class T>
void clear_rows(B& backend, const Array<std::int32_t>& list, Dense<T>& columns) {
  for (std::int64_t k = 0; k < columns.columns(); ++k) {
    backend.for_each(list.size(), ClearListed<T>{list.data(), columns.data() + k * columns.rows()});
  }
}

/// True if the constant cannot be a null vector, because of a row sum. A factor of 2 exceeds rounding errors
/// of the sums.
template <class T>
bool excludes_constant(std::int64_t n, const MatrixCharacter& character) {
  return character.largest_row_sum.value >
         2 * null_vector_level<T> * character.largest.value * std::sqrt(static_cast<double>(n));
}

/// Null space of A_0, and what was found along with it.
template <class T>
struct NullSpace {
  Dense<T> basis;                     ///< orthonormal columns; none if no null vector is known
  HostInverse coarsest_inverse = {};  ///< of the coarsest matrix, if it was computed
};

/// Finds an orthonormal basis of the null space of the symmetric positive semidefinite A_0, as far as it can
/// be known: those of the constant, or of `candidates`, that are null vectors, or the coarsest level's
/// prolonged null vectors if there are more of them. They are zero in the zero rows of A_0, whose unit
/// vectors are further null vectors. Costs one product for each candidate, or none if row sums exclude the
/// constant. Waits.
template <class B, class T>
NullSpace<T> find_null_space(B& backend, const std::vector<HierarchyLevel<T>>& levels,
                             const MatrixCharacter& character, const Array<std::int32_t>& zero_rows,
                             const Dense<T>& candidates) {
  const Csr<T>& A = *levels.front().A;
  const Csr<T>& coarsest = *levels.back().A;
  NullSpace<T> found{Dense<T>(backend.device(), 0, 0)};
  if (A.nonzeros() == 0) return found;
  Dense<T> known(backend.device(), A.rows(), 0);
  if (candidates.columns() > 0 || !excludes_constant<T>(A.rows(), character)) {
    known = null_vectors_among(backend, A, candidates);
  }
  if (coarsest.rows() <= largest_inverse) {
    // A null vector that is known says that small eigenvalues are those of a singular matrix.
    found.coarsest_inverse =
        known.columns() > 0 ? semidefinite_inverse(coarsest) : host_inverse(coarsest, true);
    Dense<T> prolonged = prolonged_null_space(backend, levels, found.coarsest_inverse.null_space);
    if (prolonged.columns() > known.columns()) known = std::move(prolonged);
  }
  clear_rows(backend, zero_rows, known);
  if (known.columns() <= most_null_vectors && orthonormalise(backend, known)) found.basis = std::move(known);
  return found;
}

}  // namespace echelon::multigrid
