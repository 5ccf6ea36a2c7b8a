// SPDX-License-Identifier: BSD-3-Clause
#include "solver/selection/direct_cost.hpp"

#include <echelon/device.hpp>

namespace echelon {

namespace {

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

}  // namespace

DirectCost dense_cost(const MethodSelection& selection) {
  const double size = static_cast<double>(selection.structure.rows);
  const double bytes = size * size * static_cast<double>(selection.element_size);
  const double rate =
      selection.device.on_host() ? dense_flops_per_core * selection.device.threads() : dense_flops_per_gpu;
  return {2.0 / 3.0 * size * size * size / rate,
          bytes < 0.8 * static_cast<double>(memory(selection.device).available) && size < 2e9};
}

DirectCost sparse_cost(const MethodSelection& selection, const Device& device) {
  if (!selection.factor) return {};
  const double flops = selection.factor->flops;
  const double seconds =
      device.on_host() ? flops / sparse_flops_per_core : sparse_gpu_latency + flops / sparse_flops_per_gpu;
  return {seconds,
          2 * static_cast<double>(selection.factor->bytes) < static_cast<double>(memory(device).available)};
}

namespace {

/// Whether a core is expected to factor faster than a GPU; the analysis takes the same time.
bool quicker_on_host(const MethodSelection& selection) {
  const double bytes = static_cast<double>(selection.factor->bytes);
  const double host_seconds = sparse_cost(selection, Device()).seconds + sparse_core_seconds_per_byte * bytes;
  return selection.factor->flops <= few_flops_per_byte * bytes ||
         host_seconds <= sparse_cost(selection, selection.device).seconds;
}

}  // namespace

Device factor_device(const MethodSelection& selection) {
  if (selection.device.on_host() || !selection.factor) return selection.device;
  const bool on_gpu = sparse_cost(selection, selection.device).fits && !quicker_on_host(selection);
  return on_gpu ? selection.device : Device();
}

}  // namespace echelon
