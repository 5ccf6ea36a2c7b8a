// SPDX-License-Identifier: BSD-3-Clause
#include "host_arrays.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>

namespace echelon::petsc {

namespace {

void copy_columns(DenseView<const double> from, DenseView<double> to) {
  for (std::int64_t j = 0; j < from.columns(); ++j) std::copy_n(from.column(j), from.rows(), to.column(j));
}

/// Column-major copy in the memory of the device.
Dense<double> copy_to(const Device& device, DenseView<const double> from) {
  Dense<double> copy(Device::serial(), from.rows(), from.columns());
  copy_columns(from, copy);
  return copy.to(device);
}

}  // namespace

void apply_on(const Device& device, DenseView<const double> r, DenseView<double> z,
              const std::function<void(DenseView<const double>, DenseView<double>)>& apply) {
  if (device.on_host()) return apply(r, z);
  const Dense<double> from = copy_to(device, r);
  Dense<double> to(device, z.rows(), z.columns());
  apply(from, to);
  copy_columns(to.to(Device::serial()), z);
}

Report solve_on(const Device& device, DenseView<const double> B, DenseView<double> X,
                const std::function<Report(DenseView<const double>, DenseView<double>)>& solve) {
  if (device.on_host()) return solve(B, X);
  const Dense<double> from = copy_to(device, B);
  Dense<double> to(device, X.rows(), X.columns());
  Report report = solve(from, to);
  copy_columns(to.to(Device::serial()), X);
  return report;
}

void fill_infinite(DenseView<double> X) {
  for (std::int64_t j = 0; j < X.columns(); ++j)
    std::fill_n(X.column(j), X.rows(), std::numeric_limits<double>::infinity());
}

}  // namespace echelon::petsc
