// SPDX-License-Identifier: BSD-3-Clause
/// Choice of methods by `auto`: the list of choose(), and the candidates when A turns out to be singular.
#pragma once

#include "linalg/dominance.hpp"
#include "solver/band_prediction.hpp"
#include "solver/selection/structure/sparse_structure.hpp"

#include <echelon/matrix/structure.hpp>
#include <echelon/solve.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace echelon {

/// Time of a sparse factorisation below which it precedes all other methods, even if CG would be faster,
/// because its accuracy does not depend on the condition number of A as CG's does.
inline constexpr double direct_first_seconds = 1;

/// A method set up to the analysis of a matrix: Solver::setup for the same matrix does not repeat it.
template <class T>
struct AnalyzedSolver {
  std::string method;
  Solver<T> solver;
  /// Cost of the factorisation that the analysis prepared.
  CostPrediction cost;
  double seconds = 0;  ///< of the analysis
};

/// Analyses a square A on the host for a sparse factorisation on a host device.
template <class T>
[[nodiscard]] AnalyzedSolver<T> analyze_factorization(const std::string& method, const Csr<T>& A,
                                                      const Device& device);

/// Facts on which the choice of methods depends.
struct MethodSelection {
  Device device;
  Structure structure;
  std::size_t element_size = 8;
  bool sparse = true;
  /// Prediction for a band factorisation of a square sparse A.
  std::optional<BandPrediction> band = {};
  /// Cost of the sparse factorisation that suits A by its symmetry; unset for a dense A, for an A with a
  /// narrow band, and if it is deferred. For an A that is not square, that of the quicker one of `sparse-qr`
  /// and `augmented`.
  std::optional<CostPrediction> factor = {};
  /// Cost of `sparse-qr` where `factor` is that of `augmented`.
  std::optional<CostPrediction> slower_qr = {};
  /// Whether an iterative method comes before a factorisation: it is expected to take less time, or an
  /// ordering alone takes longer than a factorisation that comes first may.
  bool iterative_first = false;
  /// Whether a Krylov method is tried for a small part of the time that a factorisation, or an ordering,
  /// takes.
  bool trial = false;
  /// Whether A's graph grows as that of a mesh in three dimensions, or faster: preconditioned Krylov methods
  /// take few iterations then, and factors fill.
  bool grows_fast = false;
  /// Whether the diagonal elements of a sparse A are positive and of about the same size.
  bool even_diagonal = false;
  /// Iterations that are tried for a sparse A that is not square before a factorisation is analysed.
  std::int64_t first_iterations = 0;
  /// Whether `factor` is to be found by complete(), where the candidates before a factorisation have failed.
  bool factor_deferred = false;
  /// Structural rank of a sparse A with zeros on its diagonal, if that is below the number of rows: A is
  /// singular whatever its values.
  std::optional<std::int64_t> deficient_rank = {};
  /// The factorisation, on the host, whose analysis predicted `factor`; none where that is an estimate.
  std::shared_ptr<void> analyzed = {};  ///< an AnalyzedSolver for the type of A's elements
  /// Whether A is complex: `band` and what follows from the signs of elements is unset.
  bool complex = false;
  /// Class of A if the methods for graphs suit it, a Laplacian or one with excess (SDDM); `band` and `factor`
  /// are then unset.
  DominanceKind graph = DominanceKind::none;
  /// Whether a large A of that class is a stencil on a two- or three-dimensional box, for
  /// structured-multigrid.
  bool is_stencil = false;
  /// Whether every row of such an A is dominant by a twentieth of its diagonal element or more.
  bool strongly_dominant = false;
  /// Whether a sample of the rows of a sparse A is dominant up to rounding.
  bool dominant_rows = false;
  /// Whether A is taken as symmetric although rounding errors, as of a computed B^T D B, make it differ from
  /// its transpose.
  bool nearly_symmetric = false;

  /// Analyses A; unless `as_sddm`, an SDDM matrix as any other, for the candidates that follow if the method
  /// for graphs fails; unless `stencils`, without looking for a stencil on a grid. Throws NotBuilt or
  /// NoDevice if `device` cannot be used.
  template <class T>
  [[nodiscard]] static MethodSelection of(MatrixRef<T> A, const std::optional<Device>& device,
                                          bool as_sddm = true, bool stencils = true);

  /// Predicts the cost of a factorisation for a sparse A that is not square, or leaves that to complete().
  template <class T>
  void begin_least_squares(const MatrixRef<T>& A);
  /// Predicts the cost of a factorisation for a sparse A that is not square.
  template <class T>
  void find_least_squares_cost(const MatrixRef<T>& A);

  /// Finds what was deferred: candidates() then has further ones after those that it had.
  template <class T>
  void complete(MatrixRef<T> A);

  /// The factorisation that was analysed, which leaves the selection.
  template <class T>
  [[nodiscard]] std::optional<AnalyzedSolver<T>> take_analyzed() {
    if (analyzed == nullptr) return std::nullopt;
    return std::move(*std::static_pointer_cast<AnalyzedSolver<T>>(std::exchange(analyzed, nullptr)));
  }

