// SPDX-License-Identifier: BSD-3-Clause
#include "claims/check.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace echelon::claims {

Tolerances tolerances(bool single) {
  Tolerances limits{.residual = single ? 1e-4 : 1e-8,
                    .backward_error = single ? 1e-4 : 1e-10,
                    .stopping = single ? 1e-5 : 1e-8,
                    .normal_equations = single ? 1e-4 : 1e-8,
                    .rounding = single ? 1e-5 : 2e-14,
                    .required_condition = single ? 1e4 : 1e12,
                    .doubtful_condition = single ? 3e5 : 1e13,
                    .largest_digits = single ? 7.22 : 15.95,
                    .largest_number = std::numeric_limits<double>::max(),
                    .smallest_solution = std::numeric_limits<double>::denorm_min()};
  if (single) {
    limits.largest_number = std::numeric_limits<float>::max();
    limits.smallest_solution = std::numeric_limits<float>::denorm_min();
  }
  limits.smallest_solution /= limits.backward_error;
  return limits;
}

std::string_view to_string(Falsehood falsehood) {
  switch (falsehood) {
    case Falsehood::solved:
      return "false solved";
    case Falsehood::singular:
      return "false singular";
    case Falsehood::digits:
      return "false digits";
    case Falsehood::failure:
      return "failure";
  }
  return {};
}

namespace {

/// Decimal digits that a relative error leaves, in [0, largest].
double digits(double error, double largest) {
  if (!(error > 0)) return error == 0 ? largest : 0;
  return error < 1 ? std::min(-std::log10(error), largest) : 0;
}

bool all_finite(const std::vector<double>& x) {
  return std::all_of(x.begin(), x.end(), [](double element) { return std::isfinite(element); });
}

bool mentions_rounding(const Report& report) {
  const auto mentions = [](const std::string& text) { return text.find("rounding") != std::string::npos; };
  return mentions(report.message) || std::any_of(report.warnings.begin(), report.warnings.end(), mentions);
}

/// Whether a report calls its status proven, where reports say how certain it is.
template <class AnyReport>
bool is_proven(const AnyReport& report) {
  if constexpr (requires { to_string(report.certainty); }) return to_string(report.certainty) == "proven";
  return false;
}

bool suits(const Method& method, const Facts& facts) {
  switch (method.needs) {
    case MethodNeeds::any_shape:
    case MethodNeeds::square:
      return true;
    case MethodNeeds::symmetric:
      return facts.symmetric;
    case MethodNeeds::symmetric_positive_definite:
      return facts.positive_definite;
    case MethodNeeds::diagonally_dominant:
      return facts.diagonally_dominant;
    case MethodNeeds::triangular:
      return facts.triangular;
    case MethodNeeds::nonzero_diagonal:
    case MethodNeeds::one_sided_spectrum:
      return false;
  }
  return false;
}

/// One comparison: adds to a finding what the report claims and the facts contradict.
class Comparison {
 public:
  Comparison(const LinearSystem& system, const Facts& facts, const Answer& answer, const Method* method)
      : system_(system),
        facts_(facts),
        answer_(answer),
        report_(answer.report),
        method_(method),
        status_(to_string(answer.report.status)),
        limits_(tolerances(system.single)),
        direct_(method == nullptr || method->kind == MethodKind::direct) {}

  Finding run() {
    if (!answer_.failure.empty()) add(Falsehood::failure, answer_.failure);
    if (answer_.refused || !answer_.failure.empty()) return std::move(finding_);
    finding_.must_succeed = must_succeed();
    if (is_answer()) {
      measure_answer();
      check_solution();
    }
    check_singularity();
    if (report_.solved() && facts_.nonsingular && system_.A.rows() > 0) check_digits();
    if (!finding_.falsehoods.empty() && !finding_.measured) measure_answer();
    return std::move(finding_);
  }

 private:
  void add(Falsehood falsehood, const std::string& rule) {
    finding_.falsehoods.emplace_back(falsehood, rule);
  }
  [[nodiscard]] bool least_squares() const { return status_ == "least_squares"; }
  /// Whether the report offers x as an answer of some kind.
  [[nodiscard]] bool is_answer() const {
    return report_.solved() || least_squares() || status_ == "underdetermined";
  }

  [[nodiscard]] bool must_succeed() const {
    return facts_.nonsingular && facts_.condition < limits_.required_condition && direct_and_suited();
  }

