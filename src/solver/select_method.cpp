// SPDX-License-Identifier: BSD-3-Clause
/// Which methods may suit a matrix, from what it looks like.
#include <echelon/solve.hpp>
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
  double bytes = 0;
  bool fits = false;
};

DenseCost dense_cost(std::int64_t n, std::size_t element_size, const Device& device) {
  constexpr double flops_per_core = 3e10;
  // An H200 with cuSOLVER stayed below 1.3e12 on a singular graph of 82,168 unknowns.
  constexpr double flops_per_gpu = 1e12;
  const double size = static_cast<double>(n);
  const double rate = device.on_host() ? flops_per_core * device.threads() : flops_per_gpu;
  DenseCost cost;
  cost.seconds = 2.0 / 3.0 * size * size * size / rate;
  cost.bytes = size * size * static_cast<double>(element_size);
  cost.fits = cost.bytes < 0.8 * static_cast<double>(memory(device).available) && size < 2e9;
  return cost;
}

/// Sparse systems at most this expensive are given to dense LU at once; up to the second bound it is the last
/// resort.
constexpr double dense_at_once_seconds = 2;
constexpr double dense_at_last_seconds = 150;

/// Below these sizes a GPU takes longer to reach than to use.
constexpr std::int64_t gpu_dense_rows = 1500;
constexpr std::int64_t gpu_nonzeros = 1'000'000;

template <class T>
Device pick_device(const MatrixRef<T>& A, const std::optional<Device>& asked) {
  if (asked) return *asked;
  if (!A.device().on_host()) return A.device();
  const bool large = A.is_sparse() ? A.nonzeros() >= gpu_nonzeros : A.rows() >= gpu_dense_rows;
  if (large && cuda_device_count() > 0) return Device::cuda();
  return A.device();
}

/// Collects candidates for one matrix on one device.
class Candidates {
 public:
  Candidates(Device device, Structure structure, std::size_t element_size, bool sparse)
      : device_(device),
        structure_(structure),
        cost_(dense_cost(structure.rows, element_size, device)),
        sparse_(sparse) {}

  std::vector<Candidate> take() {
    if (!sparse_) {
      dense("A is dense");
      krylov();
      return std::move(list_);
    }
    const bool at_once = cost_.fits && cost_.seconds <= dense_at_once_seconds;
    if (plausibly_spd()) {
      const std::string why = structure_.definiteness == Definiteness::positive_definite
                                  ? "A is symmetric and positive definite (diagonally dominant)"
                                  : "A is symmetric with a positive diagonal, so perhaps positive definite";
      conjugate_gradients(why);
      if (at_once) dense("A is small");
      krylov();
    } else if (at_once) {
      dense("A is small: elimination is certain and quick");
      krylov();
    } else {
      krylov();
    }
    if (!at_once && cost_.seconds <= dense_at_last_seconds && cost_.fits) {
      dense("as a last resort, dense elimination");
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

  void dense(const std::string& why) {
    if (!sparse_ && !cost_.fits) return;
    add(device_.on_host() ? "lapack-lu" : "cusolver-lu", {},
        fmt::format("{} (n = {}): LU with partial pivoting", why, structure_.rows));
  }

  void conjugate_gradients(const std::string& why) {
    // Incomplete factors cut the iterations most, but their triangular solves are slow on a GPU.
    const Candidate strong{"cg", device_, {{"preconditioner", "ilu0"}}, why + ": CG with ILU(0)"};
    const Candidate light{"cg", device_, {{"preconditioner", "jacobi"}}, why + ": CG with Jacobi"};
    list_.push_back(device_.on_host() ? strong : light);
    list_.push_back(device_.on_host() ? light : strong);
  }

  void krylov() {
    const std::string shape =
        structure_.symmetric_values ? "A is symmetric, not surely definite" : "A is unsymmetric";
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

template <class T>
std::vector<Candidate> choose(MatrixRef<T> A, const std::optional<Device>& device) {
  const Device target = pick_device(A, device);
  require(target);
  return Candidates(target, analyze_structure(A), sizeof(T), A.is_sparse()).take();
}

template std::vector<Candidate> choose(MatrixRef<float>, const std::optional<Device>&);
template std::vector<Candidate> choose(MatrixRef<double>, const std::optional<Device>&);

}  // namespace echelon
