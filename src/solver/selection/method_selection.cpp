// SPDX-License-Identifier: BSD-3-Clause
/// The facts about a matrix on which the choice of methods depends.
#include "solver/selection/method_selection.hpp"

#include "matrix/host_copy.hpp"
#include "solver/factor_estimate.hpp"
#include "solver/implementation.hpp"
#include "solver/selection/direct_cost.hpp"
#include "solver/selection/rectangular.hpp"
#include "solver/selection/structure/dense_structure.hpp"
#include "support/stopwatch.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/structure.hpp>

#include <fmt/format.h>
#include <support/scalar_list.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <utility>

namespace echelon {

namespace {

/// Elements of an SDDM matrix, about 10,000 edges, from which the method for graphs comes before a
/// factorisation of many flops.
constexpr std::int64_t sddm_nonzeros = 30'000;

/// Sizes from which a preconditioned Krylov method with multigrid takes less time than a factorisation of an
/// upwind discretisation, and than the method for graphs for a mesh, see docs/benchmarks/choosing.md.
constexpr std::int64_t upwind_rows = 50'000;
constexpr std::int64_t mesh_rows = 40'000;
/// Size from which multigrid on arrays takes less time than other iterations, where a factorisation takes
/// long.
constexpr std::int64_t stencil_rows = 8'000;
/// Size of a mesh in three dimensions up to which a simple preconditioner may take less time than multigrid.
constexpr std::int64_t most_tried_mesh_rows = 200'000;
/// Ratio of the diagonal elements up to which Jacobi is tried on such a mesh: where coefficients jump, its
/// residual tells little of the error.
constexpr double most_uneven = 10;
/// Exponent of growth from which a graph grows faster than a mesh in two dimensions.
constexpr double fast_growth = 2.1;

/// Stored elements from which the cost of a factorisation is estimated before it is predicted, which takes a
/// good part of a second or more: no prediction is needed if the estimate excludes that it comes first.
constexpr std::int64_t estimated_nonzeros = 2'000'000;
/// Rows from which the parts that it orders are a small part of A.
constexpr std::int64_t estimated_rows = 65'536;
constexpr std::int64_t estimated_nonzeros_for_gpu = 500'000;

template <class T>
Device select_device(const MatrixRef<T>& A, const std::optional<Device>& asked) {
  if (asked) return *asked;
  if (!A.device().on_host()) return A.device();
  constexpr double start_seconds = 0.2;  // of CUDA
  const bool large = A.is_sparse()
                         ? A.nonzeros() >= gpu_nonzeros
                         : A.rows() >= gpu_dense_rows && dense_seconds(A.rows(), A.device()) >= start_seconds;
  if (large && cuda_device_count() > 0) return Device::cuda();
  return A.device();
}

/// Whether all rows of A are about as long, as those of a mesh are.
bool has_even_rows(const Structure& structure) {
  constexpr double evenness = 2;
  const double mean = static_cast<double>(structure.nonzeros) / static_cast<double>(structure.rows);
  return static_cast<double>(structure.longest_row) <= evenness * mean;
}
/// Whether A is so large and like a mesh that multigrid takes less time than the method for graphs.
bool suits_multigrid(const Structure& structure) {
  return structure.rows >= mesh_rows && has_even_rows(structure);
}

/// Facts about a square sparse A that come before all others.
struct ChoiceFacts {
  std::optional<BoxStencil> box;  ///< if it was looked for
  SparseRowSummary rows;
  bool symmetric;  ///< found only for rows of a Laplacian or of an SDDM matrix
};

/// Reads A once for constant coefficients on a box, where that is looked for, and else once or twice.
template <class T>
ChoiceFacts find_choice_facts(const Csr<T>& A, bool seeks_box) {
  ChoiceFacts facts{seeks_box ? find_box_stencil(A) : std::nullopt, {}, false};
  const bool constant = facts.box && facts.box->constant;
  facts.rows = constant ? summarize_constant_rows(A, facts.box->grid) : summarize_rows(A);
  const DominanceKind kind = facts.rows.kind();
  if (kind == DominanceKind::laplacian || kind == DominanceKind::sddm)
    facts.symmetric = constant ? is_symmetric_constant(A, facts.box->grid) : is_symmetric(A);
  return facts;
}

/// Completes the structure of a Laplacian or SDDM matrix by what it is known to be.
void describe_graph(Structure& structure) {
  structure.symmetric_pattern = structure.symmetric_values = true;
  structure.definiteness = Definiteness::positive_semidefinite;
}
void describe_sddm(Structure& structure, const SparseRowSummary& rows) {
  describe_graph(structure);
  structure.positive_diagonals = rows.positive_diagonals;
  structure.zero_diagonals = rows.zero_diagonals;
  structure.weakly_dominant_rows = structure.rows;
  structure.strictly_dominant_rows = rows.strongly_dominant == structure.rows ? structure.rows : 0;
}

/// Takes A as symmetric if it differs from its transpose by a few units in the last place of its largest
/// element.
template <class T>
void allow_rounding_asymmetry(MethodSelection& selection) {
  constexpr double rounding = 4 * static_cast<double>(std::numeric_limits<T>::epsilon());
  Structure& structure = selection.structure;
  selection.nearly_symmetric =
      !structure.symmetric_values && structure.symmetric_pattern && structure.asymmetry <= rounding;
  structure.symmetric_values = structure.symmetric_values || selection.nearly_symmetric;
}

}  // namespace

template <class T>
AnalyzedSolver<T> analyze_factorization(const std::string& method, const Csr<T>& A, const Device& device) {
  constexpr CostPrediction unaffordable{std::numeric_limits<double>::infinity(),
                                        std::numeric_limits<std::size_t>::max()};
  const Stopwatch stopwatch;
  Solver<T> solver = make_solver<T>(method, device);
  const std::optional<CostPrediction> cost =
      SolverAccess<T>::implementation(solver).predict_cost(MatrixRef<T>(A));
  return {method, std::move(solver), cost.value_or(unaffordable), stopwatch.seconds()};
}
#define ECHELON_INSTANTIATE(T) \
  template AnalyzedSolver<T> analyze_factorization(const std::string&, const Csr<T>&, const Device&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

bool MethodSelection::plausibly_spd() const {
  return structure.symmetric_values && structure.positive_diagonals == structure.rows &&
         structure.definiteness != Definiteness::indefinite;
}

bool MethodSelection::plausibly_elliptic() const {
  return sparse && !structure.symmetric_values && structure.positive_diagonals == structure.rows &&
         dominant_rows;
}

bool MethodSelection::is_mesh() const {
  constexpr double longest_mesh_row = 50;  // as a multiple of the mean: graphs with hubs are no meshes
  const double mean = static_cast<double>(structure.nonzeros) / static_cast<double>(structure.rows);
  return static_cast<double>(structure.longest_row) <= longest_mesh_row * mean;
}

bool MethodSelection::is_expander() const {
  constexpr double hub_degree_ratio = 50;
  constexpr double expander_degree = 20;  // see docs/benchmarks/laplacians.md
  const auto rows = static_cast<double>(std::max<std::int64_t>(structure.rows, 1));
  const double mean = static_cast<double>(structure.nonzeros) / rows;
  return static_cast<double>(structure.longest_row) > hub_degree_ratio * mean || mean - 1 > expander_degree;
}

/// A narrow band has factors that take at most 1/32 of the memory of a dense factorisation: a small matrix
/// with a wide band is better factored as a dense one.
bool MethodSelection::has_narrow_band() const {
  if (!band) return false;
  const double rows = static_cast<double>(structure.rows);
  const double bytes = static_cast<double>(band->bytes);
  return 32 * bytes <= rows * rows * static_cast<double>(element_size) && fits_memory(bytes, device, 0.5) &&
         band->seconds <=
             least_sparse_seconds(rows + static_cast<double>(structure.nonzeros), device, band->renumbered);
}

template <class T>
MethodSelection MethodSelection::of(MatrixRef<T> A, const std::optional<Device>& device, bool as_sddm,
                                    bool stencils) {
  if constexpr (is_complex<T>) {
    return of_complex(A, device.value_or(A.device()));
  } else {
    return of_real(A, device, as_sddm, stencils);
  }
}

namespace {

/// Structure of an A that is not square, as far as the choice of its method depends on it.
template <class T>
Structure sizes_of_rectangle(const MatrixRef<T>& A) {
  Structure structure;
  structure.rows = A.rows();
  structure.columns = A.columns();
  structure.nonzeros = A.nonzeros();
  return structure;
}

}  // namespace

template <class T>
MethodSelection MethodSelection::of_real(MatrixRef<T> A, const std::optional<Device>& device, bool as_sddm,
                                         bool stencils) {
  const Device target = select_device(A, device);
  require(target);
  if (A.rows() != A.columns()) {
    MethodSelection selection{target, sizes_of_rectangle(A), sizeof(T), A.is_sparse()};
    selection.begin_least_squares(A);
    return selection;
  }
  const HostCopy<T> copy(A);
  if (!A.is_sparse()) {
    MethodSelection selection{target, structure_of_dense(copy.matrix().dense()), sizeof(T), false};
    allow_rounding_asymmetry<T>(selection);
    selection.trial =
        target.on_host() && selection.plausibly_spd() && elimination_flops(A.rows()) > measuring_flops;
    return selection;
  }
  const Csr<T>& host = *copy.matrix().csr();
  MethodSelection selection{target, {}, sizeof(T), true};
  selection.choose_family(host, as_sddm, stencils);
  return selection;
}
#define ECHELON_INSTANTIATE(T) \
  template MethodSelection MethodSelection::of(MatrixRef<T>, const std::optional<Device>&, bool, bool);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

template <class T>
MethodSelection MethodSelection::of_complex(MatrixRef<T> A, const Device& device) {
  require(device);
  const bool is_square = A.rows() == A.columns();
  MethodSelection selection{device, is_square ? analyze_structure(A) : sizes_of_rectangle(A), sizeof(T),
                            A.is_sparse()};
  selection.complex = true;
  if (!is_square) {
    selection.begin_least_squares(A);
    return selection;
  }
  if (!A.is_sparse() || A.rows() <= dense_complex_rows) return selection;
  const HostCopy<T> copy(A);
  const Device host = device.on_host() ? device : Device();
  AnalyzedSolver<T> found = analyze_factorization(
      selection.is_complex_symmetric() ? "sparse-ldlt" : "sparse-lu", *copy.matrix().csr(), host);
  selection.factor = found.cost;
  selection.analyzed = std::make_shared<AnalyzedSolver<T>>(std::move(found));
  return selection;
}

template <class T>
void MethodSelection::begin_least_squares(const MatrixRef<T>& A) {
  if (!A.is_sparse() || A.nonzeros() == 0 || is_quickly_decomposed(*this)) return;
  const HostCopy<T> copy(A);
  first_iterations = iterations_before_analysis(structure, line_extents(*copy.matrix().csr()));
  factor_deferred = first_iterations > 0;
  if (!factor_deferred) find_least_squares_cost(A);
}

template <class T>
void MethodSelection::find_least_squares_cost(const MatrixRef<T>& A) {
  // A QR factorisation fills where a tall A has dense rows, or a wide one dense columns, and has three flops
  // in the time of one of the augmented matrix, see docs/benchmarks/least-squares.md.
  constexpr double compared_flops = 2e8;
  constexpr double speed_of_qr = 3;
  const HostCopy<T> copy(A);
  const Csr<T>& host = *copy.matrix().csr();
  const Device target = device.on_host() ? device : Device();
  AnalyzedSolver<T> found = analyze_factorization("sparse-qr", host, target);
  if (found.cost.flops > compared_flops) {
    AnalyzedSolver<T> other = analyze_factorization("augmented", host, target);
    if (speed_of_qr * other.cost.flops < found.cost.flops) {
      slower_qr = found.cost;
      found = std::move(other);
    }
  }
  factor = found.cost;
  analyzed = std::make_shared<AnalyzedSolver<T>>(std::move(found));
}

template <class T>
void MethodSelection::choose_family(const Csr<T>& A, bool as_sddm, bool stencils) {
  const bool seeks_stencil = stencils && A.rows() >= stencil_rows && device.kind() != DeviceKind::opencl;
  const ChoiceFacts facts = find_choice_facts(A, seeks_stencil);
  const SparseRowSummary& rows = facts.rows;
  structure = sizes_of(A, rows);
  const DominanceKind kind = facts.symmetric ? rows.kind() : DominanceKind::none;
  // Unsymmetric stencils are those of convection.
  const bool suits_arrays =
      facts.box && (facts.symmetric || rows.kind() == DominanceKind::sddm) && has_even_rows(structure);
  const bool is_small = structure.rows < mesh_rows;  // a factorisation may come first
  if (kind == DominanceKind::laplacian) {
    describe_graph(structure);
    graph = kind;
    is_stencil = suits_arrays && !is_small;
    return;
  }
  band = predict_band(A.rows(), rows.lower_bandwidth, rows.upper_bandwidth, sizeof(T), device);
  if (has_narrow_band()) {
    factor_deferred = true;
    return;
  }
  is_stencil = suits_arrays && !is_small;
  const bool is_graph =
      as_sddm && kind == DominanceKind::sddm && device.on_host() && A.nonzeros() >= sddm_nonzeros;
  const bool is_grid = kind == DominanceKind::sddm && suits_multigrid(structure);
  grows_fast = growth_exponent(A) >= fast_growth;
  even_diagonal = rows.largest_diagonal <= most_uneven * rows.smallest_diagonal;
  strongly_dominant = rows.strongly_dominant == A.rows();
  const auto take_as_graph = [&] {
    describe_sddm(structure, rows);
    band.reset();
    factor_deferred = false;
    graph = kind;
    trial = grows_fast && !is_expander() && may_be_tried();
    is_stencil = suits_arrays;
  };
  if (is_graph && !is_grid && A.nonzeros() > most_measured_nonzeros) return take_as_graph();
  if (is_grid) {
    describe_sddm(structure, rows);
  } else {
    describe_structure(A, rows, facts.symmetric);
  }
  if (structure.zero_diagonals > 0 && kind == DominanceKind::none) {
    const std::int64_t rank = structural_rank(MatrixRef<T>(A));
    if (rank < A.rows()) deficient_rank = rank;
  }
  order_families(is_grid);
  if (factor_deferred) is_stencil = suits_arrays;
  if (factor_deferred || deficient_rank) return;
  if (is_nearly_full(*this)) return find_factor_cost(A);
  band = predict_band(A, *band, device);
  if (has_narrow_band()) return;
  if (A.nonzeros() <= most_measured_nonzeros) factor = long_factorization(A, facts.box);
  factor_deferred = factor && may_be_tried();
  if (!factor || !(factor_deferred || is_graph)) find_factor_cost(A);
  const bool long_factorization = factor->flops > measuring_flops;
  trial = may_be_tried() && long_factorization;
  if (!long_factorization) return;
  if (is_graph) return take_as_graph();
  is_stencil = suits_arrays;
}

template <class T>
std::optional<CostPrediction> MethodSelection::long_factorization(
    const Csr<T>& A, const std::optional<BoxStencil>& box) const {
  constexpr double uncertainty = 3;
  if (box && box->grid.points[2] > 1) {
    const CostPrediction cost =
        estimate_grid_factorization(box->grid.points, structure.symmetric_values, element_size);
    if (cost.flops > uncertainty * measuring_flops) return cost;
  }
  return estimate_long_factorization(A, structure.symmetric_values, measuring_flops);
}

void MethodSelection::order_families(bool is_grid) {
  const bool long_ordering = ordering_seconds(*this) > direct_first_seconds;
  iterative_first = is_grid || (is_mesh() && ((plausibly_elliptic() && structure.rows >= upwind_rows) ||
                                              (plausibly_spd() && long_ordering)));
  // Without strict dominance, iterations grow with the mesh, faster in two dimensions than in three.
  const bool is_large_mesh =
      is_grid || (plausibly_elliptic() && structure.strictly_dominant_rows < structure.rows);
  const bool is_slow =
      is_large_mesh && !(grows_fast && even_diagonal && structure.rows <= most_tried_mesh_rows);
  // Few iterations suffice for a strongly dominant A, whose excesses bound the error of x.
  const bool is_certain =
      strongly_dominant && grows_fast && elimination_flops(structure.rows) > measuring_flops;
  trial = !is_slow && may_be_tried() && (is_certain || structure.nonzeros > most_measured_nonzeros);
  factor_deferred = iterative_first || trial;
}

bool MethodSelection::may_be_tried() const {
  return device.on_host() && structure.zero_diagonals == 0 &&
         (plausibly_spd() || !structure.symmetric_values);
}

template <class T>
void MethodSelection::describe_structure(const Csr<T>& A, const SparseRowSummary& rows,
                                         bool known_symmetric) {
  structure = structure_of_sparse(A, rows, known_symmetric);
  allow_rounding_asymmetry<T>(*this);
  dominant_rows = !structure.symmetric_values && sample_is_dominant(A);
}

CostPrediction MethodSelection::full_factor_cost() const {
  const double flops = elimination_flops(structure.rows);
  const auto rows = static_cast<std::size_t>(structure.rows);
  return {structure.symmetric_values ? flops / 2 : flops, rows * rows * element_size};
}

template <class T>
void MethodSelection::find_factor_cost(const Csr<T>& A) {
  if (is_nearly_full(*this)) {
    // Dense elimination takes less time than an analysis.
    factor = full_factor_cost();
    return;
  }
  if (factor && has_full_factor(*this)) return;
  const bool is_estimated =
      A.rows() >= estimated_rows &&
      A.nonzeros() >= (device.on_host() ? estimated_nonzeros : estimated_nonzeros_for_gpu);
  if (is_estimated) factor = estimate_factor_cost(A, structure.symmetric_values);
  if (is_estimated && is_certainly_slow(*this, direct_first_seconds)) return;
  // A factorisation on a GPU has another ordering, and an analysis of its own.
  if (is_estimated && !device.on_host() && is_certainly_quick(*this, direct_first_seconds)) return;
  const std::string method = is_factored_by_lu() ? "sparse-lu"
                             : plausibly_spd()   ? "sparse-cholesky"
                                                 : "sparse-ldlt";
  AnalyzedSolver<T> found = analyze_factorization(method, A, device.on_host() ? device : Device());
  factor = found.cost;
  analyzed = std::make_shared<AnalyzedSolver<T>>(std::move(found));
}

template <class T>
void MethodSelection::complete(MatrixRef<T> A) {
  if (structure.rows != structure.columns) {
    if (std::exchange(factor_deferred, false)) find_least_squares_cost(A);
  } else if constexpr (!is_complex<T>) {
    complete_real(A);
  }
}

template <class T>
void MethodSelection::complete_real(MatrixRef<T> A) {
  if (!factor_deferred && !(deficient_rank && !factor)) return;
  factor_deferred = false;
  const HostCopy<T> copy(A);
  const Csr<T>& host = *copy.matrix().csr();
  if (has_narrow_band()) {
    describe_structure(host, summarize_rows(host), false);
  } else {
    band = predict_band(host, *band, device);
    if (!has_narrow_band()) find_factor_cost(host);
  }
}
#define ECHELON_INSTANTIATE(T) template void MethodSelection::complete(MatrixRef<T>);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

template <class T>
std::vector<Candidate> choose(MatrixRef<T> A, const std::optional<Device>& device) {
  if (A.is_operator()) {
    const Device target = device.value_or(A.device());
    require(target);
    if (A.rows() != A.columns())
      return {{"lsmr", target, {}, "A is an operator and not square: least squares by its products"}};
    std::vector<Candidate> list;
    if (A.is_stencil() && find_method("structured-multigrid").runs_on(target))
      list.push_back({"structured-multigrid",
                      target,
                      {{"max_iterations", 500}},
                      "A is a stencil on a grid: multigrid on its arrays"});
    list.push_back({"gmres",
                    target,
                    {{"restart", 100}, {"max_iterations", 2000}},
                    A.is_stencil() ? "A is a stencil that multigrid does not solve: GMRES with its products"
                                   : "A is an operator, of which nothing is known but its products: GMRES"});
    return list;
  }
  MethodSelection selection = MethodSelection::of(A, device);
  selection.complete(A);
  std::vector<Candidate> list = selection.candidates();
  if (selection.graph == DominanceKind::sddm) {
    MethodSelection others = MethodSelection::of(A, device, false, false);
    others.complete(A);
    for (Candidate& next : others.candidates()) list.push_back(std::move(next));
  }
  return list;
}

#define ECHELON_INSTANTIATE(T) \
  template std::vector<Candidate> choose(MatrixRef<T>, const std::optional<Device>&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
