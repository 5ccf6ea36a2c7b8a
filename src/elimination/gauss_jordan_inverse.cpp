// SPDX-License-Identifier: BSD-3-Clause
// The inverse in place, and how good it is.
#include "backend/side.hpp"
#include "elimination/gauss_jordan.hpp"
#include "elimination/gauss_jordan_space.hpp"
#include "elimination/gauss_jordan_system.hpp"
#include "elimination/matrix_look.hpp"

#include <chrono>

namespace echelon {

namespace {

/// What is to be found out; on a GPU all of it is queued before anything is looked at.
struct InverseFindings {
  MatrixLook given;
  EliminationState elimination;
  MatrixLook inverse;
};

template <class B, class T>
class Inversion {
 public:
  Inversion(BackendSpace<B, T>& space, const GaussJordanOptions& options, DenseView<T> A)
      : space_(space), tools_(space.tools), backend_(tools_.backend), options_(options), A_(A) {}

  void run(Report& report) {
    if (A_.rows == 0) return;
    space_.inverse.fit(A_.device, A_.rows);
    look_at_given();
    Elimination<B, T> elimination(tools_, A_, panel_columns<T>(backend_, options_, A_.rows, A_.columns));
    report.bytes = elimination.bytes() + space_.inverse.row_sums.bytes() + space_.inverse.vectors.bytes();
    InverseFindings found = invert(elimination);
    if (found.given.scan.row >= 0) return not_finite("A has a NaN or Inf", found.given.scan, report);
    const int exponent = bring_into_range<B, T>(backend_, A_, found.given.scan.largest);
    if (exponent != 0) {
      look_at_given();
      found = invert(elimination);
    }
    if (found.elimination.rank < A_.rows) {
      elimination.look();
      return singular(elimination, report);
    }
    if (exponent != 0) {
      const T scale = static_cast<T>(std::ldexp(1.0, exponent));
      backend_.for_each(A_.rows * A_.columns, gauss_jordan_detail::ScaleElements<T>{A_, scale});
      const MatrixScan unscaled = scan<T>(tools_, A_, row_sums());
      found.inverse.scan.row = unscaled.row;
      found.inverse.scan.column = unscaled.column;
    }
    judge(A_.rows, found, report);
  }

 private:
  [[nodiscard]] InverseFindings* findings() { return tools_.mailbox.template at<InverseFindings>(); }
  [[nodiscard]] double* row_sums() { return space_.inverse.row_sums.data(); }
  [[nodiscard]] T* from_right() { return space_.inverse.vectors.data(); }
  [[nodiscard]] T* from_left() { return from_right() + A_.rows; }

  void look_at_given() {
    look<T>(backend_, A_, {.right_product = from_right(), .left_product = from_left()}, row_sums(),
            &findings()->given);
  }

  /// Queues everything before it waits. Does nothing to a finite matrix that is far from 1.
  InverseFindings invert(Elimination<B, T>& elimination) {
    InverseFindings* const found = findings();
    elimination.invert(&found->given.scan,
                       options_.tolerance.value_or(default_tolerance<T>(A_.rows, A_.columns)));
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
    const auto& [from_right, from_left] = found.inverse.distances;
    report.residual_norm = std::sqrt(combine(Largest{from_right.squares}, Largest{from_left.squares}).value);
    report.relative_residual = report.residual_norm / std::sqrt(static_cast<double>(n));
    const double off = combine(from_right.largest, from_left.largest).value;
    report.backward_error = off / (norm * inverse.norm_inf);
    constexpr double acceptable = std::is_same_v<T, double> ? 1e-10 : 1e-4;
    if (report.solved() && !(report.backward_error <= acceptable)) {
      report.status = Status::breakdown;
      report.message = "the backward error of the inverse is " + short_number(report.backward_error) +
                       ", too large to call it one";
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

}  // namespace

template <class Side, class T>
Report invert_on(EliminationSpace& space, const GaussJordanOptions& options, DenseView<T> A) {
  return on_backend(space.device, [&]<class B>() {
    const auto start = std::chrono::steady_clock::now();
    Report report;
    report.method = std::string(GaussJordanOptions::name);
    report.device = space.device;
    const bool by_row = A.layout == Layout::row_major;
    A.layout = Layout::column_major;  // the transpose's inverse is the inverse's transpose
    Inversion<B, T>(space_of<B, T>(space), options, A).run(report);
    if (by_row) std::swap(report.row, report.column);
    report.setup_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return report;
  });
}

template Report invert_on<ThisSide>(EliminationSpace&, const GaussJordanOptions&, DenseView<float>);
template Report invert_on<ThisSide>(EliminationSpace&, const GaussJordanOptions&, DenseView<double>);

}  // namespace echelon
