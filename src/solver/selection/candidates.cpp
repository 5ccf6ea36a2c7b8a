// SPDX-License-Identifier: BSD-3-Clause
/// The methods that may suit a matrix, best first.
#include "solver/selection/direct_cost.hpp"
#include "solver/selection/method_selection.hpp"
#include "solver/selection/rectangular.hpp"

#include <echelon/linalg/blas.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace echelon {

namespace {

/// Bounds on the time of a sparse factorisation in addition to direct_first_seconds: below the first, it
/// precedes methods that may fail; below the second, it is the last resort.
constexpr double direct_before_krylov_seconds = 60;
constexpr double direct_at_last_seconds = 1200;

/// Number of rows from which the instructions that the BLAS uses decide between Cholesky and lu.
constexpr std::int64_t blas_rows = 100;

/// Iterations of CG with a diagonal preconditioner that are tried on graphs that are expanders.
constexpr std::int64_t laplacian_jacobi_iterations = 80;

/// Least number of iterations that a limit by time allows.
constexpr std::int64_t least_iterations = 30;
/// Share of the time of a factorisation that a trial of a Krylov method may take.
constexpr double trial_share = 0.25;
/// Rows of a symmetric A from which a trial with Jacobi takes less time than one with incomplete factors.
constexpr std::int64_t least_jacobi_rows = 40'000;
/// Number of iterations after which Jacobi for a dominant A is considered to have failed.
constexpr std::int64_t dominant_iterations = 100;
/// Numbers of iterations, expected and made, after which multigrid on arrays leaves A to algebraic multigrid.
/// It takes 6 for smooth coefficients, some 15 where they jump, and more where they vary from point to point.
constexpr std::int64_t structured_trial = 20;
constexpr std::int64_t structured_iterations = 50;
/// Number of iterations of BiCGStab with multigrid that take about as long as a factorisation.
constexpr std::int64_t upwind_iterations = 60;

double mean_degree(const Structure& structure) {
  const auto rows = static_cast<double>(std::max<std::int64_t>(structure.rows, 1));
  return static_cast<double>(structure.nonzeros) / rows - 1;
}
/// Collects candidates for one matrix on one device.
class Candidates {
 public:
  explicit Candidates(const MethodSelection& selection)
      : selection_(selection),
        device_(selection.device),
        structure_(selection.structure),
        dense_seconds_(dense_seconds(selection.structure.rows, selection.device)),
        direct_device_(factor_device(selection)),
        direct_(sparse_cost(selection, direct_device_)),
        band_(selection.has_narrow_band() ? selection.band : std::nullopt),
        factor_(selection.factor),
        sparse_(selection.sparse),
        graph_(selection.graph),
        strongly_dominant_(selection.strongly_dominant),
        plausibly_spd_(selection.plausibly_spd()),
        plausibly_elliptic_(selection.plausibly_elliptic()),
        is_mesh_(selection.is_mesh()),
        is_expander_(selection.is_expander()),
        is_stencil_(selection.is_stencil),
        grows_fast_(selection.grows_fast),
        iterative_first_(selection.iterative_first),
        trial_(selection.trial),
        factor_deferred_(selection.factor_deferred),
        ordering_seconds_(ordering_seconds(selection)) {}

  /// At least the first `enough`.
  std::vector<Candidate> take(std::size_t enough) {
    enough_ = enough;
    list_methods();
    return std::move(list_);
  }

