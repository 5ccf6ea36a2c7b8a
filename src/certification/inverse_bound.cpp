// SPDX-License-Identifier: BSD-3-Clause
#include "certification/inverse_bound.hpp"

#include "certification/rounding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace echelon::certification {

namespace {

using Factor = InverseOperations::Factor;
using Vector = std::vector<double>;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double smallest_normal = std::numeric_limits<double>::min();

/// The larger of two numbers; NaN is larger than any number.
double larger(double a, double b) {
  return a >= b || std::isnan(a) ? a : b;
}

double largest_magnitude(const Vector& v) {
  double result = 0;
  for (const double element : v) result = larger(result, std::abs(element));
  return result;
}

/// Upper bound of max_i numerator_i / denominator_i for nonnegative numerators; 0 / 0 does not occur.
double largest_quotient(const Vector& numerator, const Vector& denominator) {
  double result = 0;
  for (std::size_t i = 0; i < numerator.size(); ++i) {
    result = larger(result, divide_up(numerator[i], denominator[i]));
  }
  return result;
}

/// Returns g divided by its largest element, with smaller quotients than 2^-300 replaced by that.
Vector normalised(const Vector& g) {
  constexpr double least = 0x1p-300;
  const double scale = largest_magnitude(g);
  Vector v;
  for (const double element : g) v.push_back(std::max(element / scale, least));
  return v;
}

/// Whether weights differ so much that they may hide rows of R that consist of rounding errors.
bool vary_widely(const Vector& weights) {
  constexpr double similar = 0x1p-30;
  const double least = similar * largest_magnitude(weights);
  return std::any_of(weights.begin(), weights.end(), [&](double weight) { return weight < least; });
}

int finite_exponent(double value) {
  return value == 0 ? exponent_of_zero : std::ilogb(value);
}

}  // namespace

/// Scaled column: y = 2^-shift E^-1 x and c = 2^-shift D b, rounded where they are subnormal.
struct InverseProof::ScaledColumn {
  int shift = 0;
  Vector y, c;
};

InverseProof::InverseProof(std::unique_ptr<InverseOperations> operations, const CancellationToken& cancel)
    : operations_(std::move(operations)), contraction_(infinity) {
  const auto n = static_cast<double>(operations_->row_exponents().size());
  // n products, the element of I, and slack for the quotient of this bound and itself.
  gamma_ = gamma_up(n + 2);
  underflow_ = 4 * (n + 1) * (n + 1) * smallest_normal;
  find_proof(cancel);
}

void InverseProof::find_proof(const CancellationToken& cancel) {
  if (has_unusable_row()) return;
  bool proven_before = false;
  bool improvable = true;
  for (const InverseAlgorithm how : {InverseAlgorithm::elimination, InverseAlgorithm::lu}) {
    if (!improvable) break;
    if (cancel.stop_requested()) {
      proven_ = false;
      reason_ = "stopped by the caller";
      return;
    }
    proven_before = proven_;
    improvable = try_inverse(how);
  }
  if (proven_before && !proven_) try_inverse(InverseAlgorithm::elimination);
  if (proven_) {
    reason_ = fmt::format("A is invertible: ||I - R A|| <= {:.1e} for a computed R", contraction_);
  } else if (std::isfinite(contraction_)) {
    reason_ = fmt::format(
        "no R with ||I - R A|| < 1 was found, only <= {:.1e}, {:.1e} of it for rounding errors: A is too "
        "close to a singular matrix",
        contraction_, std::max(0.0, contraction_ - computed_share_));
  } else {
    reason_ = "A is singular to working precision: no finite inverse was computed";
  }
}

/// Inverts A and searches for v. Returns true if another inverse may give a better proof.
bool InverseProof::try_inverse(InverseAlgorithm how) {
  contraction_ = computed_share_ = infinity;
  proven_ = false;
  if (!operations_->invert(how)) return true;
  minimise_contraction();
  proven_ = contraction_ < 1;
  if (proven_) return vary_widely(v_);
  // If more than half of the contraction factor comes from F, rounding errors do not dominate it, and a more
  // accurate R would improve the bound.
  return computed_share_ > contraction_ / 2;
}

bool InverseProof::has_unusable_row() {
  const std::vector<int>& exponents = operations_->row_exponents();
  for (std::size_t i = 0; i < exponents.size(); ++i) {
    if (exponents[i] == -exponent_of_nonfinite) {
      reason_ = "A has elements that are NaN or infinite";
      return true;
    }
    if (exponents[i] == -exponent_of_zero) {
      reason_ = fmt::format("A is singular: row {} (from 0) is zero", i);
      return true;
    }
  }
  return false;
}

