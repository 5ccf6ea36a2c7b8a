// SPDX-License-Identifier: BSD-3-Clause
/// The methods that may suit a matrix, by its structure.
#include "solver/select_method.hpp"

#include "backend/backend.hpp"
#include "backend/openmp/openmp.hpp"
#include "linalg/dominance.hpp"

#include <echelon/matrix/structure.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

namespace echelon {

namespace {

/// Cost of a direct method on a device: a rough time estimate, and whether its factors fit into memory.
struct DirectCost {
  double seconds = 0;
  bool fits = false;
};

/// Flops per second that common machines reach, on the low side. An H200 with cuSOLVER stayed below 1.3e12 on
/// a singular graph of 82,168 unknowns.
constexpr double dense_flops_per_core = 3e10;
constexpr double dense_flops_per_gpu = 1e12;
constexpr double sparse_flops_per_core = 5e9;

/// Lower limit on the time of a sparse factorisation on an H200, from the latency of the levels of the
/// assembly tree. Measured: 13 to 28 ms for meshes of 1000 by 1000 points, 0.3 to 0.6 s for 5e12 to 1e13
/// flops.
constexpr double sparse_gpu_latency = 0.012;
constexpr double sparse_flops_per_gpu = 1.5e13;
/// Seconds of a core for each byte of the factor, in addition to those for the flops.
constexpr double sparse_core_seconds_per_byte = 2.5e-9;
/// Flops for each byte of the factor below which the matrix is like those of circuits and chains: a core
/// factors these column by column, and their trees have too many levels for a GPU.
constexpr double few_flops_per_byte = 2;

DirectCost dense_cost(const MethodSelection& selection) {
  const double size = static_cast<double>(selection.structure.rows);
  const double bytes = size * size * static_cast<double>(selection.element_size);
  const double rate =
      selection.device.on_host() ? dense_flops_per_core * selection.device.threads() : dense_flops_per_gpu;
  return {2.0 / 3.0 * size * size * size / rate,
          bytes < 0.8 * static_cast<double>(memory(selection.device).available) && size < 2e9};
}

/// Cost with memory for the factor, and about as much again for update matrices and copies.
DirectCost sparse_cost(const MethodSelection& selection, const Device& device) {
  if (!selection.factor) return {};
  const double flops = selection.factor->flops;
  const double seconds =
      device.on_host() ? flops / sparse_flops_per_core : sparse_gpu_latency + flops / sparse_flops_per_gpu;
  return {seconds,
          2 * static_cast<double>(selection.factor->bytes) < static_cast<double>(memory(device).available)};
}

/// Whether a core is expected to factor faster than a GPU; the analysis takes the same time.
bool quicker_on_host(const MethodSelection& selection) {
  const double bytes = static_cast<double>(selection.factor->bytes);
  const double host_seconds = sparse_cost(selection, Device()).seconds + sparse_core_seconds_per_byte * bytes;
  return selection.factor->flops <= few_flops_per_byte * bytes ||
         host_seconds <= sparse_cost(selection, selection.device).seconds;
}

/// Device of a sparse factorisation: the host if it is faster there, or if the factor exceeds the GPU's
/// memory.
Device factor_device(const MethodSelection& selection) {
  if (selection.device.on_host() || !selection.factor) return selection.device;
  const bool on_gpu = sparse_cost(selection, selection.device).fits && !quicker_on_host(selection);
  return on_gpu ? selection.device : Device();
}

/// Bounds on the time of a sparse factorisation. Below the first, it precedes all other methods, even if CG
/// would be faster, because its accuracy does not depend on the condition number of A as CG's does; below the
/// second, it precedes methods that may fail; below the third, it is the last resort.
constexpr double direct_first_seconds = 1;
constexpr double direct_before_krylov_seconds = 60;
constexpr double direct_at_last_seconds = 1200;

/// Time of dense elimination of a sparse matrix below which it comes first, since no analysis is faster.
/// Above, it comes first only if a sparse factorisation takes longer, because the factor would be full.
constexpr double dense_first_seconds = 0.005;

/// Number of rows from which ldlt is faster than lu on one thread, see docs/benchmarks/lu.md; on several
/// threads it is slower up to 2000 rows, since LAPACK's panels run on one.
constexpr std::int64_t ldlt_rows = 1500;

/// Limits for graphs that are expanders: a largest degree of this multiple of the mean degree (hubs), or a
/// mean degree of this size. CG with a diagonal preconditioner needs few iterations on them, see
/// docs/benchmarks/laplacians.md.
constexpr double hub_degree_ratio = 50;
constexpr double expander_degree = 20;
constexpr std::int64_t laplacian_jacobi_iterations = 80;
/// Elements of an SDDM matrix, about 10,000 edges, from which the method for graphs comes before a
/// factorisation, whose prediction alone takes longer.
constexpr std::int64_t sddm_nonzeros = 30'000;

/// Sizes from which multigrid is the first preconditioner if it is likely to suit A; on smaller matrices
/// incomplete factors take less time, see docs/choosing.md.
constexpr std::int64_t multigrid_rows = 20'000;
/// Longest row of a mesh, as a multiple of the mean: graphs with hubs cannot be coarsened like meshes.
constexpr double longest_mesh_row = 50;
/// Number of iterations after which multigrid, or Jacobi for a dominant A, is considered to have failed.
constexpr std::int64_t multigrid_iterations = 200;
constexpr std::int64_t dominant_iterations = 100;

/// Sizes below which the transfer to a GPU takes longer than it saves.
constexpr std::int64_t gpu_dense_rows = 1500;
constexpr std::int64_t gpu_nonzeros = 1'000'000;

double mean_degree(const Structure& structure) {
  const auto rows = static_cast<double>(std::max<std::int64_t>(structure.rows, 1));
  return static_cast<double>(structure.nonzeros) / rows - 1;
}
bool is_expander(const Structure& structure) {
  const double degree = mean_degree(structure);
  return static_cast<double>(structure.longest_row) > hub_degree_ratio * (degree + 1) ||
         degree > expander_degree;
}

template <class T>
Device select_device(const MatrixRef<T>& A, const std::optional<Device>& asked) {
  if (asked) return *asked;
  if (!A.device().on_host()) return A.device();
  const bool large = A.is_sparse() ? A.nonzeros() >= gpu_nonzeros : A.rows() >= gpu_dense_rows;
  if (large && cuda_device_count() > 0) return Device::cuda();
  return A.device();
}

/// Collects candidates for one matrix on one device.
class Candidates {
 public:
  explicit Candidates(const MethodSelection& selection)
      : device_(selection.device),
        structure_(selection.structure),
        dense_(dense_cost(selection)),
        direct_device_(factor_device(selection)),
        direct_(sparse_cost(selection, direct_device_)),
        band_(selection.has_narrow_band() ? selection.band : std::nullopt),
        factor_(selection.factor),
        sparse_(selection.sparse),
        graph_(selection.graph),
        strongly_dominant_(selection.strongly_dominant) {}

