// SPDX-License-Identifier: BSD-3-Clause
/// Null vectors of symmetric matrices: constants on connected components, and given vectors that A maps to
/// zero.
#pragma once

#include "backend/store.hpp"
#include "backend/target.hpp"
#include "linalg/components.hpp"
#include "linalg/constant_modes.hpp"
#include "linalg/vector/functors.hpp"
#include "matrix/rows.hpp"
#include "solver/null_space.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/dense.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace echelon {

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
  backend.reduce(n, Product<T>{x, x}, StoreDouble{sum.data()});
  return std::sqrt(backend.read(sum.data()));
}

/// Contributes to ||R A x||^2 and ||R |A| |x| ||^2, where R scales the largest element of each row to 1.
template <class T>
struct ScaledRowProduct {
  SparseRows<T> A;
  const T* x;
  ECHELON_ANYWHERE TwoSums operator()(std::int64_t i) const {
    double largest = 0;
    for (std::int64_t k = A.begin(i); k < A.end(i); ++k) {
      largest = std::fmax(largest, std::fabs(static_cast<double>(A.values[k])));
    }
    if (!(largest > 0)) return {};
    double sum = 0;
    double magnitude = 0;
    for (std::int64_t k = A.begin(i); k < A.end(i); ++k) {
      const double term = static_cast<double>(A.values[k]) / largest * static_cast<double>(x[A.column(k)]);
      sum += term;
      magnitude += std::fabs(term);
    }
    return {sum * sum, magnitude * magnitude};
  }
};

/// Computes ||R A x|| / ||R |A| |x| || with the R of ScaledRowProduct: no scaling of rows or columns of A
/// changes it. Infinite if it is not defined. Waits.
template <class B, class T>
double relative_product(B& backend, const Csr<T>& A, const T* x) {
  Array<TwoSums> sums(backend.device(), 1);
  backend.reduce(A.rows(), ScaledRowProduct<T>{SparseRows<T>(A), x}, Store<TwoSums>{sums.data()});
  const TwoSums squares = backend.read(sums.data());
  if (!(squares.second > 0)) return std::numeric_limits<double>::infinity();
  return std::sqrt(squares.first / squares.second);
}

/// Largest relative_product() with which x counts as a null vector.
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

/// Makes all columns zero in the listed rows: for a symmetric A whose rows these are, null vectors remain
/// null vectors.
template <class B, class T>
void clear_rows(B& backend, const Array<std::int32_t>& list, Dense<T>& columns) {
  for (std::int64_t k = 0; k < columns.columns(); ++k) {
    backend.for_each(list.size(), ClearListed<T>{list.data(), columns.data() + k * columns.rows()});
  }
}

/// x[i] = 1 where row i is in a component that is chosen, else 0.
template <class V>
struct IndicateChosen {
  const std::uint8_t* is_chosen;
  const std::int32_t* component;
  V* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    x[i] = is_chosen[component[i]] != 0 ? V{1} : V{0};
  }
};
template <class V>
struct IndicateComponent {
  std::int32_t c;
  const std::int32_t* component;
  V* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { x[i] = component[i] == c ? V{1} : V{0}; }
};

/// The indicators of the listed components as columns.
template <class V, class B>
Dense<V> indicators(B& backend, const Array<std::int32_t>& component,
                    const std::vector<std::int64_t>& listed) {
  const std::int64_t n = component.size();
  Dense<V> columns(backend.device(), n, std::ssize(listed));
  V* column = columns.data();
  for (const std::int64_t c : listed) {
    backend.for_each(n, IndicateComponent<V>{static_cast<std::int32_t>(c), component.data(), column});
    column += n;
  }
  return columns;
}
/// The indicator of all listed components together.
template <class V, class B>
Dense<V> joint_indicator(B& backend, const Array<std::int32_t>& component, std::int64_t components,
                         const std::vector<std::int64_t>& listed) {
  std::vector<std::uint8_t> is_chosen(static_cast<std::size_t>(components), 0);
  for (const std::int64_t c : listed) is_chosen[static_cast<std::size_t>(c)] = 1;
  const Array<std::uint8_t> flags(backend.device(), std::span<const std::uint8_t>(is_chosen));
  Dense<V> vector(backend.device(), component.size(), 1);
  backend.for_each(component.size(), IndicateChosen<V>{flags.data(), component.data(), vector.data()});
  return vector;
}

