// SPDX-License-Identifier: BSD-3-Clause
// The inverse in place, and its measured accuracy.
#include "backend/target.hpp"
#include "dense/gauss_jordan/dependence.hpp"
#include "dense/gauss_jordan/factor_precision.hpp"
#include "dense/gauss_jordan/inspection.hpp"
#include "dense/gauss_jordan/operations.hpp"
#include "dense/gauss_jordan/panel_width.hpp"
#include "dense/gauss_jordan/rank.hpp"
#include "dense/gauss_jordan/refined_system.hpp"
#include "dense/gauss_jordan/scaling.hpp"
#include "dense/gauss_jordan/workspace.hpp"
#include "dense/mixed_precision/rounding.hpp"
#include "exact/decide_rank.hpp"
#include "solver/column_report.hpp"
#include "solver/factor_status.hpp"
#include "support/stopwatch.hpp"

#include <support/scalar_list.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace echelon {

namespace {

/// Results of the queued work of an inversion, complete after one wait.
struct InversionFacts {
  MatrixInspection given;
  EliminationState elimination;
  MatrixInspection inverse;
};

template <class T>
struct Widen {
  DenseView<const float> from;
  DenseView<T> to;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t i = e % to.rows();
    const std::int64_t j = e / to.rows();
    to.data()[j * to.leading() + i] = static_cast<T>(from.data()[j * from.leading() + i]);
  }
};

/// Distances of X (A v) and (v^T A) X from v for an inverse X in float, whose columns are widened to T a
/// strip at a time.
template <class B, class T>
Distances measure_in_strips(B& backend, DenseView<const float> X, const T* A_v, const T* v_A,
                            Dense<T>& strip) {
  const std::int64_t n = X.rows();
  Array<T> right(X.device(), n);
  Array<T> left(X.device(), n);
  backend.fill(n, T{0}, right.data());
  for (std::int64_t begin = 0; begin < n; begin += strip.columns()) {
    const std::int64_t end = std::min(begin + strip.columns(), n);
    const DenseView<T> part = column_range(strip.view(), 0, end - begin);
    backend.for_each(n * part.columns(), Widen<T>{column_range(X, begin, end), part});
    multiply<T>(backend, T{1}, MatrixRef<T>(part), A_v + begin, T{1}, right.data());
    multiply_transposed<T>(backend, T{1}, part, v_A, T{0}, left.data() + begin);
  }
  Array<Distances> result(X.device(), 1);
  backend.reduce(n, DistancesAt<T>{right.data(), left.data()}, Store<Distances>{result.data()});
  return backend.read(result.data());
}

/// Accuracy of an inverse by its effect on A v and v^T A.
struct InverseAccuracy {
  double residual_norm = 0;  ///< 2-norm, the larger of left and right
  double smaller_error = 0;  ///< backward error: infinity norm over ||A||_inf ||A^-1||_inf
  double larger_error = 0;
  double largest_difference = 0;  ///< infinity norm, the larger of left and right
};

/// Computes the backward errors on both sides. Elimination by rows makes ||A^-1 A - I|| / (||A|| ||A^-1||)
/// about eps, elimination by columns ||A A^-1 - I||. In either case the other one is larger by up to the
/// condition number, as it is for LAPACK's getri and gesv. Each of them bounds the relative error of A^-1 by
/// the condition number times its own backward error, so the better one describes the accuracy of A^-1.
InverseAccuracy assess_accuracy(const Distances& distances, double condition) {
  const auto& [right, left] = distances;
  InverseAccuracy accuracy;
  accuracy.residual_norm = std::sqrt(combine(Largest{right.squares}, Largest{left.squares}).value);
  accuracy.largest_difference = combine(right.largest, left.largest).value;
  accuracy.larger_error = accuracy.largest_difference / condition;
  // A NaN on either side must not pass for a small error.
  const double better = std::min(right.largest.value, left.largest.value) / condition;
  accuracy.smaller_error = std::isfinite(accuracy.larger_error) ? better : accuracy.larger_error;
  return accuracy;
}

