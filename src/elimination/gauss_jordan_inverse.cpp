// SPDX-License-Identifier: BSD-3-Clause
// The inverse in place, and how good it is.
#include "backend/side.hpp"
#include "elimination/gauss_jordan.hpp"
#include "elimination/gauss_jordan_space.hpp"
#include "elimination/gauss_jordan_system.hpp"

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

/// How far a vector is from v.
struct Distance {
  double squares = 0;
  Largest largest = {};
  friend ECHELON_ANYWHERE Distance combine(Distance a, Distance b) {
    return {a.squares + b.squares, combine(a.largest, b.largest)};
  }
};
struct Distances {
  Distance from_right, from_left;
  friend ECHELON_ANYWHERE Distances combine(Distances a, Distances b) {
    return {combine(a.from_right, b.from_right), combine(a.from_left, b.from_left)};
  }
};

template <class T>
struct DistancesAt {
  const T* right;
  const T* left;
  const T* v;
  ECHELON_ANYWHERE Distances operator()(std::int64_t i) const {
    return {distance(right[i], v[i]), distance(left[i], v[i])};
  }

 private:
  static ECHELON_ANYWHERE Distance distance(T x, T y) {
    const double off = static_cast<double>(x) - static_cast<double>(y);
    return {off * off, {std::fabs(off)}};
  }
};

/// What is to be found out; on a GPU all of it is queued before anything is looked at.
struct InverseFindings {
  MatrixScan given;
  EliminationState elimination;
  MatrixScan inverse;
  Distances distances;
};

/// The last of them.
struct StoreFindings {
  const EliminationState* elimination;
  InverseFindings* findings;
  ECHELON_ANYWHERE void operator()(Distances found) const {
    findings->elimination = *elimination;
    findings->distances = found;
  }
};

/// A v and A^T v, kept while A is inverted in place.
template <class B, class T>
class InverseCheck {
 public:
  /// `vectors`: 5 n elements.
  InverseCheck(B& backend, DenseView<const T> A, T* vectors)
      : backend_(backend),
        n_(A.rows),
        v_(vectors),
        from_right_(v_ + n_),
        from_left_(from_right_ + n_),
        back_from_right_(from_left_ + n_),
        back_from_left_(back_from_right_ + n_) {
    backend.for_each(n_, Probe<T>{v_});
    multiply<T>(backend, T{1}, MatrixRef<T>(A), v_, T{0}, from_right_);
    multiply_transposed<T>(backend, T{1}, A, v_, T{0}, from_left_);
  }

  /// How far the inverse X brings them from v.
  void measure(DenseView<const T> X, const StoreFindings& store) {
    multiply<T>(backend_, T{1}, MatrixRef<T>(X), from_right_, T{0}, back_from_right_);
    multiply_transposed<T>(backend_, T{1}, X, from_left_, T{0}, back_from_left_);
    backend_.reduce(n_, DistancesAt<T>{back_from_right_, back_from_left_, v_}, store);
  }

 private:
  B& backend_;
  std::int64_t n_;
  T* v_;
  T* from_right_;
  T* from_left_;
  T* back_from_right_;
  T* back_from_left_;
};

template <class B, class T>
class Inversion {
 public:
  Inversion(BackendSpace<B, T>& space, const GaussJordanOptions& options, DenseView<T> A)
      : space_(space), tools_(space.tools), backend_(tools_.backend), options_(options), A_(A) {}

  void run(Report& report) {
    if (A_.rows == 0) return;
    space_.inverse.fit(A_.device, A_.rows);
    double* const row_sums = space_.inverse.row_sums.data();
    auto* const found = tools_.mailbox.template at<InverseFindings>();
    scan<T>(backend_, A_, row_sums, &found->given);
    tools_.mailbox.mark();
    InverseCheck<B, T> check(backend_, A_, space_.inverse.vectors.data());
    Elimination<B, T> elimination(tools_, A_, panel_columns<B>(options_, A_.rows, A_.columns));
    report.bytes = elimination.bytes() + space_.inverse.row_sums.bytes() + space_.inverse.vectors.bytes();
    tools_.mailbox.wait();
    if (found->given.row >= 0) return not_finite("A has a NaN or Inf", found->given, report);
    const int exponent = bring_into_range<B, T>(backend_, A_, found->given.largest);
    const double norm = exponent == 0 ? found->given.norm_inf : scan<T>(backend_, A_, row_sums).norm_inf;
    const double relative = options_.tolerance.value_or(default_tolerance<T>(A_.rows, A_.columns));
    elimination.invert(static_cast<T>(relative * norm));
    put_back_columns(backend_, A_, elimination.rows(), elimination.state_there());
    if (exponent != 0) {
      const T scale = static_cast<T>(std::ldexp(1.0, exponent));
      backend_.for_each(A_.rows * A_.columns, gauss_jordan_detail::ScaleElements<T>{A_, scale});
    }
    scan<T>(backend_, A_, row_sums, &found->inverse);
    check.measure(A_, {elimination.state_there(), found});
    tools_.mailbox.mark();
    tools_.mailbox.wait();
    if (found->elimination.rank < A_.rows) {
      elimination.look();
      return singular(elimination, report);
    }
    judge(A_.rows, *found, report);
  }

 private:
  static void not_finite(const char* what, const MatrixScan& found, Report& report) {
    report.status = Status::not_a_number;
    report.message = std::string(what) + " at row " + std::to_string(found.row) + ", column " +
                     std::to_string(found.column) + ", counted from 0";
    report.row = found.row;
    report.column = found.column;
  }

  static void judge(std::int64_t n, const InverseFindings& found, Report& report) {
    const MatrixScan& given = found.given;
    if (found.inverse.row >= 0) return not_finite("the inverse overflows", found.inverse, report);
    const Outcome outcome = judge_condition<T>(1 / given.norm_inf / found.inverse.norm_inf);
    report.status = outcome.status;
    report.message = outcome.message;
    report.reciprocal_condition = outcome.reciprocal_condition;
    const auto& [from_right, from_left] = found.distances;
    report.residual_norm = std::sqrt(combine(Largest{from_right.squares}, Largest{from_left.squares}).value);
    report.relative_residual = report.residual_norm / std::sqrt(static_cast<double>(n));
    const double off = combine(from_right.largest, from_left.largest).value;
    report.backward_error = off / (given.norm_inf * found.inverse.norm_inf);
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