  /// Candidates for an A that is known to be singular: methods that find a solution if one exists, or detect
  /// that none does.
  std::vector<Candidate> take_singular() {
    if (sparse_ && (band_ || affordable(direct_before_krylov_seconds))) {
      add(selection_.is_factored_by_lu() ? "sparse-lu" : "sparse-ldlt",
          direct_device_.on_host() ? direct_device_ : Device(), {},
          "A is singular: a factorisation determines its rank, and whether b is in its range",
          direct_.seconds);
    }
    // For a dense A elimination determines the rank and consistency at little more than the cost of a
    // factorisation.
    if (!sparse_) eliminate_singular();
    const std::string shape = "A is singular: a solution of minimal residual";
    if (structure_.symmetric_values) add("minres", {{"max_iterations", 2000}}, shape);
    add("gmres", {{"restart", 200}, {"max_iterations", 1000}}, shape);
    if (sparse_) eliminate_singular();
    return std::move(list_);
  }

 private:
  [[nodiscard]] bool is_enough() const { return list_.size() >= enough_; }

  void list_methods() {
    if (is_stencil_) {
      add("structured-multigrid", {{"max_iterations", structured_iterations}},
          fmt::format("A is a stencil on a box, close to an M-matrix: {} with multigrid on arrays",
                      structure_.symmetric_values ? "CG" : "BiCGStab"));
      list_.back().trial_iterations = structured_trial;
    }
    if (trial_) trial();
    if (!sparse_) {
      dense("A is dense");
      if (!is_enough()) krylov();
      return;
    }
    if (graph_ != DominanceKind::none) {
      graph();
      if (graph_ == DominanceKind::laplacian) krylov();
      return;
    }
    if (band_) banded();
    if (!iterative_first_ && !factor_deferred_) factor_first();
    if (is_enough()) return;
    if (factor_deferred_ && band_) return;
    if (iterative_first_ || !factor_deferred_) {
      if (plausibly_spd_) {
        conjugate_gradients(structure_.definiteness == Definiteness::positive_definite
                                ? "A is symmetric and positive definite (diagonally dominant)"
                                : "A is symmetric with a positive diagonal, so perhaps positive definite");
      }
      if (plausibly_elliptic_) upwind_multigrid();
    }
    if (factor_deferred_) return;
    const bool was_first = !iterative_first_ && affordable(direct_first_seconds);
    if (!was_first && affordable(direct_before_krylov_seconds)) direct("a factorisation is reliable");
    krylov();
    if (!affordable(direct_before_krylov_seconds) && affordable(direct_at_last_seconds)) {
      direct("as a last resort, a factorisation");
    }
  }

  /// Adds a factorisation that is reliable and takes little time.
  void factor_first() {
    if (is_nearly_full(selection_) || has_full_factor(selection_)) {
      dense("A is small: elimination is reliable and fast");
    }
    if (!is_enough() && affordable(direct_first_seconds)) direct("a factorisation is reliable and fast");
  }

  /// Adds a Krylov method that is given up unless it converges in a small part of the time of a
  /// factorisation, or of its ordering where that is all that is known.
  void trial() {
    const bool symmetric = plausibly_spd_;
    const std::string method = symmetric ? "cg" : "bicgstab";
    // Jacobi suffices for strong dominance and expanders, and takes less time for large meshes. Incomplete
    // factors pay where a factorisation is known to take long.
    const bool takes_long = grows_fast_ || factor_;
    const bool weak = !sparse_ || is_expander_ || !takes_long ||
                      structure_.strictly_dominant_rows == structure_.rows ||
                      (symmetric && structure_.rows >= least_jacobi_rows);
    const std::string preconditioner = weak ? "jacobi" : symmetric ? "ic0" : "ilu0";
    add(method, {{"preconditioner", preconditioner}},
        fmt::format("{}: a trial of {} with {}",
                    symmetric ? "A is symmetric with a positive diagonal" : "A has a full diagonal",
                    symmetric ? "CG" : "BiCGStab",
                    weak        ? "Jacobi"
                    : symmetric ? "IC(0)"
                                : "ILU(0)"));
    const double direct = !sparse_ ? dense_seconds_ : direct_.fits ? direct_.seconds : 0;
    const double seconds = trial_share * std::max(direct, sparse_ ? ordering_seconds_ : 0);
    const double passes = (symmetric ? 1 : 2) * (1 + (weak ? passes_of_jacobi : passes_of_ic0));
    const std::int64_t within = iterations_within(seconds, passes);
    const TrialLimits least = trial_limits(weak);
    Candidate& trial = list_.back();
    trial.trial_iterations = std::max(least.expected, within);
    trial.parameters.set("max_iterations", std::max(least.most, within));
  }

