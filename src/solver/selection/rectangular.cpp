// SPDX-License-Identifier: BSD-3-Clause
/// The methods for a matrix that is not square, best first: least squares, or the solution of least norm.
#include "solver/selection/rectangular.hpp"

#include "solver/selection/direct_cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace echelon {

namespace {

/// Times of an orthogonal decomposition up to which it comes first for a sparse A, before an iteration, and
/// at all: its accuracy does not depend on the condition as that of an iteration does.
constexpr double first_for_sparse_seconds = 0.0005;
constexpr double before_iteration_seconds = 60;
constexpr double at_last_seconds = 1200;

/// An orthogonal decomposition of a dense matrix, or of a sparse one on the host.
struct DensePlan {
  Device device;
  double seconds = 0;
  bool fits = false;
};

/// Flops of an operation, of those of real numbers.
double real_flops(const MethodSelection& selection) {
  return selection.complex ? 4 : 1;
}

DensePlan plan_dense(const MethodSelection& selection) {
  const Structure& structure = selection.structure;
  DensePlan plan;
  const bool on_gpu = !selection.sparse && selection.device.kind() == DeviceKind::cuda;
  plan.device = selection.device.on_host() || on_gpu ? selection.device : Device();
  plan.seconds = real_flops(selection) * orthogonal_flops(structure.rows, structure.columns) /
                 dense_flops_per_second(plan.device);
  const double elements = static_cast<double>(structure.rows) * static_cast<double>(structure.columns);
  const double bytes = 2 * elements * static_cast<double>(selection.element_size);
  plan.fits = std::max(structure.rows, structure.columns) < 2'000'000'000 &&
              fits_memory(bytes, plan.device, 0.8) && plan.seconds <= at_last_seconds;
  return plan;
}

/// Whether a QR factorisation of a sketch takes at most half a second, and is small beside A.
bool is_very_tall(const Structure& structure) {
  constexpr std::int64_t most_columns = 1000;
  constexpr std::int64_t rows_per_column = 16;
  return structure.columns <= most_columns && structure.rows >= rows_per_column * structure.columns;
}

}  // namespace

bool is_quickly_decomposed(const MethodSelection& selection) {
  return plan_dense(selection).seconds <= first_for_sparse_seconds;
}

std::vector<Candidate> rectangular_candidates(const MethodSelection& selection) {
  const Structure& structure = selection.structure;
  const bool tall = structure.rows > structure.columns;
  const std::string shape = fmt::format("A is {} by {}: {}", structure.rows, structure.columns,
                                        tall ? "least squares" : "the solution of least norm");
  const DensePlan dense = plan_dense(selection);
  const bool moves = dense.device.on_host() && !selection.device.on_host();
  const std::string where = moves ? ", on the host, which has the decomposition" : "";
  const Candidate direct{
      "qr", dense.device, {}, shape + ", by a decomposition that determines the rank" + where, dense.seconds};
  const Candidate iterative{
      "lsmr", selection.device, is_very_tall(structure) ? Options{{"preconditioner", "sketch"}} : Options{},
      shape + ", by products with A and its " + (selection.complex ? "adjoint" : "transpose")};
  std::vector<Candidate> list = {iterative};
  const auto add_sparse = [&](const MethodSelection& of_cost, const char* method, const char* what) {
    DirectCost cost = sparse_cost(of_cost, dense.device);
    cost.seconds *= real_flops(selection);
    const bool first = cost.seconds <= before_iteration_seconds;
    if (!cost.fits || cost.seconds > at_last_seconds) return;
    list.insert(first ? list.begin() : list.end(), {method,
                                                    dense.device,
                                                    {},
                                                    fmt::format("{}, by {} ({:.2g} flops predicted){}", shape,
                                                                what, of_cost.factor->flops, where),
                                                    cost.seconds});
  };
  constexpr const char* by_qr = "a sparse QR factorisation";
  if (selection.slower_qr) {
    MethodSelection of_qr = selection;
    of_qr.factor = selection.slower_qr;
    add_sparse(of_qr, "sparse-qr", by_qr);
    add_sparse(selection, "augmented", "a factorisation of the augmented matrix");
  } else if (selection.factor) {
    add_sparse(selection, "sparse-qr", by_qr);
  }
  const double most = selection.sparse ? first_for_sparse_seconds : before_iteration_seconds;
  if (dense.fits) list.insert(dense.seconds <= most ? list.begin() : list.end(), direct);
  return list;
}

}  // namespace echelon
