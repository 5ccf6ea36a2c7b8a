// SPDX-License-Identifier: BSD-3-Clause
/// Null space of a singular symmetric matrix, from its hierarchy.
///
/// For a positive semidefinite A with P^T A P v = 0, (P v)^T A (P v) = 0 and so A P v = 0: prolongations of
/// the coarsest matrix's null vectors are null vectors of A.
#pragma once

#include "linalg/components.hpp"
#include "linalg/constant_modes.hpp"
#include "linalg/dominance.hpp"
#include "linalg/spmv/multiply.hpp"
#include "linalg/vector/functors.hpp"
#include "multigrid/coarse_solvers/coarse_solver.hpp"
#include "multigrid/estimates/character.hpp"
#include "multigrid/hierarchy.hpp"
#include "multigrid/weak_modes.hpp"
#include "solver/null_vectors.hpp"

#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace echelon::multigrid {

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
        backend.reduce(n, Product<T>{other, column}, StoreDouble{parts.data()});
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

/// True if the row sums exclude that the constant is a null vector, or close to one. A factor of 2 exceeds
/// rounding errors of the sums.
template <class T>
bool excludes_constant(std::int64_t n, const MatrixCharacter& character) {
  const double null_level = 2 * null_vector_level<T> * std::sqrt(static_cast<double>(n));
  const double weak_sums = 2 * weak_level(std::numeric_limits<T>::epsilon()) * character.off_diagonal;
  return character.largest_row_sum.value > null_level * character.largest.value &&
         character.row_sums > weak_sums;
}

/// Constants on connected components that A maps to zero, or close to it.
template <class B, class T>
struct KnownConstants {
  Dense<T> singular;          ///< exact null vectors
  Dense<T> rounded;           ///< null vectors up to rounding
  WeakModes<B, T> weak = {};  ///< not null vectors, but close to them
};

/// product[i] = vector[i] times the sum of row i.
struct ScaleByRowSum {
  const RowSum* rows;
  const double* vector;
  double* product;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { product[i] = vector[i] * rows[i].sum; }
};

/// The weak modes of the listed components. Queues its work without waiting.
template <class B, class T>
WeakModes<B, T> weak_modes(B& backend, const ConstantsOnComponents<T>& constants) {
  if (constants.weak.empty()) return {};
  Dense<double> vectors = indicators<double>(backend, constants.component, constants.weak);
  const std::int64_t n = vectors.rows();
  Dense<double> products(backend.device(), n, vectors.columns());
  Array<double> energies(backend.device(), vectors.columns());
  for (std::int64_t k = 0; k < vectors.columns(); ++k) {
    const double* const vector = vectors.data() + k * n;
    double* const product = products.data() + k * n;
    backend.for_each(n, ScaleByRowSum{constants.rows.data(), vector, product});
    backend.reduce(n, Product<double>{vector, product}, StoreDouble{energies.data() + k});
  }
  return {std::move(vectors), std::move(products), std::move(energies)};
}

/// Finds the constants on the components of A as find_constants() does, with the weak ones as modes. Waits.
template <class B, template <class> class M, class T>
KnownConstants<B, T> known_constants(B& backend, const M<T>& A) {
  ConstantsOnComponents<T> found = find_constants(backend, A);
  WeakModes<B, T> weak = weak_modes(backend, found);
  return {std::move(found.singular), std::move(found.rounded), std::move(weak)};
}

/// Null space of A_0, and what was found along with it.
template <class B, class T>
struct NullSpace {
  Dense<T> basis;                     ///< orthonormal columns; none if no null vector is known
  std::int64_t proven = 0;            ///< the first columns, which are exact null vectors
  WeakModes<B, T> weak = {};          ///< of constants that are not quite null vectors
  HostInverse coarsest_inverse = {};  ///< of the coarsest matrix, if it was computed
};

/// Numbers of constants among null vectors: first the exact ones, then the weak ones.
struct CountedConstants {
  std::int64_t exact, proven, weak;
};
/// Adds constants to null vectors. `is_symmetric`: whether A equals its transpose exactly.
template <class B, class T, class M, class IsSymmetric>
CountedConstants add_constants(const KnownConstants<B, T>& constants, const IsSymmetric& is_symmetric,
                               NullVectors<B, T, M>& vectors) {
  CountedConstants counted{};
  vectors.add(constants.singular);
  counted.exact = vectors.count();
  counted.proven = counted.exact == 0 || is_symmetric() ? counted.exact : 0;
  vectors.add(rounded_to<T>(constants.weak.vectors()));
  counted.weak = vectors.count() - counted.exact;
  vectors.add(constants.rounded);
  return counted;
}
/// Makes the vectors, without the weak ones, the basis of `found`, unless they are too many.
template <class B, class T, class M>
void keep_null_vectors(const NullVectors<B, T, M>& vectors, const CountedConstants& counted,
                       WeakModes<B, T> weak, NullSpace<B, T>& found) {
  found.weak = std::move(weak);
  if (vectors.count() - counted.weak > most_null_vectors) return;
  found.proven = counted.proven;
  found.basis = vectors.basis(counted.exact, counted.weak);
}

/// Finds an orthonormal basis of the null space of the symmetric semidefinite A_0, as far as it can be known:
/// constants on components, those of `candidates` that are null vectors, and the coarsest level's prolonged
/// null vectors. They are zero in the zero rows of A_0, whose unit vectors are further null vectors. The
/// components are computed only if row sums do not exclude the constant, or the coarsest matrix is nearly
/// singular. Waits.
template <class B, class T>
NullSpace<B, T> find_null_space(B& backend, const std::vector<HierarchyLevel<T>>& levels,
                                const MatrixCharacter& character, const Array<std::int32_t>& zero_rows,
                                const Dense<T>& candidates) {
  const double suspicious_growth = 0.1 / weak_level(std::numeric_limits<T>::epsilon());
  const Csr<T>& A = *levels.front().A;
  const Csr<T>& coarsest = *levels.back().A;
  const Device& device = backend.device();
  const Dense<T> none(device, A.rows(), 0);
  NullSpace<B, T> found{none};
  if (A.nonzeros() == 0) return found;
  const bool has_constants = candidates.columns() > 0 || !excludes_constant<T>(A.rows(), character);
  KnownConstants<B, T> constants{none, none};
  if (has_constants) constants = known_constants(backend, A);
  const Dense<T> given = null_vectors_among(backend, A, candidates);
  Dense<T> prolonged = none;
  if (coarsest.rows() <= largest_inverse) {
    // A null vector that is known says that small eigenvalues are those of a singular matrix.
    const bool is_singular = constants.singular.columns() + constants.rounded.columns() + given.columns() > 0;
    HostInverse& inverse = found.coarsest_inverse;
    inverse = is_singular ? semidefinite_inverse(coarsest) : host_inverse(coarsest, true);
    const bool is_suspicious = inverse.null_space.columns() > 0 || inverse.growth > suspicious_growth;
    if (!has_constants && is_suspicious) constants = known_constants(backend, A);
    prolonged = prolonged_null_space(backend, levels, inverse.null_space);
  }
  NullVectors<B, T> vectors(backend, A, zero_rows);
  const auto is_symmetric = [&] { return find_asymmetry(backend, A, 0).value == FirstIndex::none; };
  const CountedConstants counted = add_constants(constants, is_symmetric, vectors);
  vectors.add_tested(given);
  if (prolonged.columns() > 0) vectors.add_tested(prolonged);
  keep_null_vectors(vectors, counted, std::move(constants.weak), found);
  return found;
}

}  // namespace echelon::multigrid