  /// Whether LU of a band is expected to be faster than other direct methods.
  [[nodiscard]] bool has_narrow_band() const;
  /// Whether A equals its transpose, has a positive diagonal, and nothing shows that it is indefinite.
  [[nodiscard]] bool plausibly_spd() const;
  /// Whether LU factors a real sparse A: also a symmetric one that is singular by its pattern and has hubs or
  /// no diagonal, as graphs have, since it takes rows and columns of one element first.
  [[nodiscard]] bool is_factored_by_lu() const {
    const bool is_graph = structure.zero_diagonals == structure.rows || !is_mesh();
    return !structure.symmetric_values || (deficient_rank && is_graph);
  }
  /// Whether a complex A equals its transpose, and not its adjoint.
  [[nodiscard]] bool is_complex_symmetric() const {
    return structure.symmetric_values && !structure.hermitian_values;
  }
  /// Candidates in the order in which to try them; at least the first `enough`, if there are that many.
  [[nodiscard]] std::vector<Candidate> candidates(
      std::size_t enough = std::numeric_limits<std::size_t>::max()) const;
  /// Candidates for a square A that is known to be singular: Krylov methods that find a solution of a
  /// consistent system, then, if n^3 flops are affordable, elimination with a rank decision.
  [[nodiscard]] std::vector<Candidate> singular_candidates() const;

  /// Whether an unsymmetric A may be an upwind discretisation of convection and diffusion: an M-matrix.
  [[nodiscard]] bool plausibly_elliptic() const;
  /// Whether the rows are of similar length, as those of a mesh are.
  [[nodiscard]] bool is_mesh() const;
  /// Whether A's graph has hubs or a mean degree above 20: CG with a diagonal preconditioner then needs few
  /// iterations, and incomplete factors take long.
  [[nodiscard]] bool is_expander() const;

 private:
  template <class T>
  [[nodiscard]] static MethodSelection of_real(MatrixRef<T> A, const std::optional<Device>& device,
                                               bool as_sddm, bool stencils);
  template <class T>
  [[nodiscard]] static MethodSelection of_complex(MatrixRef<T> A, const Device& device);
  template <class T>
  void complete_real(MatrixRef<T> A);
  /// Completes the selection for a square sparse A on the host.
  template <class T>
  void choose_family(const Csr<T>& A, bool as_sddm, bool stencils);
  /// Decides whether iterative methods come before a factorisation; `is_grid`: multigrid suits an SDDM
  /// matrix.
  void order_families(bool is_grid);
  /// Whether a Krylov method may be tried.
  [[nodiscard]] bool may_be_tried() const;
  /// Finds the structure of A as far as the choice needs it.
  template <class T>
  void describe_structure(const Csr<T>& A, const SparseRowSummary& rows, bool known_symmetric);
  /// Upper bound of the cost of a sparse factorisation: that of a full factor.
  [[nodiscard]] CostPrediction full_factor_cost() const;
  /// The cost of a factorisation that is certain to take more than measuring_flops, if it is.
  template <class T>
  [[nodiscard]] std::optional<CostPrediction> long_factorization(const Csr<T>& A,
                                                                 const std::optional<BoxStencil>& box) const;
  /// Finds `factor`, by an analysis unless A is small, or an estimate
  /// excludes that a sparse factorisation comes first.
  template <class T>
  void find_factor_cost(const Csr<T>& A);
};

/// Number of rows up to which dense elimination comes first for any sparse matrix that has no narrow band.
inline constexpr std::int64_t dense_first_rows = 64;
/// Rows up to which a complex A is factored as a dense matrix: that takes at most some milliseconds.
inline constexpr std::int64_t dense_complex_rows = 128;
/// Sizes from which multigrid is the first preconditioner if it is likely to suit A; on smaller matrices
/// incomplete factors take less time, see docs/choosing.md.
inline constexpr std::int64_t multigrid_rows = 20'000;
/// Number of iterations after which multigrid is considered to have failed.
inline constexpr std::int64_t multigrid_iterations = 200;
/// The methods for a square complex matrix, best first.
[[nodiscard]] std::vector<Candidate> complex_candidates(const MethodSelection& selection);
/// The methods for one that is known to be singular, best first.
[[nodiscard]] std::vector<Candidate> singular_complex_candidates(const MethodSelection& selection);

/// A sparse factorisation of fewer flops measures the error of an iterative method: that takes as long as to
/// factor in the first place.
inline constexpr double measuring_flops = 1e8;
[[nodiscard]] constexpr double elimination_flops(std::int64_t rows) {
  const auto n = static_cast<double>(rows);
  return 2.0 / 3 * n * n * n;
}
/// Flops of an orthogonal decomposition of an m by n matrix.
[[nodiscard]] constexpr double orthogonal_flops(std::int64_t m, std::int64_t n) {
  const auto longer = static_cast<double>(m > n ? m : n);
  const auto shorter = static_cast<double>(m > n ? n : m);
  return (2 * longer + shorter) * shorter * shorter;
}
/// Stored elements of a sparse A above which the error of an iterative method is not measured so.
inline constexpr std::int64_t most_measured_nonzeros = 120'000;

}  // namespace echelon
