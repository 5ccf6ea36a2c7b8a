// SPDX-License-Identifier: BSD-3-Clause
/// The methods that may suit a matrix, by its structure.
#include "solver/select_method.hpp"

#include <echelon/structure.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace echelon {

namespace {

/// Dense elimination is certain but costs 2/3 n^3 flops and n^2 elements. Rates are what common machines
/// reach, on the low side.
struct DenseCost {
  double seconds = 0;
  bool fits = false;
};

DenseCost dense_cost(const MethodSelection& selection) {
  const double size = static_cast<double>(selection.structure.rows);
  const double bytes = size * size * static_cast<double>(selection.element_size);
  return {dense_lu_seconds(selection.structure.rows, selection.device),
          bytes < 0.8 * static_cast<double>(memory(selection.device).available) && size < 2e9};
}

/// Bounds on the time of dense LU for sparse systems: up to the first it comes before everything else, even
/// where CG would be quicker, because its accuracy does not depend on the condition of A as CG's does; up to
/// the second before methods that may fail; up to the third it is the last resort.
constexpr double dense_first_seconds = 0.25;
constexpr double dense_at_once_seconds = 2;
constexpr double dense_at_last_seconds = 150;

/// Below these sizes a GPU takes longer to reach than to use.
constexpr std::int64_t gpu_dense_rows = 1500;
constexpr std::int64_t gpu_nonzeros = 1'000'000;

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
        cost_(dense_cost(selection)),
        sparse_(selection.sparse) {}

  std::vector<Candidate> take() {
    if (!sparse_) {
      dense("A is dense");
      krylov();
      return std::move(list_);
    }
    const bool first = affordable(dense_first_seconds);
    const bool at_once = affordable(dense_at_once_seconds);
    const char* const small = "A is small: elimination is certain and quick";
    if (first) dense(small);
    if (plausibly_spd()) {
      conjugate_gradients(structure_.definiteness == Definiteness::positive_definite
                              ? "A is symmetric and positive definite (diagonally dominant)"
                              : "A is symmetric with a positive diagonal, so perhaps positive definite");
    }
    if (at_once && !first) dense(small);
    krylov();
    if (!at_once && affordable(dense_at_last_seconds)) dense("as a last resort, dense elimination");
    return std::move(list_);
  }

  /// For an A that is known to be singular: methods that find a solution where there is one, or that there is
  /// none.
  std::vector<Candidate> take_singular() {
    const std::string shape = "A is singular: a solution of minimal residual";
    if (structure_.symmetric_values) add("minres", {{"max_iterations", 2000}}, shape);
    add("gmres", {{"restart", 200}, {"max_iterations", 1000}}, shape);
    if (affordable(dense_at_once_seconds)) {
      add("gauss-jordan", {}, "A is singular: its rank, and whether b lies in its range");
    }
    return std::move(list_);
  }

 private:
  [[nodiscard]] bool plausibly_spd() const {
    return structure_.symmetric_values && structure_.positive_diagonals == structure_.rows &&
           structure_.definiteness != Definiteness::indefinite;
  }

  void add(std::string method, Options parameters, std::string reason) {
    list_.push_back({std::move(method), device_, std::move(parameters), std::move(reason)});
  }

  [[nodiscard]] bool affordable(double seconds) const { return cost_.fits && cost_.seconds <= seconds; }

  void dense(const std::string& why) {
    if (!cost_.fits) return;
    add(device_.on_host() ? "lapack-lu" : "cusolver-lu", {},
        fmt::format("{} (n = {}): LU with partial pivoting", why, structure_.rows));
  }

  void conjugate_gradients(const std::string& why) {
    // Incomplete factors cut the iterations most, but their triangular solves are slow on a GPU. ILU(0) can
    // be indefinite; IC(0), which runs on the host, is shifted until it is not.
    const bool host = device_.on_host();
    const Candidate strong{"cg",
                           device_,
                           {{"preconditioner", host ? "ic0" : "ilu0"}},
                           why + (host ? ": CG with IC(0)" : ": CG with ILU(0)")};
    const Candidate light{"cg", device_, {{"preconditioner", "jacobi"}}, why + ": CG with Jacobi"};
    list_.push_back(host ? strong : light);
    list_.push_back(host ? light : strong);
  }

  void krylov() {
    const std::string shape =
        structure_.symmetric_values ? "A is symmetric, not surely definite" : "A is unsymmetric";
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

  Device device_;
  Structure structure_;
  DenseCost cost_;
  bool sparse_;
  std::vector<Candidate> list_;
};

}  // namespace

double dense_lu_seconds(std::int64_t n, const Device& device) {
  constexpr double flops_per_core = 3e10;
  // An H200 with cuSOLVER stayed below 1.3e12 on a singular graph of 82,168 unknowns.
  constexpr double flops_per_gpu = 1e12;
  const double size = static_cast<double>(n);
  return 2.0 / 3.0 * size * size * size /
         (device.on_host() ? flops_per_core * device.threads() : flops_per_gpu);
}

template <class T>
MethodSelection MethodSelection::of(MatrixRef<T> A, const std::optional<Device>& device) {
  const Device target = select_device(A, device);
  require(target);
  return {target, analyze_structure(A), sizeof(T), A.is_sparse()};
}
template MethodSelection MethodSelection::of(MatrixRef<float>, const std::optional<Device>&);
template MethodSelection MethodSelection::of(MatrixRef<double>, const std::optional<Device>&);

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
  return MethodSelection::of(A, device).candidates();
}

template std::vector<Candidate> choose(MatrixRef<float>, const std::optional<Device>&);
template std::vector<Candidate> choose(MatrixRef<double>, const std::optional<Device>&);

}  // namespace echelon
