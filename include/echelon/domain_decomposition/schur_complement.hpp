// SPDX-License-Identifier: BSD-3-Clause
/// Schur complements: the matrix that is left on some unknowns, the interface, when all others, the interior,
/// have been eliminated.
#pragma once

#include <echelon/cancellation.hpp>
#include <echelon/enum_words.hpp>
#include <echelon/export.h>
#include <echelon/linalg/determinant.hpp>
#include <echelon/matrix/matrix.hpp>
#include <echelon/ordering.hpp>
#include <echelon/report.hpp>
#include <echelon/solver.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace echelon {

/// Factorisation of the interior block A_II.
enum class SchurFactorization {
  automatic,  ///< cholesky for symmetric A if A_II is positive definite, else ldlt; lu for other A
  cholesky,   ///< A_II = L L^T (L L^H), for a symmetric (Hermitian) A with a positive definite A_II
  ldlt,       ///< A_II = L D L^T, for a symmetric A, or L D L^H, for a Hermitian one
  lu,         ///< A_II = L U
};
constexpr std::array<EnumWord<SchurFactorization>, 4> words_of(SchurFactorization) {
  return {{{SchurFactorization::automatic, "auto"},
           {SchurFactorization::cholesky, "cholesky"},
           {SchurFactorization::ldlt, "ldlt"},
           {SchurFactorization::lu, "lu"}}};
}

struct ECHELON_API SchurOptions {
  /// Factorisation of the interior block A_II; automatic: by the symmetry of A.
  SchurFactorization factorization = SchurFactorization::automatic;
  /// Order in which the interior of a sparse A is eliminated.
  Ordering ordering = Ordering::automatic;
  /// Most steps of iterative refinement of `solve`, 0 to 20.
  std::int64_t refine = 10;
  /// Estimate the condition number of A_II, which also detects a singular one, for about ten substitutions.
  bool condition = true;
  /// Device of the factorisation, in whose memory A is; empty: A's device.
  std::optional<Device> device = {};
  /// Tested from time to time during the factorisation.
  CancellationToken cancel = {};
};

/// S = A_BB - A_BI A_II^-1 A_IB for a square A, whose unknowns are divided into the interface B, which is
/// given, and the interior I, which is the rest; and the factors of A_II, for right-hand sides.
///
/// A sparse A is factored by the multifrontal method. The interior is ordered to keep the fill small and
/// eliminated; the interface is the front above all others, of which S is left. A dense A is divided into
/// blocks. Rows are exchanged within the interior only.
///
/// T is float, double or a complex type that the library is built for.
///
/// The interior has n_I unknowns, the interface n_B: S takes n_B^2 elements. A is referred to, not copied,
/// and `solve` reads it. Vectors are in the memory of `device()`. Const members may be called by several
/// threads at once. I. Duff, J. Reid, The multifrontal solution of indefinite sparse symmetric linear
/// systems, ACM Trans. Math. Softw. 9 (1983).
template <class T>
class ECHELON_API SchurComplement {
 public:
  /// Computes S. `interface` holds rows of A, which count from 0; S has its order. Throws DimensionMismatch
  /// for an A that is not square, InvalidMatrix for an index out of range or twice in the list,
  /// DeviceMismatch, OutOfMemory, BadOption, NotBuilt, NoDevice, and Error for an operator. Numerical
  /// failures are in the report.
  SchurComplement(MatrixRef<T> A, std::span<const std::int32_t> interface, const SchurOptions& options = {});
  template <OwningTemporary<T> M>
  SchurComplement(M&& A, std::span<const std::int32_t> interface, const SchurOptions& options = {}) = delete;
  SchurComplement(SchurComplement&&) noexcept;
  SchurComplement& operator=(SchurComplement&&) noexcept;
  ~SchurComplement();

  /// Report of the factorisation: `ready`, or `singular`, `not_spd`, `breakdown`, `not_a_number`,
  /// `out_of_memory`, `cancelled`. A singular A_II with a row is one whose rank is too low, of which the
  /// message names the columns; without a row it is one that is singular to working precision. The rank and
  /// the condition number are those of A_II; the statistics name the factorisation and what it cost.
  [[nodiscard]] const Report& report() const;
  [[nodiscard]] bool ready() const { return report().ready(); }
  [[nodiscard]] const Device& device() const;

  /// The interface in the given order, and the interior, ascending.
  [[nodiscard]] std::span<const std::int32_t> interface() const;
  [[nodiscard]] std::span<const std::int32_t> interior() const;

  // The following throw Error unless the report says `ready`.

  /// S, n_B by n_B; both triangles if A is symmetric. It is in the memory of `device()`.
  [[nodiscard]] const Dense<T>& matrix() const;
  /// The eigenvalues of A_II by sign, where the factorisation tells them: cholesky and ldlt.
  [[nodiscard]] std::optional<Inertia> interior_inertia() const;

  /// Right-hand sides of the interface's equations, G = B_B - A_BI A_II^-1 B_I: B is n by k, G n_B by k.
  /// Throws DimensionMismatch, DeviceMismatch.
  void reduce(DenseView<const T> B, DenseView<T> G) const;
  /// Completes solutions: X, n by k, gets X_B (n_B by k) in the interface, and X_I = A_II^-1 (B_I - A_IB X_B)
  /// in the interior. Zeros for X_B give A_II^-1 B_I.
  void expand(DenseView<const T> X_B, DenseView<const T> B, DenseView<T> X) const;
  /// Extends X_B into the interior for B = 0: X_I = - A_II^-1 A_IB X_B.
  void extend(DenseView<const T> X_B, DenseView<T> X) const;

  /// `reduce` and `expand` for A^T X = B, whose Schur complement is S^T: G = B_B - A_IB^T A_II^-T B_I, and
  /// X_I = A_II^-T (B_I - A_BI^T X_B).
  void reduce_transposed(DenseView<const T> B, DenseView<T> G) const;
  void expand_transposed(DenseView<const T> X_B, DenseView<const T> B, DenseView<T> X) const;

  /// Solves A X = B for n by k matrices by `reduce`, dense factors of S and `expand`, and refines. The first
  /// call factors S, in n_B^3 / 3 to 2 n_B^3 / 3 flops. The report has the true residual, and a status of its
  /// own for an S that is singular.
  [[nodiscard]] Report solve(DenseView<const T> B, DenseView<T> X) const;

  /// Bytes held on the device: S and the factors.
  [[nodiscard]] std::size_t bytes() const;

 private:
  struct [[gnu::visibility("hidden")]] State;
  std::unique_ptr<State> state_;
};

extern template class SchurComplement<float>;
extern template class SchurComplement<double>;

/// S and the factors that it is computed from; see SchurComplement.
template <class T>
[[nodiscard]] SchurComplement<T> schur_complement(const Csr<T>& A, std::span<const std::int32_t> interface,
                                                  const SchurOptions& options = {}) {
  return SchurComplement<T>(MatrixRef<T>(A), interface, options);
}
template <class T>
[[nodiscard]] SchurComplement<T> schur_complement(const Dense<T>& A, std::span<const std::int32_t> interface,
                                                  const SchurOptions& options = {}) {
  return SchurComplement<T>(MatrixRef<T>(A), interface, options);
}
template <class T>
SchurComplement<T> schur_complement(Csr<T>&& A, std::span<const std::int32_t> interface,
                                    const SchurOptions& options = {}) = delete;
template <class T>
SchurComplement<T> schur_complement(Dense<T>&& A, std::span<const std::int32_t> interface,
                                    const SchurOptions& options = {}) = delete;

}  // namespace echelon
