// SPDX-License-Identifier: BSD-3-Clause
// The inverse in place, and how good it is.
#include "backend/target.hpp"
#include "dense/gauss_jordan/inspection.hpp"
#include "dense/gauss_jordan/operations.hpp"
#include "dense/gauss_jordan/refined_system.hpp"
#include "dense/gauss_jordan/system.hpp"
#include "dense/gauss_jordan/workspace.hpp"
#include "support/stopwatch.hpp"

namespace echelon {

namespace {

/// What is to be found out; on a GPU all of it is queued before anything is looked at.
struct InverseFindings {
  MatrixLook given;
  EliminationState elimination;
  MatrixLook inverse;
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

template <class T>
struct DistancesAt {
  const T* right;
  const T* left;
  ECHELON_ANYWHERE Distances operator()(std::int64_t i) const {
    return {distance_from_sign(static_cast<double>(right[i]), i),
            distance_from_sign(static_cast<double>(left[i]), i)};
  }
};

/// How far an inverse in float brings A v and v^T A from v, a strip of its columns at a time in T.
template <class B, class T>
Distances look_in_strips(B& backend, DenseView<const float> X, const T* from_right, const T* from_left,
                         Dense<T>& strip) {
  const std::int64_t n = X.rows();
  Array<T> right(X.device(), n);
  Array<T> left(X.device(), n);
  backend.fill(n, T{0}, right.data());
  for (std::int64_t begin = 0; begin < n; begin += strip.columns()) {
    const std::int64_t end = std::min(begin + strip.columns(), n);
    const DenseView<T> part = column_range(strip.view(), 0, end - begin);
    backend.for_each(n * part.columns(), Widen<T>{column_range(X, begin, end), part});
    multiply<T>(backend, T{1}, MatrixRef<T>(part), from_right + begin, T{1}, right.data());
    multiply_transposed<T>(backend, T{1}, part, from_left, T{0}, left.data() + begin);
  }
  Array<Distances> found(X.device(), 1);
  backend.reduce(n, DistancesAt<T>{right.data(), left.data()}, Store<Distances>{found.data()});
  return backend.read(found.data());
}

/// Fills in the residual of the worse side and the backward error of the better one, and returns that of the
/// worse. Elimination by rows makes ||A^-1 A - I|| / (||A|| ||A^-1||) about eps, and elimination by columns
/// ||A A^-1 - I||; in either case the other side is larger by up to the condition number, as it is for
/// LAPACK's getri and gesv. Each side bounds the relative error of A^-1 by the condition number times its
/// own, so the better one says how good A^-1 is.
double report_distances(std::int64_t n, const Distances& distances, double scale, Report& report) {
  const auto& [from_right, from_left] = distances;
  report.residual_norm = std::sqrt(combine(Largest{from_right.squares}, Largest{from_left.squares}).value);
  report.relative_residual = n > 0 ? report.residual_norm / std::sqrt(static_cast<double>(n)) : 0;
  const double worse = combine(from_right.largest, from_left.largest).value / scale;
  // NaN on either side must not pass for a small error.
  const double better = std::min(from_right.largest.value, from_left.largest.value) / scale;
  report.backward_error = std::isfinite(worse) ? better : worse;
  return worse;
}

template <class B, class T>
class Inversion {
 public:
  Inversion(BackendSpace<B, T>& space, const GaussJordanOptions& options, DenseView<T> A)
      : space_(space), tools_(space.tools), backend_(tools_.backend), options_(options), A_(A) {}

