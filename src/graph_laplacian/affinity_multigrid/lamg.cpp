// SPDX-License-Identifier: BSD-3-Clause
/// The method `lamg`: as published on one core, or its parallel form on all cores and on a GPU.
#include "graph_laplacian/affinity_multigrid/method.hpp"
#include "solver/make.hpp"

#include <echelon/error.hpp>
#include <echelon/methods/lamg.hpp>

#include <memory>
#include <string>

#ifndef __CUDACC__
#include "graph_laplacian/lamg/method.hpp"
#endif

namespace echelon {

namespace {

/// Refuses a value of an option that would have no effect.
template <class Value>
void require_default(const char* option, Value value, Value fallback, const std::string& reason) {
  if (value != fallback) throw BadOption(option, reason);
}

void check_parallel(const LamgOptions& options, const Device& device) {
  const LamgOptions defaults;
  const std::string reason =
      device.on_host()
          ? "has no effect with parallel=true, whose cycles are Jacobi sweeps and steps of conjugate "
            "gradients: leave it out, or set parallel=false"
          : "has no effect on a GPU, whose cycles are Chebyshev polynomials and steps of conjugate "
            "gradients: leave it out, or use a host device without parallel=true";
  require_default("cycle_index", options.cycle_index, defaults.cycle_index, reason);
  require_default("pre_sweeps", options.pre_sweeps, defaults.pre_sweeps, reason);
  require_default("post_sweeps", options.post_sweeps, defaults.post_sweeps, reason);
  require_default("combined_iterates", options.combined_iterates, defaults.combined_iterates, reason);
  require_default("caliber", options.caliber, defaults.caliber, reason);
  require_default("coarse_size", options.coarse_size, defaults.coarse_size, reason);
}

template <class T>
std::unique_ptr<SolverImplementation<T>> make_lamg(const Device& device, const LamgOptions& options) {
  return on_backend(device, [&]<class B>() -> std::unique_ptr<SolverImplementation<T>> {
#ifndef __CUDACC__
    if constexpr (B::on_host) {
      if (!options.parallel) {
        require_default("jacobi_iterations", options.jacobi_iterations, LamgOptions().jacobi_iterations,
                        "has no effect on one core, where levels are always made: leave it out, or set "
                        "parallel=true");
        return std::make_unique<lamg::LeanMultigrid<B, T>>(device, options);
      }
    }
#endif
    check_parallel(options, device);
    return std::make_unique<affinity_multigrid::AffinityMultigrid<B, T>>(device, options);
  });
}

}  // namespace

template <>
std::unique_ptr<SolverImplementation<float>> make_implementation<ThisTarget, float, LamgOptions>(
    const Device& device, const LamgOptions& options) {
  return make_lamg<float>(device, options);
}
template <>
std::unique_ptr<SolverImplementation<double>> make_implementation<ThisTarget, double, LamgOptions>(
    const Device& device, const LamgOptions& options) {
  return make_lamg<double>(device, options);
}

}  // namespace echelon