void report_accuracy(std::int64_t n, const InverseAccuracy& accuracy, Report& report) {
  report.residual_norm = accuracy.residual_norm;
  report.relative_residual = n > 0 ? accuracy.residual_norm / std::sqrt(static_cast<double>(n)) : 0;
  report.backward_error = accuracy.smaller_error;
}

constexpr const char* growth_advice = "; try the inverse of lu, which factors such a matrix in another way";

template <class B, class T>
class Inversion {
 public:
  Inversion(BackendWorkspace<B, T>& workspace, const GaussJordanOptions& options, DenseView<T> A)
      : inverse_workspace_(workspace.inverse),
        workspace_(workspace.elimination),
        backend_(workspace_.backend),
        options_(options),
        A_(A) {}

  void run(Report& report) {
    if (A_.rows() == 0) return;
    inverse_workspace_.resize(A_.device(), A_.rows());
    if (asks_exact_rank(options_)) copy_ = copy_for_exact_rank<T>(A_);
    inspect_given();
    scale_given();
    BlockedElimination<B, T> elimination(workspace_, A_,
                                         panel_width<T>(backend_, options_, A_.rows(), A_.columns()));
    report.bytes = elimination.bytes() + inverse_workspace_.row_sums.bytes() +
                   inverse_workspace_.vectors.bytes() + copy_.bytes() + scales_.bytes();
    const double tolerance = options_.tolerance.value_or(default_tolerance<T>(A_.rows(), A_.columns()));
    InversionFacts facts = invert(elimination, tolerance);
    if (facts.given.scan.row >= 0) return report_nonfinite("A has a NaN or Inf", facts.given.scan, report);
    const int exponent = bring_into_range<B, T>(backend_, A_, facts.given.scan.largest);
    if (exponent != 0) {
      inspect_given();
      facts = invert(elimination, tolerance);
    }
    if (elimination.cancelled()) {
      report.status = Status::cancelled;
      report.message = "stopped by the caller during the elimination; A is eliminated in part";
      return;
    }
    facts = with_exact_rank(elimination, exponent, tolerance, facts);
    if (facts.elimination.rank < A_.rows()) {
      elimination.fetch_state();
      return report_singular(elimination, facts.given.scan.norm_inf, report);
    }
    if (exponent != 0 || !scales_.empty()) {
      unscale(exponent);
      const MatrixScan unscaled = scan<T>(workspace_, A_, row_sums());
      facts.inverse.scan.row = unscaled.row;
      facts.inverse.scan.column = unscaled.column;
      report_inverse(facts, report);
      if (report.reciprocal_condition && !scales_.empty()) {
        report.reciprocal_condition = std::min(1.0, 1 / given_norm_ / unscaled.norm_inf);
      }
      return;
    }
    report_inverse(facts, report);
  }

 private:
  [[nodiscard]] InversionFacts* pinned_facts() { return workspace_.pinned.template at<InversionFacts>(); }
  [[nodiscard]] double* row_sums() { return inverse_workspace_.row_sums.data(); }
  [[nodiscard]] T* right_product() { return inverse_workspace_.vectors.data(); }
  [[nodiscard]] T* left_product() { return right_product() + A_.rows(); }

  void inspect_given() {
    inspect<T>(backend_, A_, {.right_product = right_product(), .left_product = left_product()}, row_sums(),
               &pinned_facts()->given);
  }