  void run(Report& report) {
    if (A_.rows() == 0) return;
    space_.inverse.fit(A_.device(), A_.rows());
    look_at_given();
    Elimination<B, T> elimination(tools_, A_, panel_columns<T>(backend_, options_, A_.rows(), A_.columns()));
    report.bytes = elimination.bytes() + space_.inverse.row_sums.bytes() + space_.inverse.vectors.bytes();
    InverseFindings found = invert(elimination);
    if (found.given.scan.row >= 0) return not_finite("A has a NaN or Inf", found.given.scan, report);
    const int exponent = bring_into_range<B, T>(backend_, A_, found.given.scan.largest);
    if (exponent != 0) {
      look_at_given();
      found = invert(elimination);
    }
    if (found.elimination.rank < A_.rows()) {
      elimination.look();
      return singular(elimination, report);
    }
    if (exponent != 0) {
      const T scale = static_cast<T>(std::ldexp(1.0, exponent));
      backend_.for_each(A_.rows() * A_.columns(), gauss_jordan_detail::ScaleElements<T>{A_, scale});
      const MatrixScan unscaled = scan<T>(tools_, A_, row_sums());
      found.inverse.scan.row = unscaled.row;
      found.inverse.scan.column = unscaled.column;
    }
    judge(A_.rows(), found, report);
  }

 private:
  [[nodiscard]] InverseFindings* findings() { return tools_.mailbox.template at<InverseFindings>(); }
  [[nodiscard]] double* row_sums() { return space_.inverse.row_sums.data(); }
  [[nodiscard]] T* from_right() { return space_.inverse.vectors.data(); }
  [[nodiscard]] T* from_left() { return from_right() + A_.rows(); }

  void look_at_given() {
    look<T>(backend_, A_, {.right_product = from_right(), .left_product = from_left()}, row_sums(),
            &findings()->given);
  }

  /// Queues everything before it waits. Does nothing to a finite matrix that is far from 1.
  InverseFindings invert(Elimination<B, T>& elimination) {
    InverseFindings* const found = findings();
    elimination.invert(&found->given.scan,
                       options_.tolerance.value_or(default_tolerance<T>(A_.rows(), A_.columns())));
    put_back_columns(backend_, A_, elimination.rows(), elimination.state_there());
    look<T>(backend_, A_, {.right = from_right(), .left = from_left()}, row_sums(), &found->inverse,
            elimination.state_there(), &found->elimination);
    tools_.mailbox.mark();
    tools_.mailbox.wait();
    return *found;
  }

  static void not_finite(const char* what, const MatrixScan& found, Report& report) {
    report.status = Status::not_a_number;
    report.message = std::string(what) + " at row " + std::to_string(found.row) + ", column " +
                     std::to_string(found.column) + ", counted from 0";
    report.row = found.row;
    report.column = found.column;
  }

  static void judge(std::int64_t n, const InverseFindings& found, Report& report) {
    const double norm = found.given.scan.norm_inf;
    const MatrixScan& inverse = found.inverse.scan;
    if (inverse.row >= 0) return not_finite("the inverse overflows", inverse, report);
    const Outcome outcome = judge_condition<T>(1 / norm / inverse.norm_inf);
    report.status = outcome.status;
    report.message = outcome.message;
    report.reciprocal_condition = outcome.reciprocal_condition;
    const double scale = norm * inverse.norm_inf;
    const double worse = report_distances(n, found.inverse.distances, scale, report);
    const double error_bound = std::numeric_limits<T>::epsilon() * static_cast<double>(n) * scale;
    if (report.solved() && !(worse <= std::max(acceptable_backward_error<T>, error_bound) &&
                             report.backward_error <= acceptable_backward_error<T>)) {
      report.status = Status::breakdown;
      report.message = "the backward error of the inverse is " + short_number(worse) +
                       " on its worse side, too large to call it one";
    }
  }

  static void singular(const Elimination<B, T>& elimination, Report& report) {
    const EliminationState& state = elimination.state();
    const bool overflow = state.overflow_column >= 0;
    report.column = overflow ? state.overflow_column : elimination.first_without_pivot();
    report.status = overflow ? Status::not_a_number : Status::singular;
    report.message =
        overflow ? "the elimination overflowed at column " + std::to_string(*report.column) + " (from 0)"
                 : "A is singular: column " + std::to_string(*report.column) +
                       " (from 0) depends on those before it; the rank is " + std::to_string(state.rank);
  }

