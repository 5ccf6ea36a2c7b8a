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

/// The elements of a matrix of doubles, as T.
template <class T>
Dense<T> rounded_to(const Dense<double>& A) {
  const std::vector<double> elements = A.to(Device()).to_vector();
  const std::vector<T> rounded(elements.begin(), elements.end());
  return {A.rows(), A.columns(), Array<T>(A.device(), std::span<const T>(rounded))};
}

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

/// Selects the columns of `candidates` that A maps to zero, up to rounding. Costs one product for each.
template <class B, class T>
Dense<T> null_vectors_among(B& backend, const Csr<T>& A, const Dense<T>& candidates) {
  const std::int64_t n = A.rows();
  std::vector<std::int64_t> found;
  for (std::int64_t k = 0; k < candidates.columns(); ++k) {
    if (relative_product(backend, A, candidates.data() + k * n) <= null_vector_level<T>) found.push_back(k);
  }
  Dense<T> vectors(backend.device(), n, static_cast<std::int64_t>(found.size()));
  for (std::size_t k = 0; k < found.size(); ++k) {
    backend.copy(n, candidates.data() + found[k] * n, vectors.data() + static_cast<std::int64_t>(k) * n);
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

/// True if the row sums exclude that the constant is a null vector, or close to one. A factor of 2 exceeds
/// rounding errors of the sums.
template <class T>
bool excludes_constant(std::int64_t n, const MatrixCharacter& character) {
  const double null_level = 2 * null_vector_level<T> * std::sqrt(static_cast<double>(n));
  const double weak_sums = 2 * weak_level(std::numeric_limits<T>::epsilon()) * character.beside;
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

/// The indicators of the components of a mode in the columns of a matrix on the host.
template <class V>
Dense<V> indicators(const std::vector<std::int32_t>& component, const std::vector<std::int64_t>& listed) {
  const auto n = static_cast<std::int64_t>(component.size());
  Dense<V> columns(Device(), n, static_cast<std::int64_t>(listed.size()));
  for (std::size_t k = 0; k < listed.size(); ++k) {
    V* const column = columns.data() + static_cast<std::int64_t>(k) * n;
    for (std::int64_t i = 0; i < n; ++i) {
      column[i] = component[static_cast<std::size_t>(i)] == listed[k] ? V{1} : V{0};
    }
  }
  return columns;
}

/// The weak modes of the listed components.
template <class B, class T>
WeakModes<B, T> weak_modes(B& backend, const std::vector<RowSum>& rows,
                           const std::vector<std::int32_t>& component,
                           const std::vector<std::int64_t>& listed) {
  if (listed.empty()) return {};
  const Dense<double> vectors = indicators<double>(component, listed);
  Dense<double> products = vectors;
  std::vector<double> energies(listed.size(), 0.0);
  const std::int64_t n = vectors.rows();
  for (std::int64_t k = 0; k < vectors.columns(); ++k) {
    for (std::int64_t i = 0; i < n; ++i) {
      products(i, k) *= rows[static_cast<std::size_t>(i)].sum;
      energies[static_cast<std::size_t>(k)] += products(i, k);
    }
  }
  const Device& device = backend.device();
  return {vectors.to(device), products.to(device), Array<double>(device, std::span<const double>(energies))};
}

/// Finds the constants on the components of a symmetric A, zero rows excluded, that A maps close to zero. If
/// those of one kind are more than `most_null_vectors`, there are none of this kind, except that the constant
/// stands for the exact null vectors of all components. Waits.
template <class B, class T>
KnownConstants<B, T> known_constants(B& backend, const Csr<T>& A) {
  const Components components = find_components(backend, A);
  const std::vector<std::int32_t> component = components.of_vertex.to_vector();
  const std::vector<RowSum> rows = sum_rows_exactly(backend, A);
  const std::vector<ConstantMode> modes =
      constant_modes(rows, component, components.count, std::numeric_limits<T>::epsilon());
  std::vector<bool> is_zero_row(modes.size(), true);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].magnitudes > 0) is_zero_row[static_cast<std::size_t>(component[i])] = false;
  }
  const auto list = [&](ConstantMode mode) {
    std::vector<std::int64_t> listed;
    for (std::size_t c = 0; c < modes.size(); ++c) {
      if (modes[c] == mode && !is_zero_row[c]) listed.push_back(static_cast<std::int64_t>(c));
    }
    return listed;
  };
  const auto few = [](std::vector<std::int64_t> listed) {
    if (std::ssize(listed) > most_null_vectors) listed.clear();
    return listed;
  };
  const Device& device = backend.device();
  const std::vector<std::int64_t> singular = list(ConstantMode::singular);
  Dense<T> exact = indicators<T>(component, few(singular));
  if (std::ssize(singular) > most_null_vectors) {
    exact = Dense<T>(Device(), A.rows(), 1);
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      exact(i, 0) =
          modes[static_cast<std::size_t>(component[static_cast<std::size_t>(i)])] == ConstantMode::singular
              ? T{1}
              : T{0};
    }
  }
  return {exact.to(device), indicators<T>(component, few(list(ConstantMode::rounded))).to(device),
          weak_modes<B, T>(backend, rows, component, few(list(ConstantMode::weak)))};
}