  std::vector<Candidate> take() {
    if (!sparse_) {
      dense("A is dense");
      krylov();
      return std::move(list_);
    }
    if (graph_ != DominanceKind::none) {
      graph();
      if (graph_ == DominanceKind::laplacian) krylov();
      return std::move(list_);
    }
    if (band_) banded();
    const bool full_factor = !direct_.fits || dense_.seconds <= direct_.seconds;
    if (dense_.fits &&
        (dense_.seconds <= dense_first_seconds || (full_factor && dense_.seconds <= direct_first_seconds))) {
      dense("A is small: elimination is certain and quick");
    }
    if (affordable(direct_first_seconds)) direct("a factorisation is certain and quick");
    if (plausibly_spd()) {
      conjugate_gradients(structure_.definiteness == Definiteness::positive_definite
                              ? "A is symmetric and positive definite (diagonally dominant)"
                              : "A is symmetric with a positive diagonal, so perhaps positive definite");
    }
    const bool before_krylov = !affordable(direct_first_seconds) && affordable(direct_before_krylov_seconds);
    if (before_krylov) direct("a factorisation is certain");
    krylov();
    if (!affordable(direct_before_krylov_seconds) && affordable(direct_at_last_seconds)) {
      direct("as a last resort, a factorisation");
    }
    return std::move(list_);
  }