/// Constants on the connected components of a symmetric A that A maps close to zero, in the memory of A.
template <class T>
struct ConstantsOnComponents {
  Dense<T> singular;  ///< exact null vectors
  Dense<T> rounded;   ///< null vectors up to rounding
  Array<RowSum> rows = {};
  Array<std::int32_t> component = {};   ///< of each row
  std::vector<std::int64_t> weak = {};  ///< components whose constants are close to null vectors
};

/// Finds the constants, those of zero rows excluded. If those of one kind are more than `most_null_vectors`,
/// there are none of this kind, except that the constant stands for the exact null vectors of all components.
/// A is a Csr or a StencilMatrix. Waits.
template <class B, template <class> class M, class T>
ConstantsOnComponents<T> find_constants(B& backend, const M<T>& A) {
  ConnectedComponents components = find_components(backend, A);
  Array<RowSum> rows = sum_rows_exactly(backend, A);
  const std::vector<ComponentSum> sums =
      sum_components(backend, rows, components.of_vertex, components.count);
  const auto list = [&](ConstantMode mode) {
    std::vector<std::int64_t> listed;
    for (std::size_t c = 0; c < sums.size(); ++c) {
      if (!sums[c].is_zero() && sums[c].mode(std::numeric_limits<T>::epsilon()) == mode)
        listed.push_back(static_cast<std::int64_t>(c));
    }
    return listed;
  };
  const auto few = [](std::vector<std::int64_t> listed) {
    if (std::ssize(listed) > most_null_vectors) listed.clear();
    return listed;
  };
  const Array<std::int32_t>& component = components.of_vertex;
  const std::vector<std::int64_t> singular = list(ConstantMode::singular);
  Dense<T> exact = std::ssize(singular) > most_null_vectors
                       ? joint_indicator<T>(backend, component, components.count, singular)
                       : indicators<T>(backend, component, singular);
  Dense<T> rounded = indicators<T>(backend, component, few(list(ConstantMode::rounded)));
  return {std::move(exact), std::move(rounded), std::move(rows), std::move(components.of_vertex),
          few(list(ConstantMode::weak))};
}

/// Orthonormal null vectors of A, a Csr or a StencilMatrix, in the making.
template <class B, class T, class M = Csr<T>>
class NullVectors {
 public:
  NullVectors(B& backend, const M& A, const Array<std::int32_t>& zero_rows)
      : backend_(backend), A_(A), zero_rows_(zero_rows) {}

  /// Adds the parts of columns, which are zero in the zero rows of A thereafter, that are orthogonal to those
  /// added before.
  void add(Dense<T> columns) {
    add_if(std::move(columns), [](const T*) { return true; });
  }
  /// Adds those parts that A, a Csr, maps to zero.
  void add_tested(Dense<T> columns) {
    add_if(std::move(columns),
           [&](const T* v) { return relative_product(backend_, A_, v) <= null_vector_level<T>; });
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
  template <class Accepts>
  void add_if(Dense<T> columns, const Accepts& accepts) {
    clear_rows(backend_, zero_rows_, columns);
    for (std::int64_t k = 0; k < columns.columns(); ++k) {
      Array<T> vector(backend_.device(), A_.rows());
      backend_.copy(A_.rows(), columns.data() + k * A_.rows(), vector.data());
      if (make_orthonormal(vector) && accepts(vector.data())) vectors_.push_back(std::move(vector));
    }
  }
  /// The Gram-Schmidt process, applied twice. False if little of the vector is left.
  bool make_orthonormal(Array<T>& vector) const {
    const std::int64_t n = A_.rows();
    Array<double> part(backend_.device(), 1);
    const double before = norm(backend_, n, vector.data());
    for (int pass = 0; pass < 2; ++pass) {
      for (const Array<T>& other : vectors_) {
        backend_.reduce(n, Product<T>{other.data(), vector.data()}, StoreDouble{part.data()});
        backend_.for_each(n, SubtractColumns<T>{other.data(), n, 1, part.data(), vector.data()});
      }
    }
    const double after = norm(backend_, n, vector.data());
    if (!(after > 1e-6 * before)) return false;
    backend_.for_each(n, ScaleColumn<T>{1 / after, vector.data()});
    return true;
  }

  B& backend_;
  const M& A_;
  const Array<std::int32_t>& zero_rows_;
  std::vector<Array<T>> vectors_;
};

}  // namespace echelon
