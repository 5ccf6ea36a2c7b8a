// SPDX-License-Identifier: BSD-3-Clause
// The inverse in place, and how good it is.
#include "backend/side.hpp"
#include "elimination/gauss_jordan.hpp"
#include "elimination/gauss_jordan_system.hpp"
#include "solver/audit.hpp"

#include <chrono>

namespace echelon {

namespace {

/// +1 and -1 in an order that no structure of A is likely to have.
template <class T>
struct Probe {
  T* v;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    std::uint64_t bits = static_cast<std::uint64_t>(i) + 0x9e3779b97f4a7c15U;
    bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9U;
    bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebU;
    v[i] = (bits >> 63U) == 0 ? T{1} : T{-1};
  }
};

template <class T>
struct SubtractFrom {
  const T* from;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { x[i] -= from[i]; }
};

/// A v and A^T v, kept while A is inverted in place.
template <class B, class T>
class InverseCheck {
 public:
  InverseCheck(B& backend, DenseView<const T> A)
      : backend_(backend),
        n_(A.rows),
        probe_(A.device, n_),
        from_right_(A.device, n_),
        from_left_(A.device, n_),
        back_(A.device, n_) {
    backend.for_each(n_, Probe<T>{probe_.data()});
    multiply<T>(backend, T{1}, MatrixRef<T>(A), probe_.data(), T{0}, from_right_.data());
    multiply_transposed<T>(backend, T{1}, A, probe_.data(), T{0}, from_left_.data());
  }

  /// Fills in the figures for the inverse X. `norms`: ||A|| ||X||.
  void measure(DenseView<const T> X, double norms, Report& report) {
    const std::unique_ptr<Audit<T>> audit = make_audit<ThisSide, T>(X.device);
    multiply<T>(backend_, T{1}, MatrixRef<T>(X), from_right_.data(), T{0}, back_.data());
    compare(norms, *audit, report);
    multiply_transposed<T>(backend_, T{1}, X, from_left_.data(), T{0}, back_.data());
    compare(norms, *audit, report);
  }

 private:
  void compare(double norms, Audit<T>& audit, Report& report) {
    backend_.for_each(n_, SubtractFrom<T>{probe_.data(), back_.data()});
    const VectorFacts off = audit.vector(n_, back_.data());
    report.residual_norm = std::max(report.residual_norm, off.norm2);
    report.relative_residual = report.residual_norm / std::sqrt(static_cast<double>(n_));
    report.backward_error = std::max(report.backward_error, off.norm_inf / norms);
  }

  B& backend_;
  std::int64_t n_;
  Array<T> probe_, from_right_, from_left_, back_;
};

template <class B, class T>
class Inversion {
 public:
  Inversion(const Device& device, const GaussJordanOptions& options, DenseView<T> A)
      : backend_(device), options_(options), A_(A), row_sums_(device, A.rows) {}

  void run(Report& report) {
    const MatrixScan given = scan<T>(backend_, A_, row_sums_.data());
    if (given.row >= 0) return not_finite("A has a NaN or Inf", given, report);
    if (A_.rows == 0) return;
    InverseCheck<B, T> check(backend_, A_);
    if (!eliminate(given, report)) return;
    const MatrixScan found = scan<T>(backend_, A_, row_sums_.data());
    if (found.row >= 0) return not_finite("the inverse overflows", found, report);
    const Outcome outcome = judge_condition<T>(1 / given.norm_inf / found.norm_inf);
    report.status = outcome.status;
    report.message = outcome.message;
    report.reciprocal_condition = outcome.reciprocal_condition;
    check.measure(A_, given.norm_inf * found.norm_inf, report);
    constexpr double acceptable = std::is_same_v<T, double> ? 1e-10 : 1e-4;
    if (report.solved() && !(report.backward_error <= acceptable)) {
      report.status = Status::breakdown;
      report.message = "the backward error of the inverse is " + short_number(report.backward_error) +
                       ", too large to call it one";
    }
  }

 private:
  static void not_finite(const char* what, const MatrixScan& found, Report& report) {
    report.status = Status::not_a_number;
    report.message = std::string(what) + " at row " + std::to_string(found.row) + ", column " +
                     std::to_string(found.column) + ", counted from 0";
    report.row = found.row;
    report.column = found.column;
  }

  bool eliminate(const MatrixScan& given, Report& report) {
    const int exponent = bring_into_range<B, T>(backend_, A_, given.largest);
    const double norm = exponent == 0 ? given.norm_inf : scan<T>(backend_, A_, row_sums_.data()).norm_inf;
    const double relative = options_.tolerance.value_or(default_tolerance<T>(A_.rows, A_.columns));
    Elimination<B, T> elimination(backend_, A_, panel_columns<B>(options_, A_.rows, A_.columns),
                                  static_cast<T>(relative * norm));
    elimination.invert();
    report.bytes = elimination.bytes() + row_sums_.bytes();
    if (elimination.state().rank < A_.rows) return singular(elimination, report);
    put_back_columns(backend_, A_, elimination.rows().data());
    if (exponent != 0) {
      const T scale = static_cast<T>(std::ldexp(1.0, exponent));
      backend_.for_each(A_.rows * A_.columns, gauss_jordan_detail::ScaleElements<T>{A_, scale});
    }
    return true;
  }

  static bool singular(const Elimination<B, T>& elimination, Report& report) {
    const EliminationState& state = elimination.state();
    const std::vector<std::int64_t> columns = elimination.columns().to_vector();
    std::int64_t column = 0;
    while (column < state.rank && columns[static_cast<std::size_t>(column)] == column) ++column;
    report.status = state.overflow_column >= 0 ? Status::not_a_number : Status::singular;
    report.message =
        state.overflow_column >= 0
            ? "the elimination overflowed at column " + std::to_string(state.overflow_column) + " (from 0)"
            : "A is singular: column " + std::to_string(column) +
                  " (from 0) depends on those before it; the rank is " + std::to_string(state.rank);
    report.column = state.overflow_column >= 0 ? state.overflow_column : column;
    return false;
  }

  B backend_;
  GaussJordanOptions options_;
  DenseView<T> A_;
  Array<double> row_sums_;
};

}  // namespace

template <class Side, class T>
Report invert_on(const Device& device, const GaussJordanOptions& options, DenseView<T> A) {
  return on_backend(device, [&]<class B>() {
    const auto start = std::chrono::steady_clock::now();
    Report report;
    report.method = std::string(GaussJordanOptions::name);
    report.device = device;
    const bool by_row = A.layout == Layout::row_major;
    A.layout = Layout::column_major;  // the transpose's inverse is the inverse's transpose
    Inversion<B, T>(device, options, A).run(report);
    if (by_row) std::swap(report.row, report.column);
    report.setup_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return report;
  });
}

template Report invert_on<ThisSide>(const Device&, const GaussJordanOptions&, DenseView<float>);
template Report invert_on<ThisSide>(const Device&, const GaussJordanOptions&, DenseView<double>);

}  // namespace echelon