  /// Candidates for an A that is known to be singular: methods that find a solution if one exists, or detect
  /// that none does.
  std::vector<Candidate> take_singular() {
    if (sparse_ && (band_ || affordable(direct_before_krylov_seconds))) {
      add("sparse-lu", direct_device_.on_host() ? direct_device_ : Device(), {},
          "A is singular: a factorisation tells its rank, and whether b lies in its range", direct_.seconds);
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
  /// Largest time of dense LU for which Gauss-Jordan elimination is tried on a singular matrix.
  static constexpr double elimination_seconds = 2;

  [[nodiscard]] bool plausibly_spd() const {
    return structure_.symmetric_values && structure_.positive_diagonals == structure_.rows &&
           structure_.definiteness != Definiteness::indefinite;
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
    const bool expands = is_expander(structure_);
    Options parameters = {{"strict", true}};
    std::string why = fmt::format("A is the Laplacian of a graph of mean degree {:.2g}", degree);
    if (graph_ == DominanceKind::sddm) why += ", with excess on its diagonal";
    if (!device_.on_host()) {
      add("lamg", parameters,
          why + ": CG with its diagonal if a trial shows that it suffices, else lean algebraic multigrid",
          {});
    }
    if (expands || strongly_dominant_) {
      parameters.set("jacobi_iterations", laplacian_jacobi_iterations);
      why += expands ? ", dense or with hubs" : " in every row";
      why += ": CG with its diagonal, then with an approximate Cholesky factor";
    } else {
      why += ": CG with an approximate Cholesky factor";
    }
    add("approximate-cholesky", device_.on_host() ? device_ : Device(), std::move(parameters), why, {});
  }

  void eliminate_singular() {
    if (!dense_.fits || dense_.seconds > elimination_seconds) return;
    add("gauss-jordan", {}, "A is singular: its rank, and whether b lies in its range");
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
    if (!dense_.fits) return;
    const std::string size = fmt::format("{} (n = {})", why, structure_.rows);
    if (plausibly_spd()) {
      add("cholesky", {}, "A may be positive definite, and " + size + ": Cholesky", dense_.seconds / 2);
      if (structure_.definiteness == Definiteness::positive_definite) return;
    }
    const bool one_thread = device_.on_host() && device_.threads() == 1;
    if (one_thread && structure_.symmetric_values && structure_.rows >= ldlt_rows) {
      add("ldlt", {}, "A is symmetric, and " + size + ": L D L^T with rook pivoting", dense_.seconds / 2);
    } else {
      add("lu", {}, size + ": LU with partial pivoting", dense_.seconds);
    }
  }

  /// Adds sparse factorisations: Cholesky if A may be positive definite, then, as for any other A, one with
  /// pivoting. A GPU pivots within fronts only, so the host follows for matrices on which that fails.
  void direct(const std::string& why) {
    const std::string cost = fmt::format("{} ({:.2g} flops predicted)", why, factor_->flops);
    if (plausibly_spd()) {
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
      add("cg", {{"preconditioner", "jacobi"}, {"max_iterations", dominant_iterations}},
          why + ": CG with Jacobi, which is quick where the dominance is strong");
    }
    const Candidate multigrid{"cg",
                              device_,
                              {{"preconditioner", "amg"}, {"max_iterations", multigrid_iterations}},
                              why + ": CG with algebraic multigrid"};
    if (is_large() && is_mesh()) {
      list_.push_back(multigrid);
      list_.back().reason += ", whose iterations hardly grow with a mesh";
    }
    // Incomplete factors then reduce the iterations most, but their triangular solves are slow on a GPU.
    // ILU(0) can be indefinite; IC(0) is shifted until it is positive definite.
    const Candidate strong{"cg", device_, {{"preconditioner", "ic0"}}, why + ": CG with IC(0)"};
    const Candidate light{"cg", device_, {{"preconditioner", "jacobi"}}, why + ": CG with Jacobi"};
    list_.push_back(device_.on_host() ? strong : light);
    list_.push_back(device_.on_host() ? light : strong);
    if (is_large() && !is_mesh()) list_.push_back(multigrid);
  }

  [[nodiscard]] bool is_large() const { return sparse_ && structure_.rows >= multigrid_rows; }
  /// Whether the rows are of similar length, as those of a mesh are.
  [[nodiscard]] bool is_mesh() const {
    const double mean = static_cast<double>(structure_.nonzeros) / static_cast<double>(structure_.rows);
    return static_cast<double>(structure_.longest_row) <= longest_mesh_row * mean;
  }
  /// Whether an unsymmetric A may be an upwind discretisation of convection and diffusion: an M-matrix.
  [[nodiscard]] bool plausibly_elliptic() const {
    return !structure_.symmetric_values && structure_.positive_diagonals == structure_.rows &&
           structure_.weakly_dominant_rows == structure_.rows;
  }

  void krylov() {
    const std::string shape =
        structure_.symmetric_values ? "A is symmetric, not surely definite" : "A is unsymmetric";
    if (structure_.symmetric_values) {
      add("minres", {{"max_iterations", 3000}}, shape + ": MINRES, which keeps few vectors");
    }
    if (is_large() && is_mesh() && plausibly_elliptic()) {
      add("bicgstab", {{"preconditioner", "amg"}, {"max_iterations", multigrid_iterations}},
          shape + ", with dominant rows: BiCGStab with algebraic multigrid");
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

  Device device_;
  Structure structure_;
  DirectCost dense_;
  Device direct_device_;
  DirectCost direct_;
  std::optional<BandPrediction> band_;  // of a narrow band
  std::optional<CostPrediction> factor_;
  bool sparse_;
  DominanceKind graph_;
  bool strongly_dominant_;
  std::vector<Candidate> list_;
};

/// Cost prediction for any square A of the pattern.
template <class T>
CostPrediction predict_factor_cost(const Csr<T>& A) {
  const Method& method = find_method("sparse-lu");
  if constexpr (std::is_same_v<T, double>) {
    return method.predict_double(A);
  } else {
    return method.predict_float(A);
  }
}

/// Class of a host matrix: a Laplacian, SDDM, or none of these. Symmetry is tested on some rows only: the
/// methods for graphs test the others. `excess` has an element for each row.
template <class T>
DominanceKind graph_kind(const Csr<T>& A, Array<T>& excess) {
  constexpr std::int64_t most_elements = 10000;
  const auto is_nonzero = [](T value) { return value != T{0}; };
  if (std::none_of(A.values().data(), A.values().data() + A.nonzeros(), is_nonzero))
    return DominanceKind::none;
  OpenMp backend{Device()};
  const DominanceKind kind = classify_rows(backend, A, excess.data()).kind();
  if (kind != DominanceKind::laplacian && kind != DominanceKind::sddm) return DominanceKind::none;
  const FindAsymmetry<T> find{A.row_offsets().data(), A.column_indices().data(), A.values().data()};
  const std::int64_t tested = std::min(A.rows(), most_elements * A.rows() / A.nonzeros() + 1);
  for (std::int64_t k = 0; k < tested; ++k) {
    if (find(k * A.rows() / tested).value != FirstIndex::none) return DominanceKind::none;
  }
  return kind;
}

/// Whether the excess of every row is a tenth of its diagonal element or more.
template <class T>
bool is_strongly_dominant(const Csr<T>& A, const Array<T>& excess) {
  constexpr double share = 0.1;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    double diagonal = 0;
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      if (A.column_indices()[k] == i) diagonal = static_cast<double>(A.values()[k]);
    }
    if (!(static_cast<double>(excess[i]) >= share * diagonal)) return false;
  }
  return true;
}

/// Structure of a Laplacian or SDDM matrix as far as the choice needs it, without a pass over the elements.
template <class T>
Structure structure_of_graph(const Csr<T>& L) {
  Structure structure;
  structure.rows = L.rows();
  structure.columns = L.columns();
  structure.nonzeros = L.nonzeros();
  structure.symmetric_pattern = structure.symmetric_values = true;
  structure.definiteness = Definiteness::positive_semidefinite;
  for (std::int64_t i = 0; i < L.rows(); ++i) {
    structure.longest_row = std::max(structure.longest_row, L.row_offsets()[i + 1] - L.row_offsets()[i]);
  }
  return structure;
}

}  // namespace

/// A narrow band has factors that take at most 1/32 of the memory of a dense factorisation: a small matrix
/// with a wide band is better factored as a dense one.
bool MethodSelection::has_narrow_band() const {
  if (!band) return false;
  const double rows = static_cast<double>(structure.rows);
  const double bytes = static_cast<double>(band->bytes);
  return 32 * bytes <= rows * rows * static_cast<double>(element_size) &&
         bytes < 0.5 * static_cast<double>(memory(device).available) &&
         band->seconds <= least_sparse_seconds(rows + static_cast<double>(structure.nonzeros), device);
}

template <class T>
MethodSelection MethodSelection::of(MatrixRef<T> A, const std::optional<Device>& device, bool as_sddm) {
  const Device target = select_device(A, device);
  require(target);
  if (!A.is_sparse() || A.rows() != A.columns()) {
    return {target, analyze_structure(A), sizeof(T), A.is_sparse()};
  }
  const Csr<T> copy = A.device().on_host() ? Csr<T>() : A.csr()->to(Device());
  const Csr<T>& host = A.device().on_host() ? *A.csr() : copy;
  Array<T> excess(Device(), host.rows());
  const DominanceKind kind = graph_kind(host, excess);
  MethodSelection selection{target, structure_of_graph(host), sizeof(T), true};
  if (kind == DominanceKind::laplacian) {
    selection.graph = kind;
    return selection;
  }
  selection.band = predict_band(host, target);
  if (as_sddm && kind == DominanceKind::sddm && target.on_host() && host.nonzeros() >= sddm_nonzeros &&
      !selection.has_narrow_band()) {
    selection.band.reset();
    selection.graph = kind;
    selection.strongly_dominant = is_strongly_dominant(host, excess);
    return selection;
  }
  selection.structure = analyze_structure(MatrixRef<T>(host));
  if (!selection.has_narrow_band()) selection.factor = predict_factor_cost(host);
  return selection;
}
template MethodSelection MethodSelection::of(MatrixRef<float>, const std::optional<Device>&, bool);
template MethodSelection MethodSelection::of(MatrixRef<double>, const std::optional<Device>&, bool);

std::vector<Candidate> MethodSelection::candidates() const {
  return Candidates(*this).take();
}
std::vector<Candidate> MethodSelection::singular_candidates() const {
  return Candidates(*this).take_singular();
}

template <class T>
std::vector<Candidate> choose(MatrixRef<T> A, const std::optional<Device>& device) {
  if (A.is_operator()) {
    const Device target = device.value_or(A.device());
    require(target);
    return {{"gmres",
             target,
             {{"restart", 100}, {"max_iterations", 2000}},
             "A is an operator, of which nothing is known but its products: GMRES"}};
  }
  const MethodSelection selection = MethodSelection::of(A, device);
  std::vector<Candidate> list = selection.candidates();
  if (selection.graph == DominanceKind::sddm) {
    for (Candidate& next : MethodSelection::of(A, device, false).candidates())
      list.push_back(std::move(next));
  }
  return list;
}

template std::vector<Candidate> choose(MatrixRef<float>, const std::optional<Device>&);
template std::vector<Candidate> choose(MatrixRef<double>, const std::optional<Device>&);

}  // namespace echelon