/// Finds v, or none if G is not finite. v -> G v, normalised, tends to the vector that has the least rho.
void InverseProof::minimise_contraction() {
  constexpr int most_steps = 10;
  constexpr double small_enough = 0.01;
  Vector v(operations_->row_exponents().size(), 1);
  contraction_ = computed_share_ = infinity;
  for (int step = 0; step < most_steps; ++step) {
    const Vector g = multiply_by_g(v);
    const double rho = largest_quotient(g, v);
    if (!std::isfinite(rho)) break;
    const bool improved = rho < 0.9 * contraction_;
    if (rho < contraction_) {
      contraction_ = rho;
      v_ = v;
    }
    if (contraction_ < small_enough || (step > 2 && !improved)) break;
    v = normalised(g);
  }
  if (std::isfinite(contraction_)) {
    computed_share_ = largest_quotient(operations_->multiply_magnitudes(Factor::F, v_), v_);
  }
}

/// Upper bounds of G v.
std::vector<double> InverseProof::multiply_by_g(const Vector& v) {
  const double scale = largest_magnitude(v);
  Vector terms = operations_->multiply_magnitudes(Factor::S, v);
  // Elements of S were rounded where they are subnormal.
  const double rounded_elements = multiply_up(underflow_, scale);
  for (double& term : terms) term = add_up(multiply_up(gamma_, term), rounded_elements);
  Vector g = operations_->multiply_magnitudes(Factor::R, terms);
  const Vector computed = operations_->multiply_magnitudes(Factor::F, v);
  for (std::size_t i = 0; i < g.size(); ++i) {
    const double of_identity = add_up(multiply_up(gamma_, v[i]), multiply_up(underflow_, scale));
    g[i] = add_up(add_up(computed[i], g[i]), of_identity);
  }
  return g;
}

InverseProof::ScaledColumn InverseProof::scale(const Vector& b, const Vector& x) const {
  const std::vector<int>& rows = operations_->row_exponents();
  const std::vector<int>& columns = operations_->column_exponents();
  ScaledColumn column;
  column.shift = exponent_of_zero;
  for (std::size_t i = 0; i < b.size(); ++i) {
    column.shift =
        std::max({column.shift, finite_exponent(b[i]) + rows[i], finite_exponent(x[i]) - columns[i]});
  }
  // An exponent this small belongs to b = 0 and x = 0, which need no shift.
  if (column.shift < exponent_of_zero / 2) column.shift = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    column.y.push_back(std::ldexp(x[i], -columns[i] - column.shift));
    column.c.push_back(std::ldexp(b[i], rows[i] - column.shift));
  }
  return column;
}

/// R r for the residual r = c - S y.
DoubledVector InverseProof::correction(const ScaledColumn& column) {
  Vector minus_y;
  for (const double element : column.y) minus_y.push_back(-element);
  const Vector zeros(minus_y.size());
  const DoubledVector r = operations_->multiply_doubled(Factor::S, minus_y, zeros, column.c);
  DoubledVector d = operations_->multiply_doubled(Factor::R, r.high, r.low, zeros);
  // Elements of S and of c were rounded where they are subnormal, and |y| < 2.
  Vector error = r.error;
  for (double& element : error) element = add_up(element, underflow_);
  const Vector of_residual = operations_->multiply_magnitudes(Factor::R, error);
  for (std::size_t i = 0; i < d.error.size(); ++i) d.error[i] = add_up(d.error[i], of_residual[i]);
  return d;
}

std::vector<double> InverseProof::bound_error(const Vector& b, const Vector& x) {
  const ScaledColumn column = scale(b, x);
  const DoubledVector corrections = correction(column);
  Vector d;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const double magnitude = next_up(std::abs(corrections.high[i] + corrections.low[i]));
    d.push_back(add_up(magnitude, corrections.error[i]));
  }
  const double factor = divide_up(largest_quotient(d, v_), subtract_down(1, contraction_));
  Vector w;
  for (const double weight : v_) w.push_back(multiply_up(weight, factor));
  constexpr int improvements = 3;
  for (int k = 0; k < improvements; ++k) {
    const Vector g = multiply_by_g(w);
    for (std::size_t i = 0; i < w.size(); ++i) w[i] = std::min(w[i], add_up(d[i], g[i]));
  }
  for (std::size_t i = 0; i < w.size(); ++i) {
    // y was rounded where it is subnormal.
    const double bound = add_up(w[i], smallest_normal);
    w[i] = next_up(std::ldexp(bound, operations_->column_exponents()[i] + column.shift));
    if (std::isnan(bound)) w[i] = infinity;
  }
  return w;
}

std::vector<double> InverseProof::refine(const Vector& b, Vector x) {
  constexpr int most_steps = 10;
  double size_before = infinity;
  for (int step = 0; step < most_steps; ++step) {
    const ScaledColumn column = scale(b, x);
    const Vector d = correction(column).high;
    const double size = std::ldexp(largest_magnitude(d), column.shift);
    if (!(size < size_before / 2)) break;
    size_before = size;
    Vector next;
    for (std::size_t i = 0; i < x.size(); ++i) {
      next.push_back(std::ldexp(column.y[i] + d[i], operations_->column_exponents()[i] + column.shift));
      if (!std::isfinite(next[i])) return x;
    }
    if (next == x) break;
    x = std::move(next);
  }
  return x;
}

}  // namespace echelon::certification