  /// Equilibrates A, after its inspection, and inspects it again.
  void scale_given() {
    if (!asks_exact_rank(options_)) return;
    scales_ = equilibrate_if_uneven<B, T>(backend_, A_, row_sums());
    if (scales_.empty()) return;
    backend_.synchronize();
    given_norm_ = workspace_.pinned.value(&pinned_facts()->given.scan).norm_inf;
    inspect_given();
  }
  /// Replaces the inverse of the scaled matrix by that of A.
  void unscale(int exponent) {
    const std::int64_t elements = A_.rows() * A_.columns();
    if (!scales_.empty()) {
      // S = R A C has the inverse C^-1 A^-1 R^-1.
      backend_.for_each(elements, CopyScaled<T>{A_, scales_.columns.data(), scales_.rows.data(), A_});
    }
    const auto scale = static_cast<Real<T>>(std::ldexp(1.0, exponent));
    if (exponent != 0) backend_.for_each(elements, scaling_detail::ScaleElements<T>{A_, scale});
  }
  /// Replaces the eliminated matrix by A, scaled as before, and inspects it.
  void restore(int exponent) {
    const std::int64_t elements = A_.rows() * A_.columns();
    for (std::int64_t j = 0; j < A_.columns(); ++j) {
      backend_.copy(A_.rows(), copy_.view().column(j), A_.column(j));
    }
    scale_by<B, T>(backend_, scales_, A_);
    const auto scale = static_cast<Real<T>>(std::ldexp(1.0, exponent));
    if (exponent != 0) backend_.for_each(elements, scaling_detail::ScaleElements<T>{A_, scale});
    inspect_given();
  }

  /// Facts about the elimination with the exact rank, where that decides: A is eliminated again if the
  /// tolerance has given another one.
  InversionFacts with_exact_rank(BlockedElimination<B, T>& elimination, int exponent, double tolerance,
                                 const InversionFacts& found) {
    const std::int64_t rank = found.elimination.rank;
    if (copy_.rows() == 0 || found.elimination.overflow_column >= 0) return found;
    const std::optional<std::int64_t> exact =
        decide_rank(MatrixRef<T>(copy_), {rank, is_doubtful(elimination, tolerance, found)});
    proven_ = exact == rank;
    if (!exact || proven_) return found;
    constexpr int most_eliminations = 20;
    double relative = 0;
    for (int k = 0; k < most_eliminations; ++k) {
      restore(exponent);
      const InversionFacts facts = invert(elimination, relative);
      proven_ = facts.elimination.rank == *exact;
      if (proven_) return facts;
      if (facts.elimination.rank < *exact || facts.elimination.overflow_column >= 0) break;
      relative =
          facts.elimination.smallest_accepted / facts.given.scan.norm_inf * (1 + 4 * machine_epsilon<T>);
    }
    restore(exponent);
    return invert(elimination, tolerance);
  }

  [[nodiscard]] bool is_doubtful(BlockedElimination<B, T>& elimination, double tolerance,
                                 const InversionFacts& found) {
    const double norm = found.given.scan.norm_inf;
    const bool full = found.elimination.rank == A_.rows();
    const double distance = full ? 1 / found.inverse.scan.norm_inf : norm;
    const double rounding = default_tolerance<T>(A_.rows(), A_.columns()) / 4 * norm;
    const RankFacts facts = rank_facts<T>(found.elimination, tolerance * norm, rounding, distance, 0);
    if (full || is_open<T>(facts, A_.rows())) return facts.doubtful;
    elimination.fetch_state();
    return has_growth(elimination, norm);
  }
  /// Whether the first column without a pivot is not dependent on those before it; `norm`: of A.
  [[nodiscard]] bool has_growth(const BlockedElimination<B, T>& elimination, double norm) {
    const std::vector<std::int64_t> pivots = elimination.fetch_pivot_columns();
    return !is_dependent<B, T>(backend_, A_, pivots, first_without_pivot(pivots, A_.columns()),
                               left_product(), norm);
  }

