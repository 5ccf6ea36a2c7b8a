// SPDX-License-Identifier: BSD-3-Clause
// Structure of complex matrices, by that of the magnitudes of their elements.
#include "backend/api_boundary.hpp"
#include "matrix/host_copy.hpp"
#include "matrix/rows.hpp"
#include "matrix/structure/magnitudes.hpp"
#include "support/scalar.hpp"

#include <echelon/matrix/structure.hpp>

#include <support/scalar_list.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace echelon {

namespace {

/// How A compares with its transpose and with its adjoint.
struct MirrorFacts {
  bool symmetric = true;
  bool hermitian = true;
  double difference = 0;  ///< max |a_ij - a_ji|
};

template <class Rows>
MirrorFacts compare_with_mirror(const Rows& rows, std::int64_t n) {
  MirrorFacts facts;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t k = rows.begin(i); k < rows.end(i); ++k) {
      const auto element = rows.value(i, k);
      const auto mirror = rows.at(rows.column(k), i);
      facts.symmetric = facts.symmetric && element == mirror;
      facts.hermitian = facts.hermitian && element == conj(mirror);
      if (element != mirror) facts.difference = std::max(facts.difference, magnitude(element - mirror));
    }
  }
  return facts;
}

/// Gives real elements on the diagonal of |A| their signs.
template <class T>
void set_signs(const Csr<T>& A, Csr<double>& magnitudes) {
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      const T value = A.values()[k];
      if (A.column_indices()[k] == i && value.imag() == 0)
        magnitudes.values()[k] = static_cast<double>(value.real());
    }
  }
}
template <class T>
void set_signs(const DenseView<const T>& A, Dense<double>& magnitudes) {
  for (std::int64_t i = 0; i < std::min(A.rows(), A.columns()); ++i) {
    if (A(i, i).imag() == 0) magnitudes(i, i) = static_cast<double>(A(i, i).real());
  }
}

/// The structure of a matrix by its rows. Dominance, the minors of order two of a Hermitian matrix, and the
/// places of nonzeros are those of the magnitudes.
template <class Rows, class M>
Structure structure_of(const Rows& rows, const M& A) {
  auto magnitudes = magnitudes_of(A);
  set_signs(A, magnitudes);
  Structure structure = analyze_structure<double>(MatrixRef<double>(magnitudes));
  const bool square = structure.rows == structure.columns;
  const MirrorFacts mirror = square ? compare_with_mirror(rows, structure.rows) : MirrorFacts{false, false};
  structure.symmetric_values = mirror.symmetric;
  structure.hermitian_values = mirror.hermitian;
  if (square && mirror.difference < std::numeric_limits<double>::infinity())
    structure.asymmetry = mirror.difference > 0 ? mirror.difference / structure.largest_magnitude : 0;
  if (!mirror.hermitian) structure.definiteness = Definiteness::unknown;
  return structure;
}

template <class T>
Structure structure_of(const MatrixRef<T>& A) {
  return at_api_boundary([&] {
    const HostCopy<T> copy(A);
    const MatrixRef<T>& host = copy.matrix();
    if (host.is_sparse()) return structure_of(SparseRows<T>(*host.csr()), *host.csr());
    return structure_of(DenseRows<T>(host.dense()), host.dense());
  });
}

}  // namespace

#define ECHELON_SPECIALIZE(T)                   \
  template <>                                   \
  Structure analyze_structure(MatrixRef<T> A) { \
    return structure_of(A);                     \
  }
ECHELON_FOR_EACH_COMPLEX(ECHELON_SPECIALIZE)
#undef ECHELON_SPECIALIZE

}  // namespace echelon
