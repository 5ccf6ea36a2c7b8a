// SPDX-License-Identifier: BSD-3-Clause
/// The problems of one subdomain: its interior, its Schur complement with constraints, and its part of the
/// coarse space.
///
/// G is the matrix of the constrained problem: the Schur complement S of the subdomain, or the subdomain
/// matrix itself with right-hand sides that vanish in the interior, which has the same solutions on the
/// boundary. The unknowns of G are corners c, pins p and free ones F. Corners have given values. Pins are a
/// few unknowns whose removal makes G_FF positive definite where the subdomain floats; with the multipliers
/// mu of the averages, C x = h, they are the unknowns y of a small dense system:
///   G_FF x_F + B y = r_F - G_Fc x_c,   B^T x_F + D y = (r_p - G_pc x_c, h),
///   B = (G_Fp, C_F^T),   D = (G_pp, C_p^T; C_p, 0).
/// With X = G_FF^-1 B its matrix is D - B^T X, which has as many negative eigenvalues as there are averages
/// and no zero one unless the constraints leave a mechanism.
#pragma once

#include "domain_decomposition/bddc/local/factor.hpp"
#include "domain_decomposition/bddc/local/matrix.hpp"

#include <echelon/cancellation.hpp>
#include <echelon/methods/bddc.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace echelon::bddc {

/// The Schur complement S of a subdomain in the memory of a GPU. Calls wait.
class SchurOnDevice {
 public:
  SchurOnDevice() = default;
  SchurOnDevice(const SchurOnDevice&) = delete;
  SchurOnDevice& operator=(const SchurOnDevice&) = delete;
  virtual ~SchurOnDevice() = default;
  /// Column of S.
  [[nodiscard]] virtual std::vector<double> column(std::int32_t place) const = 0;
  /// S_FF x, the places F ascending.
  [[nodiscard]] virtual std::vector<double> product(std::span<const std::int32_t> places,
                                                    const std::vector<double>& x) const = 0;
  /// Factor of S_FF, which refers to this object.
  [[nodiscard]] virtual FactorAttempt factor(std::span<const std::int32_t> places) = 0;
};

/// Constraints of a subdomain, with the numbers of their coarse unknowns. Places count along the boundary.
struct LocalConstraints {
  struct Corner {
    std::int32_t number;
    std::int32_t place;
  };
  struct Average {
    std::int32_t number;
    std::vector<std::int32_t> places;
    std::vector<double> weights;
  };
  std::vector<Corner> corners;
  std::vector<Average> averages;
};

struct LocalSettings {
  BddcInterior interior = BddcInterior::sparse_cholesky;
  BddcSchur schur = BddcSchur::sparse_cholesky;
  double schur_tolerance = 0;
  bool schur_pivoting = false;
  std::int64_t block_size = 1;
  bool needs_schur_matrix = false;  ///< for deluxe scaling
  bool for_gpu = false;             ///< a GPU factors the interiors and computes S
  CancellationToken cancel = {};
};

class LocalProblem {
 public:
  /// Vectors of one application at a time.
  struct Scratch {
    std::unique_ptr<Workspace> interior_workspace, local_workspace;
    std::vector<double> interior;            ///< twice the interior's size
    std::vector<double> residual, solution;  ///< of the unknowns F
    std::vector<double> small;               ///< y
    [[nodiscard]] std::size_t bytes() const;
  };

  /// Factors the interior and, if the settings ask for it, computes the Schur complement. For a GPU it does
  /// neither. Analyses of the factors of an earlier set-up serve again where the patterns are equal.
  [[nodiscard]] Outcome setup_interior(LocalMatrix matrix, const LocalSettings& settings);
  /// Factors the constrained problem and computes the coarse basis. Releases the Schur complement.
  [[nodiscard]] Outcome setup_constrained(const LocalConstraints& constraints, const LocalSettings& settings);
  // A GPU gives S between the two parts: to the host, or in its own memory, where it stays in place until the
  // factor is released.
  void set_schur_matrix(Dense<double> S) { schur_ = std::move(S); }
  void set_schur_on_device(SchurOnDevice& S) { on_device_ = &S; }
  /// Releases S and the factor of the constrained problem: no solves are possible.
  void release_factor() {
    schur_ = {};
    free_ = nullptr;
    on_device_ = nullptr;
  }