  /// Queues the elimination and the inspection of the inverse, then waits. A matrix that is finite and far
  /// from 1 is unchanged.
  InversionFacts invert(BlockedElimination<B, T>& elimination, double tolerance) {
    InversionFacts* const facts = pinned_facts();
    elimination.invert(&facts->given.scan, tolerance);
    put_back_columns(backend_, A_, elimination.rows(), elimination.device_state());
    inspect<T>(backend_, A_, {.right = right_product(), .left = left_product()}, row_sums(), &facts->inverse,
               elimination.device_state(), &facts->elimination);
    workspace_.pinned.record();
    workspace_.pinned.wait();
    return workspace_.pinned.value(facts);
  }

  static void report_nonfinite(const char* what, const MatrixScan& scan, Report& report) {
    report.status = Status::not_a_number;
    report.message = std::string(what) + " at row " + std::to_string(scan.row) + ", column " +
                     std::to_string(scan.column) + ", counted from 0";
    report.row = scan.row;
    report.column = scan.column;
  }

  void report_inverse(const InversionFacts& facts, Report& report) const {
    const MatrixScan& inverse = facts.inverse.scan;
    if (inverse.row >= 0) return report_nonfinite("the inverse overflows", inverse, report);
    const double condition = facts.given.scan.norm_inf * inverse.norm_inf;
    const Outcome outcome = assess_condition<T>(1 / facts.given.scan.norm_inf / inverse.norm_inf);
    report.status = outcome.status;
    report.message = outcome.message;
    report.reciprocal_condition = outcome.reciprocal_condition;
    const InverseAccuracy accuracy = assess_accuracy(facts.inverse.distances, condition);
    report_accuracy(A_.rows(), accuracy, report);
    if (report.status == Status::singular && !(accuracy.smaller_error <= acceptable_backward_error<T>)) {
      report.status = Status::breakdown;
      report.message = "elements grew so much in the elimination that its result is not an inverse";
      report.message += growth_advice;
      report.reciprocal_condition.reset();
    }
    const double explained = machine_epsilon<T> * static_cast<double>(A_.rows()) * condition;
    if (report.solved() && !(accuracy.larger_error <= std::max(acceptable_backward_error<T>, explained) &&
                             accuracy.smaller_error <= acceptable_backward_error<T>)) {
      report.status = Status::breakdown;
      report.message = "the product of the computed inverse X with A differs from the identity by " +
                       short_number(accuracy.larger_error) + " ||A|| ||X||, too much for an inverse";
    }
  }

  /// Report for a rank that is not full; `norm`: of A.
  void report_singular(const BlockedElimination<B, T>& elimination, double norm, Report& report) {
    const EliminationState& state = elimination.state();
    if (state.overflow_column >= 0) {
      report.column = state.overflow_column;
      report.status = Status::not_a_number;
      report.message = "the elimination overflowed at column " + std::to_string(*report.column) + " (from 0)";
      return;
    }
    const std::int64_t column = elimination.first_without_pivot();
    if (!options_.tolerance && !proven_ && has_growth(elimination, norm)) {
      report.status = Status::breakdown;
      report.message = growth_in_elimination(column) + growth_advice;
      return;
    }
    report.column = column;
    report.status = Status::singular;
    report.message = "A is singular: column " + std::to_string(column) +
                     " (from 0) depends on those before it; the rank is " + std::to_string(state.rank);
  }

  InverseWorkspace<T>& inverse_workspace_;
  EliminationWorkspace<B>& workspace_;
  B& backend_;
  GaussJordanOptions options_;
  DenseView<T> A_;
  Dense<T> copy_;  // of A as it was given; empty: the exact rank is not asked
  Scales<T> scales_;
  double given_norm_ = 0;  // of A as it was given, if it was scaled
  bool proven_ = false;    // the rank is the exact one
};