  /// Whether the method is a direct one or auto, made for matrices like A, and the type can express x*, which
  /// is known.
  [[nodiscard]] bool direct_and_suited() const {
    if (!direct_ || facts_.x.size() != system_.A.columns() ||
        BigFloat(limits_.largest_number) < facts_.x_norm)
      return false;
    if (!facts_.x_norm.is_zero() && facts_.x_norm < BigFloat(limits_.smallest_solution)) return false;
    return method_ == nullptr || suits(*method_, facts_);
  }

  void measure_answer() {
    if (answer_.x.size() != system_.A.columns() || !all_finite(answer_.x)) return;
    finding_.residuals = measure(system_, facts_, answer_.x);
    finding_.measured = true;
  }

  void check_solution() {
    if (!finding_.measured) {
      // A system that is only described as underdetermined has no x.
      if (status_ == "underdetermined" && report_.columns.empty()) {
        if (!facts_.consistent) add(Falsehood::solved, "underdetermined, but inconsistent");
      } else {
        add(Falsehood::solved, "x is missing or not finite");
      }
      return;
    }
    const Residuals& r = finding_.residuals;
    if (least_squares()) return check_least_squares();
    if (!facts_.consistent && !(r.relative <= limits_.residual)) {
      add(Falsehood::solved, "an inconsistent system");
    } else if (status_ == "converged" && !mentions_rounding(report_) &&
               !(r.relative <= 2 * limits_.stopping)) {
      add(Falsehood::solved, "converged above the tolerance");
    } else if (!(r.relative <= limits_.residual)) {
      check_large_residual();
    }
  }

  /// An x has the least residual if A^T r is small, if its residual is hardly larger, or if a warning says
  /// that rounding errors of x make it larger.
  void check_least_squares() {
    const Residuals& r = finding_.residuals;
    if (r.normal_equations <= limits_.normal_equations || r.relative <= limits_.residual) return;
    const LeastSquaresErrors errors = measure_least_squares(system_, facts_, answer_.x);
    const bool explained =
        mentions_rounding(report_) && errors.backward_error <= limits_.rounding && r.relative <= 1;
    if (!(errors.excess <= limits_.residual || explained))
      add(Falsehood::solved,
          "A^T r of a least-squares solution is not small, nor the excess of its residual");
  }

  /// A large residual is excused by a small backward error, unless digits are claimed where there are none.
  void check_large_residual() {
    const Residuals& r = finding_.residuals;
    const bool claims_digits = report_.error_estimate && *report_.error_estimate < 0.1;
    if (!(r.backward_error <= limits_.backward_error)) {
      add(Falsehood::solved, "residual and backward error are large");
    } else if (r.error && *r.error > 1 && claims_digits) {
      add(Falsehood::solved, "no digit of x is right, and digits are claimed");
    }
  }

  void check_singularity() {
    if (status_ == "inconsistent" && facts_.consistent) {
      add(Falsehood::singular, "a consistent system called inconsistent");
    }
    if (!facts_.nonsingular) return;
    if (status_ == "singular" && is_proven(report_)) {
      add(Falsehood::singular, "a nonsingular matrix called singular with a proof");
    }
    if (!(facts_.condition < limits_.doubtful_condition)) return;
    if (status_ == "singular" || status_ == "underdetermined") {
      add(Falsehood::singular, "a nonsingular matrix called " + status_);
    } else if (status_ == "breakdown" && direct_and_suited()) {
      add(Falsehood::singular, "breakdown for a nonsingular matrix");
    } else if (report_.rank && *report_.rank < static_cast<std::int64_t>(system_.A.rows())) {
      add(Falsehood::singular, "a rank below that of a nonsingular matrix");
    }
  }

  void check_digits() {
    finding_.solved_nonsingular = true;
    if (!finding_.measured) return;
    finding_.true_digits = digits(finding_.residuals.error.value_or(0), limits_.largest_digits);
    if (!report_.error_estimate) return;
    finding_.claimed_digits = digits(*report_.error_estimate, limits_.largest_digits);
    if (*finding_.claimed_digits > *finding_.true_digits + 1) {
      add(Falsehood::digits, "more digits claimed than there are");
    }
  }

  const LinearSystem& system_;
  const Facts& facts_;
  const Answer& answer_;
  const Report& report_;
  const Method* method_;
  std::string status_;
  Tolerances limits_;
  bool direct_;
  Finding finding_;
};

}  // namespace

Finding check(const LinearSystem& system, const Facts& facts, const Answer& answer, const Method* method) {
  return Comparison(system, facts, answer, method).run();
}

}  // namespace echelon::claims
