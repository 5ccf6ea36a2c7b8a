// SPDX-License-Identifier: BSD-3-Clause
/// Coarsening of a complex matrix by a real one with its pattern.
///
/// The companion B of A has the magnitudes of A's elements, each with the sign of its real part relative to
/// the phases of the diagonal elements of its row and column, and a diagonal that makes no row sum negative:
///   b_ij = ±|a_ij|,  b_ii = max(|a_ii|, -sum over j != i of b_ij).
/// B is symmetric if A is Hermitian or complex symmetric, B = A if A is a real matrix with a positive
/// diagonal and row sums of at least zero, and B is the Laplacian if A is a shifted one: the second argument
/// of the maximum removes a shift towards zero, which interpolation would take for an indefinite matrix.
/// Prolongations by B are real, so that P^T A P is Hermitian, or complex symmetric, where A is.
#pragma once

#include "backend/store.hpp"
#include "backend/target.hpp"
#include "linalg/vector/functors.hpp"
#include "matrix/row_blocks.hpp"
#include "matrix/rows.hpp"
#include "multigrid/coarsening/coarsening.hpp"
#include "support/scalar.hpp"

#include <echelon/matrix/csr.hpp>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace echelon::multigrid {

/// a_ii, a term of the trace.
template <class T>
struct TraceTerm {
  SparseRows<T> A;
  ECHELON_ANYWHERE SumOf<Dot<T>> operator()(std::int64_t i) const {
    return {static_cast<Dot<T>>(A.at(i, i))};
  }
};

/// Writes the square root of the phase of a_ii relative to that of the trace; 1 for a zero element. Roots are
/// taken relative to the trace because they jump where a phase passes -1.
template <class T>
struct RootOfPhase {
  SparseRows<T> A;
  Dot<T> trace_phase;
  Dot<T>* root;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const auto diagonal = static_cast<Dot<T>>(A.at(i, i));
    const double size = magnitude(diagonal);
    root[i] = size > 0 ? std::sqrt(diagonal / size * conj(trace_phase)) : Dot<T>{1};
  }
};

/// Writes the values of row i of B, with the pattern of A.
template <class T>
struct FillCompanion {
  SparseRows<T> A;
  Dot<T> trace_phase;
  const Dot<T>* root;
  Real<T>* values;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    double sum = 0;
    std::int64_t diagonal = -1;
    for (std::int64_t k = A.begin(i); k < A.end(i); ++k) {
      const std::int64_t j = A.column(k);
      const double size = magnitude(A.values[k]);
      const Dot<T> phase = trace_phase * root[i] * root[j];
      const bool has_sign_of_diagonal = (static_cast<Dot<T>>(A.values[k]) * conj(phase)).real() > 0;
      values[k] = static_cast<Real<T>>(has_sign_of_diagonal || j == i ? size : -size);
      if (j == i) {
        diagonal = k;
      } else {
        sum += static_cast<double>(values[k]);
      }
    }
    if (diagonal >= 0 && -sum > static_cast<double>(values[diagonal]))
      values[diagonal] = static_cast<Real<T>>(-sum);
  }
};

/// The companion of A, whose pattern it borrows; a real A itself. Waits.
template <class B, class T>
decltype(auto) real_companion(B& backend, const Csr<T>& A) {
  if constexpr (!is_complex<T>) {
    return (A);
  } else {
    using Element = Dot<T>;
    const SparseRows<T> rows(A);
    Array<SumOf<Element>> trace(A.device(), 1);
    backend.reduce(A.rows(), TraceTerm<T>{rows}, Store<SumOf<Element>>{trace.data()});
    const Element sum = backend.read(trace.data()).value;
    const Element phase = sum == Element{0} ? Element{1} : sum / magnitude(sum);
    Array<Element> root(A.device(), A.rows());
    backend.for_each(A.rows(), RootOfPhase<T>{rows, phase, root.data()});
    Array<Real<T>> values(A.device(), A.nonzeros());
    backend.for_each(A.rows(), FillCompanion<T>{rows, phase, root.data(), values.data()});
    return CsrAccess::with_pattern_of(A, std::move(values));
  }
}

/// to = the real part of from.
template <class T>
struct RealPart {
  const T* from;
  Real<T>* to;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { to[i] = from[i].real(); }
};

/// Coarsens complex matrices by their companions.
template <class B, class T>
class CompanionCoarsening final : public Coarsening<T> {
 public:
  CompanionCoarsening(const Device& device, std::unique_ptr<Coarsening<Real<T>>> coarsening)
      : backend_(device), coarsening_(std::move(coarsening)) {}

  Csr<T> prolongation(const Csr<T>& A, int level, std::string& reason) override {
    const Csr<Real<T>> P = coarsening_->prolongation(real_companion(backend_, A), level, reason);
    Csr<T> complex = Csr<T>::unchecked(P.rows(), P.columns(), P.row_offsets(), P.column_indices(),
                                       Array<T>(A.device(), P.nonzeros()));
    widen(P, complex);
    return complex;
  }
  void update_values(const Csr<T>& A, int level, Csr<T>& P) override {
    if (!updates_prolongations()) return;
    Array<Real<T>> parts(P.device(), P.nonzeros());
    backend_.for_each(P.nonzeros(), RealPart<T>{P.values().data(), parts.data()});
    Csr<Real<T>> real = CsrAccess::with_pattern_of(P, std::move(parts));
    coarsening_->update_values(real_companion(backend_, A), level, real);
    widen(real, P);
  }
  [[nodiscard]] bool updates_prolongations() const override { return coarsening_->updates_prolongations(); }

 private:
  /// Copies the values of P to `complex`, which has its pattern.
  void widen(const Csr<Real<T>>& P, Csr<T>& complex) {
    backend_.for_each(P.nonzeros(), ConvertVector<Real<T>, T>{P.values().data(), complex.values().data()});
  }

  B backend_;
  std::unique_ptr<Coarsening<Real<T>>> coarsening_;
};

}  // namespace echelon::multigrid
