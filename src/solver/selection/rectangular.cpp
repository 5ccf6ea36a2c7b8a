// SPDX-License-Identifier: BSD-3-Clause
/// The methods for a matrix that is not square, best first: least squares, or the solution of least norm.
#include "solver/selection/rectangular.hpp"

#include "solver/selection/direct_cost.hpp"

#include <fmt/format.h>
#include <support/scalar_list.hpp>

#include <algorithm>
#include <cstddef>
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

/// Seconds of an iteration of lsmr on a core, and share of the predicted time of a factorisation for which it
/// is tried.
constexpr double seconds_per_nonzero = 1.5e-9;
constexpr double seconds_per_line = 2e-9;
constexpr double share_of_factorization = 0.15;

double seconds_of_iteration(const Structure& structure) {
  return seconds_per_nonzero * static_cast<double>(structure.nonzeros) +
         seconds_per_line * static_cast<double>(structure.rows + structure.columns);
}

/// Iterations without a scaling of columns, so that x has the least norm whatever the rank of A.
Candidate trial(const MethodSelection& selection, const std::string& shape, std::int64_t iterations,
                const char* why) {
  return {"lsmr",
          selection.device,
          {{"max_iterations", iterations}, {"scale_columns", false}},
          fmt::format("{}, by at most {} iterations, {}", shape, iterations, why)};
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

template <class T>
LineExtents line_extents(const Csr<T>& A) {
  LineExtents extents;
  const std::int32_t* const columns = A.column_indices().data();
  if (A.rows() > A.columns()) {
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      const std::int64_t begin = A.row_offsets()[i];
      const std::int64_t end = A.row_offsets()[i + 1];
      if (begin == end) continue;
      extents.longest = std::max(extents.longest, end - begin);
      extents.widest = std::max<std::int64_t>(extents.widest, columns[end - 1] - columns[begin] + 1);
    }
    return extents;
  }
  struct Line {
    std::int64_t elements = 0, first = 0;
  };
  std::vector<Line> lines(static_cast<std::size_t>(A.columns()));
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      Line& line = lines[static_cast<std::size_t>(columns[k])];
      if (line.elements++ == 0) line.first = i;
      extents.longest = std::max(extents.longest, line.elements);
      extents.widest = std::max(extents.widest, i - line.first + 1);
    }
  }
  return extents;
}
#define ECHELON_INSTANTIATE(T) template LineExtents line_extents(const Csr<T>&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

std::int64_t iterations_before_analysis(const Structure& structure, const LineExtents& lines) {
  constexpr std::int64_t least_entries = 30'000;  // smaller ones are factored in a few milliseconds
  constexpr std::int64_t few = 10;
  constexpr std::int64_t many_entries = 300'000;  // orderings then take longer for each
  constexpr double slow_flops = 2e9;
  constexpr double analysis_seconds_per_entry = 3e-7;
  const std::int64_t entries = structure.nonzeros + structure.rows + structure.columns;
  if (entries < least_entries) return 0;
  const auto length = static_cast<double>(lines.longest);
  const auto width = static_cast<double>(lines.widest);
  const auto unknowns = static_cast<double>(std::min(structure.rows, structure.columns));
  const bool fills = length * length * length > slow_flops;
  const bool is_large = entries >= many_entries && unknowns * width * width > slow_flops;
  if (!fills && !is_large) return few;
  const double seconds = analysis_seconds_per_entry * static_cast<double>(entries);
  return std::max(few, static_cast<std::int64_t>(seconds / seconds_of_iteration(structure)));
}

std::vector<Candidate> rectangular_candidates(const MethodSelection& selection) {
  const Structure& structure = selection.structure;
  const bool tall = structure.rows > structure.columns;
  const std::string shape = fmt::format("A is {} by {}: {}", structure.rows, structure.columns,
                                        tall ? "least squares" : "the solution of least norm");
  std::vector<Candidate> trials;
  if (selection.first_iterations > 0)
    trials.push_back(trial(selection, shape, selection.first_iterations,
                           "which take less time than to analyse a factorisation"));
  if (selection.factor_deferred) return trials;
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
  const auto affordable = static_cast<std::int64_t>(
      share_of_factorization * list.front().seconds.value_or(0) / seconds_of_iteration(structure));
  constexpr std::int64_t worth_trying = 100;
  if (selection.first_iterations > 0 && affordable > std::max(2 * selection.first_iterations, worth_trying))
    trials.push_back(
        trial(selection, shape, affordable, "which take a small part of the time of a factorisation"));
  list.insert(list.begin(), trials.begin(), trials.end());
  return list;
}

}  // namespace echelon