  BackendSpace<B, T>& space_;
  EliminationTools<B>& tools_;
  B& backend_;
  GaussJordanOptions options_;
  DenseView<T> A_;
};

/// Replaces A by an inverse from an elimination in lower precision, or leaves it and says why that would not
/// do. An inverse is not refined: a step would cost more than the elimination in the working precision.
template <class B, class T>
std::string invert_lower(BackendSpace<B, T>& space, FloatProducts products, const GaussJordanOptions& options,
                         DenseView<T> A, Report& report) {
  if (!options.accuracy) return "an inverse is not refined: it needs an option accuracy";
  B& backend = space.tools.backend;
  BackendSpace<B, float>& lower = space.lower();
  lower.tools.products = products;
  space.inverse.fit(A.device(), A.rows());
  T* const from_right = space.inverse.vectors.data();
  T* const from_left = from_right + A.rows();
  look<T>(backend, A, {.right_product = from_right, .left_product = from_left}, space.inverse.row_sums.data(),
          space.tools.mailbox.template at<MatrixLook>());
  Dense<float> X = rounded<B, T>(backend, MatrixRef<T>(A));
  GaussJordanOptions in_float = options;
  in_float.tolerance = options.tolerance.value_or(default_tolerance<T>(A.rows(), A.columns()));
  Report found;
  Inversion<B, float>(lower, in_float, X.view()).run(found);
  if (!found.solved()) return "in this precision, " + found.message;
  constexpr std::int64_t strip_columns = 256;
  Dense<T> strip(A.device(), A.rows(), std::min(A.rows(), strip_columns));
  const auto [right, left] = look_in_strips<B, T>(backend, X.view(), from_right, from_left, strip);
  const double off = combine(right.largest, left.largest).value;
  const double reciprocal_condition = found.reciprocal_condition.value_or(1);
  Report measured;
  const double worse = report_distances(A.rows(), {right, left}, 1 / reciprocal_condition, measured);
  constexpr double one_digit = 0.1;
  if (!(worse <= *options.accuracy && off <= one_digit)) {
    return "its backward error is " + short_number(worse) + ", and A^-1 (A v) differs from v by " +
           short_number(off);
  }
  backend.for_each(A.rows() * A.columns(), Widen<T>{X.view(), A});
  backend.synchronize();
  report.reciprocal_condition = found.reciprocal_condition;
  report.residual_norm = measured.residual_norm;
  report.relative_residual = measured.relative_residual;
  report.backward_error = measured.backward_error;
  report.bytes = found.bytes + X.bytes() + strip.bytes() + space.inverse.vectors.bytes();
  return {};
}

}  // namespace

template <class Target, class T>
Report invert_on(EliminationSpace& space, const GaussJordanOptions& options, DenseView<T> A) {
  return on_backend(space.device, [&]<class B>() {
    const Stopwatch stopwatch;
    Report report;
    report.method = std::string(GaussJordanOptions::name);
    report.device = space.device;
    const bool by_row = A.layout() == Layout::row_major;
    // The transpose's inverse is the inverse's transpose.
    A = DenseView<T>(A.data(), A.rows(), A.columns(), A.leading(), A.device());
    auto& own = space_of<B, T>(space);
    const std::optional<FloatProducts> products = lower_products<B, T>(options);
    const std::string why = products ? invert_lower(own, *products, options, A, report) : "";
    report.factor_precision = tell_factor_precision<B, T>(options, why);
    if (!products || !why.empty()) Inversion<B, T>(own, options, A).run(report);
    if (by_row) std::swap(report.row, report.column);
    report.setup_seconds = stopwatch.seconds();
    return report;
  });
}

template Report invert_on<ThisTarget>(EliminationSpace&, const GaussJordanOptions&, DenseView<float>);
template Report invert_on<ThisTarget>(EliminationSpace&, const GaussJordanOptions&, DenseView<double>);

}  // namespace echelon