/// Orthonormal null vectors of A in the making.
template <class B, class T>
class NullVectors {
 public:
  NullVectors(B& backend, const Csr<T>& A, const Array<std::int32_t>& zero_rows)
      : backend_(backend), A_(A), zero_rows_(zero_rows) {}

  /// Adds the parts of columns, which are zero in the zero rows of A thereafter, that are orthogonal to those
  /// added before. If `tested`, parts that A does not map to zero are omitted.
  void add(Dense<T> columns, bool tested) {
    clear_rows(backend_, zero_rows_, columns);
    for (std::int64_t k = 0; k < columns.columns(); ++k) {
      Array<T> vector(backend_.device(), A_.rows());
      backend_.copy(A_.rows(), columns.data() + k * A_.rows(), vector.data());
      if (!make_orthonormal(vector)) continue;
      if (tested && !(relative_product(backend_, A_, vector.data()) <= null_vector_level<T>)) continue;
      vectors_.push_back(std::move(vector));
    }
  }
  [[nodiscard]] std::int64_t count() const { return std::ssize(vectors_); }

  /// The vectors as columns, without `omitted` ones from `first` on.
  [[nodiscard]] Dense<T> basis(std::int64_t first, std::int64_t omitted) const {
    Dense<T> columns(backend_.device(), A_.rows(), count() - omitted);
    std::int64_t at = 0;
    for (std::int64_t k = 0; k < count(); ++k) {
      if (k >= first && k < first + omitted) continue;
      backend_.copy(A_.rows(), vectors_[static_cast<std::size_t>(k)].data(),
                    columns.data() + at++ * A_.rows());
    }
    return columns;
  }

 private:
  /// The Gram-Schmidt process, applied twice. False if little of the vector is left.
  bool make_orthonormal(Array<T>& vector) const {
    const std::int64_t n = A_.rows();
    Array<double> part(backend_.device(), 1);
    const double before = norm(backend_, n, vector.data());
    for (int pass = 0; pass < 2; ++pass) {
      for (const Array<T>& other : vectors_) {
        backend_.reduce(n, Product<const T*, const T*>{other.data(), vector.data()},
                        StoreDouble{part.data()});
        backend_.for_each(n, SubtractColumns<T>{other.data(), n, 1, part.data(), vector.data()});
      }
    }
    const double after = norm(backend_, n, vector.data());
    if (!(after > 1e-6 * before)) return false;
    backend_.for_each(n, ScaleColumn<T>{1 / after, vector.data()});
    return true;
  }

  B& backend_;
  const Csr<T>& A_;
  const Array<std::int32_t>& zero_rows_;
  std::vector<Array<T>> vectors_;
};

/// Null space of A_0, and what was found along with it.
template <class B, class T>
struct NullSpace {
  Dense<T> basis;                     ///< orthonormal columns; none if no null vector is known
  std::int64_t proven = 0;            ///< the first columns, which are exact null vectors
  WeakModes<B, T> weak = {};          ///< of constants that are not quite null vectors
  HostInverse coarsest_inverse = {};  ///< of the coarsest matrix, if it was computed
};

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
  if (has_constants) constants = known_constants<B, T>(backend, A);
  const Dense<T> given = null_vectors_among(backend, A, candidates);
  Dense<T> prolonged = none;
  if (coarsest.rows() <= largest_inverse) {
    // A null vector that is known says that small eigenvalues are those of a singular matrix.
    const bool is_singular = constants.singular.columns() + constants.rounded.columns() + given.columns() > 0;
    HostInverse& inverse = found.coarsest_inverse;
    inverse = is_singular ? semidefinite_inverse(coarsest) : host_inverse(coarsest, true);
    const bool is_suspicious = inverse.null_space.columns() > 0 || inverse.growth > suspicious_growth;
    if (!has_constants && is_suspicious) constants = known_constants<B, T>(backend, A);
    prolonged = prolonged_null_space(backend, levels, inverse.null_space);
  }
  NullVectors<B, T> vectors(backend, A, zero_rows);
  vectors.add(constants.singular, false);
  const bool is_exact = vectors.count() == 0 || find_asymmetry(backend, A, 0).value == FirstIndex::none;
  found.proven = is_exact ? vectors.count() : 0;
  const std::int64_t before = vectors.count();
  vectors.add(rounded_to<T>(constants.weak.vectors()), false);
  const std::int64_t weak = vectors.count() - before;
  vectors.add(constants.rounded, false);
  vectors.add(given, true);
  if (prolonged.columns() > 0) vectors.add(prolonged, true);
  found.weak = std::move(constants.weak);
  if (vectors.count() - weak <= most_null_vectors) {
    found.basis = vectors.basis(before, weak);
  } else {
    found.proven = 0;
  }
  return found;
}

}  // namespace echelon::multigrid