  [[nodiscard]] const LocalMatrix& matrix() const { return matrix_; }
  /// S, between the two parts of the set-up; empty if it was not computed.
  [[nodiscard]] const Dense<double>& schur_matrix() const { return schur_; }
  /// First unknowns of a singular interior without boundary, which stay 0.
  [[nodiscard]] std::int64_t omitted() const { return omitted_; }
  /// Places of the unknowns F on the boundary.
  [[nodiscard]] const std::vector<std::int32_t>& free_places() const { return free_places_; }
  /// Rows and columns F of G^-1 where G is S, as the factor has them.
  [[nodiscard]] Dense<double> free_inverse() const;
  /// Z and Z M^-1, a row for each place of the boundary: the solution of the constrained problem is
  /// w = G_FF^-1 r_F + Z M^-1 Z^T r, the first term in F.
  struct Correction {
    Dense<double> Z, product;
  };
  [[nodiscard]] Correction correction() const;
  /// Coarse unknowns of the subdomain.
  [[nodiscard]] const std::vector<std::int32_t>& coarse_numbers() const { return numbers_; }
  /// Phi: a row for each place of the boundary, a column for each coarse unknown.
  [[nodiscard]] const Dense<double>& coarse_basis() const { return basis_; }
  /// Phi^T S Phi, symmetric.
  [[nodiscard]] const Dense<double>& coarse_matrix() const { return coarse_matrix_; }

  [[nodiscard]] Scratch make_scratch() const;
  /// x_I = A_II^-1 r_I.
  void solve_interior(Scratch& scratch, const double* r, double* x) const;
  /// w with C w = 0 that minimises w^T S w / 2 - r^T w; r and w along the boundary, not overlapping.
  void solve_constrained(Scratch& scratch, const double* r, double* w) const;
  /// y_B = S x_B.
  void multiply_schur(Scratch& scratch, const double* x, double* y) const;

  [[nodiscard]] std::size_t bytes() const;

 private:
  struct Columns;  // of the set-up of the constrained problem

  [[nodiscard]] Outcome factor_interior(const LocalSettings& settings);
  [[nodiscard]] bool eliminate_interior(const LocalSettings& settings);
  void compute_schur();
  void choose_pins(const std::vector<bool>& is_corner, std::int64_t block_size);
  void number_free_unknowns(const std::vector<bool>& is_corner);
  [[nodiscard]] std::vector<std::int32_t> free_rows() const;
  [[nodiscard]] bool is_singular_to_rounding() const;
  [[nodiscard]] bool is_semidefinite(const CancellationToken& cancel) const;
  [[nodiscard]] Outcome factor_free(const LocalSettings& settings);
  [[nodiscard]] std::vector<double> matrix_column(std::int32_t place) const;
  [[nodiscard]] Columns make_columns(const LocalConstraints& constraints) const;
  [[nodiscard]] Outcome factor_small(const LocalConstraints& constraints, const Columns& columns);
  void make_basis(const LocalConstraints& constraints, const Columns& columns);
  void solve_small(double* y) const;

  LocalMatrix matrix_;
  std::int64_t omitted_ = 0;  // first unknowns of a singular interior without boundary, which stay 0
  Csr<double> interior_matrix_;
  std::unique_ptr<LocalFactor> interior_;
  Dense<double> schur_;
  SchurOnDevice* on_device_ = nullptr;  // in place of schur_
  bool is_dense_ = false;               // whether G is S

  std::vector<std::int32_t> pins_;         // places
  std::vector<std::int32_t> free_places_;  // places of the free unknowns of the boundary
  std::int64_t free_interior_ = 0;         // free unknowns before them: the interior, or none
  Csr<double> free_matrix_;
  std::unique_ptr<LocalFactor> free_;
  Dense<double> X_;  // rows of X on the boundary
  Dense<double> small_;
  std::vector<int> small_pivots_;

  std::vector<std::int32_t> numbers_;
  Dense<double> basis_;
  Dense<double> coarse_matrix_;
};

}  // namespace echelon::bddc