/// Replaces A by an inverse from an elimination in lower precision, or leaves A unchanged and returns the
/// reason. An inverse is not refined: a step would cost more than the elimination in the working precision.
template <class B, class T>
std::string invert_in_lower_precision(BackendWorkspace<B, T>& workspace, FloatProducts products,
                                      const GaussJordanOptions& options, DenseView<T> A, Report& report) {
  if (!options.accuracy) return "an inverse is not refined: it needs an option accuracy";
  EliminationWorkspace<B>& elimination = workspace.elimination;
  B& backend = elimination.backend;
  BackendWorkspace<B, float>& lower = workspace.lower();
  lower.elimination.products = products;
  workspace.inverse.resize(A.device(), A.rows());
  T* const A_v = workspace.inverse.vectors.data();
  T* const v_A = A_v + A.rows();
  inspect<T>(backend, A, {.right_product = A_v, .left_product = v_A}, workspace.inverse.row_sums.data(),
             elimination.pinned.template at<MatrixInspection>());
  Dense<float> X = round_to_float<B, T>(backend, MatrixRef<T>(A)).matrix;
  GaussJordanOptions in_float = options;
  in_float.tolerance = options.tolerance.value_or(default_tolerance<T>(A.rows(), A.columns()));
  Report lower_report;
  Inversion<B, float>(lower, in_float, X.view()).run(lower_report);
  if (!lower_report.solved()) return "in this precision, " + lower_report.message;
  constexpr std::int64_t strip_columns = 256;
  Dense<T> strip(A.device(), A.rows(), std::min(A.rows(), strip_columns));
  const Distances distances = measure_in_strips<B, T>(backend, X.view(), A_v, v_A, strip);
  const double reciprocal_condition = lower_report.reciprocal_condition.value_or(1);
  const InverseAccuracy accuracy = assess_accuracy(distances, 1 / reciprocal_condition);
  constexpr double one_digit = 0.1;
  if (!(accuracy.larger_error <= *options.accuracy && accuracy.largest_difference <= one_digit)) {
    return "its backward error is " + short_number(accuracy.larger_error) +
           ", and A^-1 (A v) differs from v by " + short_number(accuracy.largest_difference);
  }
  backend.for_each(A.rows() * A.columns(), Widen<T>{X.view(), A});
  backend.synchronize();
  report.reciprocal_condition = lower_report.reciprocal_condition;
  report_accuracy(A.rows(), accuracy, report);
  report.bytes = lower_report.bytes + X.bytes() + strip.bytes() + workspace.inverse.vectors.bytes();
  return {};
}

/// Inverts A in the requested lower precision, and reports the precision. False if A is still to be inverted
/// in the working precision.
template <class B, class T>
bool invert_in_requested_precision(BackendWorkspace<B, T>& workspace, const GaussJordanOptions& options,
                                   DenseView<T> A, Report& report) {
  if constexpr (is_complex<T>) {
    return false;
  } else {
    const std::optional<FloatProducts> products = requested_products<B, T>(options);
    const std::string why =
        products ? invert_in_lower_precision(workspace, *products, options, A, report) : std::string();
    report.factor_precision = report_factor_precision<B, T>(options, why);
    return products && why.empty();
  }
}

}  // namespace

template <class Target, class T>
Report invert_on(OperationWorkspace& workspace, const GaussJordanOptions& options, DenseView<T> A) {
  return on_backend(workspace.device, [&]<class B>() {
    const Stopwatch stopwatch;
    Report report = outcome_report({}, std::string(GaussJordanOptions::name), workspace.device);
    const bool row_major = A.layout() == Layout::row_major;
    // The inverse of the transpose is the transpose of the inverse.
    A = DenseView<T>(A.data(), A.rows(), A.columns(), A.leading(), A.device());
    auto& own = workspace_of<B, T>(workspace);
    if (!invert_in_requested_precision(own, options, A, report)) Inversion<B, T>(own, options, A).run(report);
    if (row_major) std::swap(report.row, report.column);
    report.setup_seconds = stopwatch.seconds();
    return report;
  });
}

#define ECHELON_INSTANTIATE(T) \
  template Report invert_on<ThisTarget>(OperationWorkspace&, const GaussJordanOptions&, DenseView<T>);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