  /// Limits of the iterations of a trial: their number, and the one expected by the fall of the residual,
  /// which is slow at first on meshes.
  struct TrialLimits {
    std::int64_t expected;
    std::int64_t most;
  };
  /// Those that a trial is allowed whatever the predicted times are. On graphs that grow fast, multigrid
  /// takes as long as these, and CG with an approximate Cholesky factor twice as long.
  [[nodiscard]] TrialLimits trial_limits(bool weak) const {
    if (!sparse_) return {30, 30};
    if (graph_ != DominanceKind::none) return weak ? TrialLimits{120, 75} : TrialLimits{60, 40};
    if (!weak) return {120, 50};
    const bool may_take_more = strongly_dominant_ || (grows_fast_ && is_mesh_);
    return may_take_more ? TrialLimits{300, 150} : TrialLimits{least_iterations, least_iterations};
  }

  /// Adds a Krylov method that multiplies `products` times by A in each iteration, and has a preconditioner
  /// that reads A `passes` times, or as many bytes. Where a factorisation follows, an attempt that fails
  /// takes at most about its time: the iterations are limited by a model of their time, as no choice depends
  /// on a clock.
  void add_limited(const std::string& method, const std::string& preconditioner, double products,
                   double passes, std::optional<std::int64_t> most, std::string reason) {
    Options parameters = {{"preconditioner", preconditioner}};
    // The time of a factorisation is not known to what comes first.
    const bool comes_first = iterative_first_ && most.has_value();
    const bool is_followed = iterative_first_ || !affordable(direct_first_seconds);
    if (!comes_first && is_followed && affordable(direct_at_last_seconds)) {
      const std::int64_t within =
          std::max(least_iterations, iterations_within(direct_.seconds, products * (1 + passes)));
      most = std::min(most.value_or(within), within);
    }
    if (most) parameters.set("max_iterations", *most);
    add(method, std::move(parameters), std::move(reason));
  }
  static constexpr double passes_of_jacobi = 0;
  static constexpr double passes_of_ic0 = 2;
  static constexpr double passes_of_multigrid = 4;

  [[nodiscard]] std::int64_t iterations_within(double seconds, double passes) const {
    constexpr double bytes_per_second_of_core = 8e9;
    constexpr double bytes_per_second_of_gpu = 2e12;
    const double bytes =
        passes * (12 * static_cast<double>(structure_.nonzeros) + 80 * static_cast<double>(structure_.rows));
    const double rate = device_.on_host() ? bytes_per_second_of_core * std::pow(device_.threads(), 0.7)
                                          : bytes_per_second_of_gpu;
    return static_cast<std::int64_t>(std::min(seconds * rate / bytes, 1e6));
  }

  void add(std::string method, Options parameters, std::string reason, std::optional<double> seconds = {}) {
    add(std::move(method), device_, std::move(parameters), std::move(reason), seconds);
  }
  void add(std::string method, const Device& device, Options parameters, std::string reason,
           std::optional<double> seconds) {
    list_.push_back({std::move(method), device, std::move(parameters), std::move(reason), seconds});
  }

  [[nodiscard]] bool affordable(double seconds) const { return direct_.fits && direct_.seconds <= seconds; }

