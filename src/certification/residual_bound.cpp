// SPDX-License-Identifier: BSD-3-Clause
#include "certification/residual_bound.hpp"

#include "certification/rounding.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace echelon::certification {

namespace {

/// An unevaluated sum of two numbers to which terms are added: the dot product of Ogita, Rump and Oishi.
class DoubledSum {
 public:
  explicit DoubledSum(double start) : high_(start), magnitude_(std::abs(start)) {}

  void add_product(double a, double b) {
    const double product = a * b;
    const double product_error = std::fma(a, b, -product);
    const double sum = high_ + product;
    const double part = sum - high_;
    const double sum_error = (high_ - (sum - part)) + (product - part);
    high_ = sum;
    low_ += product_error + sum_error;
    magnitude_ += std::abs(product);
    ++products_;
  }

  /// Upper bound of the magnitude of the exact sum, which is |result| (1 + u) + gamma_n^2 sum |a_i b_i|
  /// without underflow. An underflowing product loses at most the smallest positive number.
  [[nodiscard]] double magnitude_bound() const {
    const auto terms = static_cast<double>(products_ + 2);
    const double gamma = gamma_up(terms);
    // The sum of magnitudes was rounded itself, by less than a factor of 2.
    const double lost = multiply_up(multiply_up(gamma, gamma), 2 * magnitude_);
    const double underflow = multiply_up(8 * terms, std::numeric_limits<double>::denorm_min());
    const double result = std::abs(high_ + low_);
    if (!std::isfinite(result)) return std::numeric_limits<double>::infinity();
    return add_up(multiply_up(result, 1 + 4 * std::numeric_limits<double>::epsilon()),
                  add_up(lost, underflow));
  }

 private:
  double high_;
  double low_ = 0;
  double magnitude_;
  std::int64_t products_ = 0;
};

}  // namespace

std::vector<double> residual_bound(const Csr<double>& A, const std::vector<double>& b,
                                   const std::vector<double>& x) {
  std::vector<double> bound(b.size());
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    DoubledSum sum(b[static_cast<std::size_t>(i)]);
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      sum.add_product(-A.values()[k], x[static_cast<std::size_t>(A.column_indices()[k])]);
    }
    bound[static_cast<std::size_t>(i)] = sum.magnitude_bound();
  }
  return bound;
}

}  // namespace echelon::certification
