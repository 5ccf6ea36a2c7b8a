// SPDX-License-Identifier: BSD-3-Clause
#include "solver/selection/direct_cost.hpp"

#include <echelon/device.hpp>

#include <cmath>

namespace echelon {

namespace {

/// Flops per second that common machines reach, on the low side. An H200 with cuSOLVER stayed below 1.3e12 on
/// a singular graph of 82,168 unknowns.
constexpr double dense_flops_per_core = 3e10;
constexpr double dense_flops_per_gpu = 1e12;
/// On t threads a factorisation takes 1 / t^0.7 of the time on one.
constexpr double sparse_flops_per_core = 1e10;
constexpr double parallel_power = 0.7;
/// Seconds of a core for each row and stored element: minimum degree and the symbolic factorisation take 0.2
/// to 0.3 us on meshes.
constexpr double ordering_seconds_per_entry = 2e-7;

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

/// Ratio up to which an estimated cost may differ from the predicted one.
constexpr double uncertainty = 5;

}  // namespace

bool fits_memory(double bytes, const Device& device, double share) {
  constexpr double always_available = 64 << 20;
  return bytes <= always_available || bytes < share * static_cast<double>(memory(device).available);
}

double dense_flops_per_second(const Device& device) {
  return device.on_host() ? dense_flops_per_core * device.threads() : dense_flops_per_gpu;
}

double dense_seconds(std::int64_t rows, const Device& device) {
  return elimination_flops(rows) / dense_flops_per_second(device);
}

bool dense_fits(const MethodSelection& selection) {
  const double size = static_cast<double>(selection.structure.rows);
  const double bytes = size * size * static_cast<double>(selection.element_size);
  return size < 2e9 && fits_memory(bytes, selection.device, 0.8);
}

double ordering_seconds(const MethodSelection& selection) {
  const Structure& structure = selection.structure;
  return ordering_seconds_per_entry * static_cast<double>(structure.rows + structure.nonzeros);
}

DirectCost sparse_cost(const MethodSelection& selection, const Device& device) {
  if (!selection.factor) return {};
  const double flops = selection.factor->flops;
  const double rate =
      sparse_flops_per_core * std::pow(device.on_host() ? device.threads() : 1, parallel_power);
  const double seconds = device.on_host() ? flops / rate : sparse_gpu_latency + flops / sparse_flops_per_gpu;
  return {ordering_seconds(selection) + seconds,
          fits_memory(static_cast<double>(selection.factor->bytes), device, 0.5)};
}

bool is_certainly_slow(const MethodSelection& selection, double seconds) {
  if (!selection.factor) return false;
  const DirectCost cost = sparse_cost(selection, factor_device(selection));
  const double ordering = ordering_seconds(selection);
  return ordering > seconds || cost.seconds - ordering > uncertainty * seconds;
}

bool is_certainly_quick(const MethodSelection& selection, double seconds) {
  if (!selection.factor) return false;
  const DirectCost cost = sparse_cost(selection, factor_device(selection));
  const double ordering = ordering_seconds(selection);
  return cost.fits && ordering + uncertainty * (cost.seconds - ordering) <= seconds;
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

bool is_nearly_full(const MethodSelection& selection) {
  constexpr double most_seconds = 0.005;
  constexpr double least_share = 0.25;
  const auto rows = static_cast<double>(selection.structure.rows);
  const bool is_full = selection.structure.rows <= dense_first_rows ||
                       static_cast<double>(selection.structure.nonzeros) >= least_share * rows * rows;
  return is_full && dense_seconds(selection.structure.rows, selection.device) <= most_seconds &&
         dense_fits(selection);
}

bool has_full_factor(const MethodSelection& selection) {
  const double seconds = dense_seconds(selection.structure.rows, selection.device);
  if (seconds > direct_first_seconds) return false;
  const DirectCost sparse = sparse_cost(selection, factor_device(selection));
  const bool quicker = !sparse.fits || seconds <= sparse.seconds - ordering_seconds(selection);
  return quicker && dense_fits(selection);
}

Device factor_device(const MethodSelection& selection) {
  if (selection.device.on_host() || !selection.factor) return selection.device;
  const bool on_gpu = sparse_cost(selection, selection.device).fits && !quicker_on_host(selection);
  return on_gpu ? selection.device : Device();
}

}  // namespace echelon