  /// Adds the method for graphs, which predicts no factor and knows the null space: one vector for each
  /// component without excess.
  void graph() {
    const double degree = mean_degree(structure_);
    Options parameters;
    std::string why = fmt::format("A is the Laplacian of a graph of mean degree {:.2g}", degree);
    if (graph_ == DominanceKind::sddm) why += ", with excess on its diagonal";
    if (!device_.on_host()) {
      add("lamg", parameters,
          why + ": CG with its diagonal if a trial shows that it suffices, else lean algebraic multigrid",
          {});
    }
    if (is_expander_ || strongly_dominant_) {
      parameters.set("jacobi_iterations", laplacian_jacobi_iterations);
      why += is_expander_ ? ", dense or with hubs" : " in every row";
      why += ": CG with its diagonal, then with an approximate Cholesky factor";
    } else {
      why += ": CG with an approximate Cholesky factor";
    }
    add("approximate-cholesky", device_.on_host() ? device_ : Device(), std::move(parameters), why, {});
  }

  void eliminate_singular() {
    if (dense_seconds_ > most_elimination_seconds || !dense_fits(selection_)) return;
    add("gauss-jordan", {}, "A is singular: its rank, and whether b is in its range");
  }

  void banded() {
    add("banded-lu", band_->renumbered ? Options{{"ordering", "rcm"}} : Options{},
        fmt::format("A is a band matrix with half-bandwidths {} and {}{}: LU without an analysis",
                    band_->lower, band_->upper,
                    band_->renumbered ? " after a reverse Cuthill-McKee numbering" : ""),
        band_->seconds);
  }

  /// Adds dense factorisations: Cholesky if A may be positive definite, then, as for any other A, one with
  /// pivoting, which exploits symmetry if that is faster.
  void dense(const std::string& why) {
    if (!dense_fits(selection_)) return;
    const std::string size = fmt::format("{} (n = {})", why, structure_.rows);
    // lu has kernels of its own, and Cholesky those of the BLAS.
    const bool slow_blas = device_.on_host() && structure_.rows >= blas_rows && !host_blas().warning.empty();
    if (plausibly_spd_ && !slow_blas) {
      add("cholesky", {}, "A may be positive definite, and " + size + ": Cholesky", dense_seconds_ / 2);
      if (structure_.definiteness == Definiteness::positive_definite) return;
    }
    const bool one_thread = device_.on_host() && device_.threads() == 1;
    if (one_thread && structure_.symmetric_values && structure_.rows >= ldlt_rows) {
      add("ldlt", {}, "A is symmetric, and " + size + ": L D L^T with rook pivoting", dense_seconds_ / 2);
    } else {
      add("lu", {}, size + ": LU with partial pivoting", dense_seconds_);
    }
  }

  /// Adds sparse factorisations: Cholesky if A may be positive definite, then, as for any other A, one with
  /// pivoting. A GPU pivots within fronts only, so the host follows for matrices on which that fails.
  void direct(const std::string& why) {
    const std::string cost = fmt::format("{} ({:.2g} flops predicted)", why, factor_->flops);
    if (plausibly_spd_) {
      add("sparse-cholesky", direct_device_, {},
          "A may be positive definite, and " + cost + ": sparse Cholesky", direct_.seconds);
      if (structure_.definiteness == Definiteness::positive_definite) return;
    }
    const double lu_seconds = (structure_.symmetric_values ? 2 : 1) * direct_.seconds;
    if (!direct_device_.on_host()) {
      add("sparse-lu", direct_device_, {}, cost + ": sparse LU", lu_seconds);
    }
    const Device host = direct_device_.on_host() ? direct_device_ : Device();
    if (structure_.symmetric_values) {
      add("sparse-ldlt", host, {}, "A is symmetric, and " + cost + ": sparse L D L^T", direct_.seconds);
    } else {
      add("sparse-lu", host, {}, cost + ": sparse LU", lu_seconds);
    }
  }

