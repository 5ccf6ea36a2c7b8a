// SPDX-License-Identifier: BSD-3-Clause
// The reduced form as a public operation: checks, rank and report.
#include "backend/api_boundary.hpp"
#include "backend/dispatch.hpp"
#include "linalg/determinant_product.hpp"
#include "linalg/residual_check.hpp"
#include "options/parse.hpp"
#include "solver/column_report.hpp"
#include "studies/gauss_jordan_striped/striped.hpp"
#include "support/stopwatch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

namespace echelon {

namespace {

/// `not_a_number` for a matrix with a NaN or Inf.
Outcome finite_outcome(const MatrixFacts& facts, const char* name) {
  if (!facts.row) return {};
  return {Status::not_a_number,
          fmt::format("{} has a NaN or Inf at row {}, column {}, counted from 0", name, *facts.row,
                      facts.column.value_or(0)),
          facts.row};
}

template <class T>
RankFacts rank_of(const std::vector<T>& pivots, std::int64_t rows, std::int64_t columns, double norm_inf) {
  RankFacts facts;
  facts.rank = std::ssize(pivots);
  if (pivots.empty()) return facts;
  const auto size = [](T pivot) { return std::abs(static_cast<double>(pivot)); };
  const auto smallest =
      std::min_element(pivots.begin(), pivots.end(), [&](T one, T other) { return size(one) < size(other); });
  facts.smallest_accepted_pivot = size(*smallest);
  const double rounding = 4 * std::sqrt(static_cast<double>(std::max(rows, columns))) *
                          static_cast<double>(std::numeric_limits<T>::epsilon()) * norm_inf;
  facts.doubtful = *facts.smallest_accepted_pivot < 1000 * rounding;
  return facts;
}

template <class T>
void describe(EchelonForm<T>& form, const std::vector<T>& pivots, double norm_inf) {
  const std::int64_t rows = form.R.rows();
  const std::int64_t columns = form.R.columns();
  form.facts = rank_of(pivots, rows, columns, norm_inf);
  form.pivot_columns.resize(pivots.size());
  std::iota(form.pivot_columns.begin(), form.pivot_columns.end(), std::int64_t{0});
  form.row_permutation.resize(static_cast<std::size_t>(rows));
  std::iota(form.row_permutation.begin(), form.row_permutation.end(), std::int64_t{0});
  if (form.facts.doubtful)
    form.report.warnings.emplace_back("a pivot is as small as rounding errors can be: the rank is doubtful");
  if (rows != columns) return;
  DeterminantProduct product;
  for (const T pivot : pivots) product.multiply(static_cast<double>(pivot));
  form.determinant = product.value();
}

template <class Target, class T>
EchelonForm<T> reduce(const Dense<T>& A, const GaussJordanStripedOptions& options) {
  const Stopwatch stopwatch;
  const auto check = make_residual_check<Target, T>(A.device());
  const MatrixFacts given = check->matrix(A);
  EchelonForm<T> form;
  Outcome outcome = finite_outcome(given, "A");
  std::vector<T> pivots;
  if (outcome.ok()) {
    StripedForm<T> reduced = reduce_striped_on<Target, T>(A, options);
    outcome = std::move(reduced.outcome);
    if (outcome.ok()) outcome = finite_outcome(check->matrix(reduced.R), "the reduced form");
    form.R = std::move(reduced.R);
    pivots = std::move(reduced.pivots);
  }
  form.report = outcome_report(outcome, std::string(GaussJordanStripedOptions::name), A.device());
  if (outcome.ok()) describe(form, pivots, given.norm_inf);
  form.report.setup_seconds = stopwatch.seconds();
  return form;
}

}  // namespace

template <class T>
EchelonForm<T> reduce_striped(const Dense<T>& A, const GaussJordanStripedOptions& options) {
  return reduce_striped(A, to_options(options));
}

template <class T>
EchelonForm<T> reduce_striped(const Dense<T>& A, const Options& options) {
  return at_api_boundary([&] {
    const auto parsed =
        parse_options<GaussJordanStripedOptions>(std::string(GaussJordanStripedOptions::name), options);
    return on_target(A.device(), [&]<class Target>() { return reduce<Target, T>(A, parsed); });
  });
}

template EchelonForm<float> reduce_striped(const Dense<float>&, const GaussJordanStripedOptions&);
template EchelonForm<double> reduce_striped(const Dense<double>&, const GaussJordanStripedOptions&);
template EchelonForm<float> reduce_striped(const Dense<float>&, const Options&);
template EchelonForm<double> reduce_striped(const Dense<double>&, const Options&);

}  // namespace echelon
