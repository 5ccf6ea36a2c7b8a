// SPDX-License-Identifier: BSD-3-Clause
/// The facts about a matrix on which the choice of methods depends.
#include "solver/selection/method_selection.hpp"

#include "backend/backend.hpp"
#include "backend/openmp/openmp.hpp"
#include "linalg/dominance.hpp"
#include "solver/factor_estimate.hpp"
#include "solver/selection/direct_cost.hpp"

#include <echelon/matrix/structure.hpp>

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

namespace echelon {

namespace {

/// Elements of an SDDM matrix, about 10,000 edges, from which the method for graphs comes before a
/// factorisation, whose prediction alone takes longer.
constexpr std::int64_t sddm_nonzeros = 30'000;

/// Stored elements from which the cost of a factorisation is estimated before it is predicted, which takes a
/// good part of a second or more: no prediction is needed if the estimate excludes that it comes first.
constexpr std::int64_t estimated_nonzeros = 2'000'000;

template <class T>
Device select_device(const MatrixRef<T>& A, const std::optional<Device>& asked) {
  if (asked) return *asked;
  if (!A.device().on_host()) return A.device();
  const bool large = A.is_sparse() ? A.nonzeros() >= gpu_nonzeros : A.rows() >= gpu_dense_rows;
  if (large && cuda_device_count() > 0) return Device::cuda();
  return A.device();
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

/// Whether all rows are about as long, as those of a mesh are, and the matrix is so large that multigrid
/// takes less time than the method for graphs: 0.75 of it on one core for 128^3 points, 0.55 on 16.
bool suits_multigrid(const Structure& structure) {
  constexpr std::int64_t least_rows = 500'000;
  constexpr double evenness = 2;
  const double mean = static_cast<double>(structure.nonzeros) / static_cast<double>(structure.rows);
  return structure.rows >= least_rows && static_cast<double>(structure.longest_row) <= evenness * mean;
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

/// Completes the structure of a graph by what an SDDM matrix is known to be.
void describe_sddm(Structure& structure, bool strongly_dominant) {
  structure.positive_diagonals = structure.weakly_dominant_rows = structure.rows;
  structure.strictly_dominant_rows = strongly_dominant ? structure.rows : 0;
}

/// Whether A on the host equals its transpose exactly.
template <class T>
bool is_symmetric(const Csr<T>& A) {
  OpenMp backend{Device()};
  return find_asymmetry(backend, A, 0).value == FirstIndex::none;
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
CostPrediction predict_factor_cost(const Csr<T>& A) {
  const Method& method = find_method("sparse-lu");
  if constexpr (std::is_same_v<T, double>) {
    return method.predict_double(A);
  } else {
    return method.predict_float(A);
  }
}
template CostPrediction predict_factor_cost(const Csr<float>&);
template CostPrediction predict_factor_cost(const Csr<double>&);

bool MethodSelection::plausibly_spd() const {
  return structure.symmetric_values && structure.positive_diagonals == structure.rows &&
         structure.definiteness != Definiteness::indefinite;
}

/// A narrow band has factors that take at most 1/32 of the memory of a dense factorisation: a small matrix
/// with a wide band is better factored as a dense one.
bool MethodSelection::has_narrow_band() const {
  if (!band) return false;
  const double rows = static_cast<double>(structure.rows);
  const double bytes = static_cast<double>(band->bytes);
  return 32 * bytes <= rows * rows * static_cast<double>(element_size) &&
         bytes < 0.5 * static_cast<double>(memory(device).available) &&
         band->seconds <=
             least_sparse_seconds(rows + static_cast<double>(structure.nonzeros), device, band->renumbered);
}

template <class T>
MethodSelection MethodSelection::of(MatrixRef<T> A, const std::optional<Device>& device, bool as_sddm) {
  const Device target = select_device(A, device);
  require(target);
  if (!A.is_sparse() || A.rows() != A.columns()) {
    MethodSelection selection{target, analyze_structure(A), sizeof(T), A.is_sparse()};
    if (A.rows() == A.columns()) allow_rounding_asymmetry<T>(selection);
    return selection;
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
      !suits_multigrid(selection.structure) && !selection.has_narrow_band()) {
    selection.band.reset();
    selection.graph = kind;
    selection.strongly_dominant = is_strongly_dominant(host, excess);
    return selection;
  }
  const bool is_known =
      kind == DominanceKind::sddm && suits_multigrid(selection.structure) && is_symmetric(host);
  if (is_known) {
    describe_sddm(selection.structure, is_strongly_dominant(host, excess));
  } else {
    selection.structure = analyze_structure(MatrixRef<T>(host));
    allow_rounding_asymmetry<T>(selection);
  }
  if (selection.has_narrow_band()) return selection;
  selection.factor_deferred = selection.plausibly_spd() && ordering_seconds(selection) > direct_first_seconds;
  if (!selection.factor_deferred) selection.find_factor_cost(host);
  return selection;
}
template MethodSelection MethodSelection::of(MatrixRef<float>, const std::optional<Device>&, bool);
template MethodSelection MethodSelection::of(MatrixRef<double>, const std::optional<Device>&, bool);

template <class T>
void MethodSelection::find_factor_cost(const Csr<T>& A) {
  if (A.nonzeros() >= estimated_nonzeros) factor = estimate_factor_cost(A);
  if (!factor || !is_certainly_slow(*this, direct_first_seconds)) factor = predict_factor_cost(A);
}

template <class T>
void MethodSelection::complete(MatrixRef<T> A) {
  if (!factor_deferred) return;
  factor_deferred = false;
  const Csr<T> copy = A.device().on_host() ? Csr<T>() : A.csr()->to(Device());
  find_factor_cost(A.device().on_host() ? *A.csr() : copy);
}
template void MethodSelection::complete(MatrixRef<float>);
template void MethodSelection::complete(MatrixRef<double>);

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
  MethodSelection selection = MethodSelection::of(A, device);
  selection.complete(A);
  std::vector<Candidate> list = selection.candidates();
  if (selection.graph == DominanceKind::sddm) {
    MethodSelection others = MethodSelection::of(A, device, false);
    others.complete(A);
    for (Candidate& next : others.candidates()) list.push_back(std::move(next));
  }
  return list;
}

template std::vector<Candidate> choose(MatrixRef<float>, const std::optional<Device>&);
template std::vector<Candidate> choose(MatrixRef<double>, const std::optional<Device>&);

}  // namespace echelon