  void conjugate_gradients(const std::string& why) {
    if (sparse_ && structure_.strictly_dominant_rows == structure_.rows && is_large()) {
      add_limited("cg", "jacobi", 1, passes_of_jacobi, dominant_iterations,
                  why + ": CG with Jacobi, which is fast where the dominance is strong");
    }
    const std::string multigrid = why + ": CG with algebraic multigrid";
    if (is_large() && is_mesh_) {
      add_limited("cg", "amg", 1, passes_of_multigrid, multigrid_iterations,
                  multigrid + ", whose number of iterations hardly grows as a mesh is refined");
    }
    if (factor_deferred_) return;  // what follows is limited by the time of a factorisation
    // Incomplete factors then reduce the iterations most, but their triangular solves are slow on a GPU.
    // ILU(0) can be indefinite; IC(0) is shifted until it is positive definite.
    const auto strong = [&] { add_limited("cg", "ic0", 1, passes_of_ic0, {}, why + ": CG with IC(0)"); };
    if (device_.on_host()) strong();
    add_limited("cg", "jacobi", 1, passes_of_jacobi, {}, why + ": CG with Jacobi");
    if (!device_.on_host()) strong();
    if (is_large() && !is_mesh_)
      add_limited("cg", "amg", 1, passes_of_multigrid, multigrid_iterations, multigrid);
  }

  [[nodiscard]] bool is_large() const { return sparse_ && structure_.rows >= multigrid_rows; }

  void upwind_multigrid() {
    if (!is_large() || !is_mesh_) return;
    add_limited("bicgstab", "amg", 2, passes_of_multigrid, multigrid_iterations,
                "A is unsymmetric, with dominant rows: BiCGStab with algebraic multigrid");
    if (iterative_first_) list_.back().trial_iterations = upwind_iterations;
  }

  void krylov() {
    const std::string shape =
        structure_.symmetric_values ? "A is symmetric, possibly indefinite" : "A is unsymmetric";
    if (structure_.symmetric_values) {
      add("minres", {{"max_iterations", 3000}}, shape + ": MINRES, which keeps few vectors");
    }
    if (sparse_ && structure_.zero_diagonals == 0) {
      add("gmres", {{"preconditioner", "ilu0"}, {"max_iterations", 1000}}, shape + ": GMRES with ILU(0)");
      add("bicgstab", {{"preconditioner", "ilu0"}, {"max_iterations", 2000}},
          shape + ": BiCGStab with ILU(0)");
    }
    if (structure_.zero_diagonals == 0) {
      add("gmres", {{"preconditioner", "jacobi"}, {"restart", 100}, {"max_iterations", 2000}},
          shape + ": GMRES with Jacobi");
    } else {
      add("gmres", {{"restart", 200}, {"max_iterations", 2000}},
          fmt::format("{} and has {} zeros on the diagonal: GMRES without a preconditioner", shape,
                      structure_.zero_diagonals));
    }
  }

  const MethodSelection& selection_;
  Device device_;
  Structure structure_;
  double dense_seconds_;
  Device direct_device_;
  DirectCost direct_;
  std::optional<BandPrediction> band_;  // of a narrow band
  std::optional<CostPrediction> factor_;
  bool sparse_;
  DominanceKind graph_;
  bool strongly_dominant_;
  bool plausibly_spd_;
  bool plausibly_elliptic_;
  bool is_mesh_;
  bool is_expander_;
  bool is_stencil_;
  bool grows_fast_;
  bool iterative_first_;
  bool trial_;
  bool factor_deferred_;
  double ordering_seconds_;
  std::size_t enough_ = 0;
  std::vector<Candidate> list_;
};

}  // namespace

std::vector<Candidate> MethodSelection::candidates(std::size_t enough) const {
  if (complex) return complex_candidates(*this);
  if (structure.rows != structure.columns) return rectangular_candidates(*this);
  return Candidates(*this).take(enough);
}
std::vector<Candidate> MethodSelection::singular_candidates() const {
  if (structure.rows != structure.columns) return {};
  if (complex) return singular_complex_candidates(*this);
  return Candidates(*this).take_singular();
}

}  // namespace echelon
