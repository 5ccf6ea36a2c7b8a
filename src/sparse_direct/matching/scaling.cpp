// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/matching/scaling.hpp"

#include "sparse_direct/matching/elements.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace echelon::sparse_direct {

namespace {

bool is_usable(double magnitude) {
  return magnitude > 0 && std::isfinite(magnitude);
}

/// Largest scaled magnitudes of the rows and of the columns.
template <class T>
void find_largest(const Csr<T>& a, const Scaling& scaling, Scaling& largest) {
  largest.columns.assign(scaling.columns.size(), 0);
  const std::int64_t* offsets = a.row_offsets().data();
  const std::int32_t* columns = a.column_indices().data();
  const T* values = a.values().data();
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    double of_row = 0;
    for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
      const std::int32_t j = columns[k];
      const double scaled = scaling.rows[i] * std::abs(static_cast<double>(values[k])) * scaling.columns[j];
      of_row = std::max(of_row, scaled);
      largest.columns[j] = std::max(largest.columns[j], scaled);
    }
    largest.rows[i] = of_row;
  }
}

/// Divides factors by the square roots of the largest magnitudes, where these are far from 1; true if any
/// were.
bool correct(std::vector<double>& factors, const std::vector<double>& largest) {
  constexpr double tolerance = 0.01;
  bool changed = false;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if (std::abs(1 - largest[i]) <= tolerance || !is_usable(largest[i])) continue;
    changed = true;
    factors[i] /= std::sqrt(largest[i]);
  }
  return changed;
}

/// Binary logarithms of row and column factors that bring all elements close to 1 in the sense of least
/// squares: (D + B) x = -s, with the numbers of elements of rows and columns in the diagonal matrix D, the
/// pattern and its transpose in B, and sums of logarithms in s. Conjugate gradients, preconditioned with D.
/// A. Curtis, J. Reid, On the automatic scaling of matrices for Gaussian elimination, J. Inst. Math. Appl. 10
/// (1972).
template <class T>
class GeometricScaling {
 public:
  explicit GeometricScaling(const Csr<T>& a)
      : a_(a),
        size_(static_cast<std::size_t>(a.rows() + a.columns())),
        count_(size_, 0),
        solution_(size_, 0) {}

  Scaling compute(int passes) {
    constexpr double tolerance = 1e-4;  // squared, for the mean of an element: powers of two are wanted
    std::vector<double> residual = right_hand_side();
    std::vector<double> direction(size_, 0);
    double before = 0;
    const double elements = std::accumulate(count_.begin(), count_.end(), 0.0);
    for (int pass = 0; pass < passes; ++pass) {
      const double now = preconditioned_norm(residual);
      if (now <= tolerance * elements) break;
      for (std::size_t i = 0; i < size_; ++i) {
        const double beta = pass == 0 ? 0 : now / before;
        direction[i] = beta * direction[i] + (count_[i] > 0 ? residual[i] / count_[i] : 0);
      }
      before = now;
      const std::vector<double> image = apply(direction);
      const double curvature = std::inner_product(direction.begin(), direction.end(), image.begin(), 0.0);
      if (!(curvature > 0)) break;
      for (std::size_t i = 0; i < size_; ++i) {
        solution_[i] += now / curvature * direction[i];
        residual[i] -= now / curvature * image[i];
      }
    }
    return {powers(0, a_.rows()), powers(a_.rows(), a_.columns())};
  }

 private:
  std::vector<double> right_hand_side() {
    std::vector<double> sums(size_, 0);
    for_each_usable([&](std::int64_t i, std::int64_t j, double magnitude) {
      const double log = std::ilogb(magnitude);
      sums[i] -= log;
      sums[j] -= log;
      ++count_[i];
      ++count_[j];
    });
    return sums;
  }

  [[nodiscard]] std::vector<double> apply(const std::vector<double>& x) const {
    std::vector<double> y(size_, 0);
    for_each_usable([&](std::int64_t i, std::int64_t j, double) {
      const double sum = x[i] + x[j];
      y[i] += sum;
      y[j] += sum;
    });
    return y;
  }

  [[nodiscard]] double preconditioned_norm(const std::vector<double>& residual) const {
    double norm = 0;
    for (std::size_t i = 0; i < size_; ++i) norm += count_[i] > 0 ? residual[i] * residual[i] / count_[i] : 0;
    return norm;
  }

  /// Calls f(i, rows + j, |a_ij|) for the elements that are neither zero nor infinite.
  template <class F>
  void for_each_usable(F f) const {
    for_each_element(a_, [&](std::int64_t i, std::int64_t j, double magnitude) {
      if (is_usable(magnitude)) f(i, a_.rows() + j, magnitude);
    });
  }

  /// Powers of two nearest to the factors.
  [[nodiscard]] std::vector<double> powers(std::int64_t begin, std::int64_t count) const {
    std::vector<double> factors;
    factors.reserve(static_cast<std::size_t>(count));
    for (std::int64_t i = begin; i < begin + count; ++i) {
      factors.push_back(std::exp2(std::clamp(std::round(solution_[i]), -1000.0, 1000.0)));
    }
    return factors;
  }

  const Csr<T>& a_;
  std::size_t size_;
  std::vector<double> count_;     // elements of each row, then of each column
  std::vector<double> solution_;  // logarithms for the rows, then for the columns
};

/// True if the largest magnitudes of rows or of columns differ by so much that the result of scaling them to
/// 1 one by one would depend on the order.
bool differ_widely(const Scaling& largest) {
  constexpr double wide = 1e9;
  const auto is_wide = [](const std::vector<double>& magnitudes) {
    double least = std::numeric_limits<double>::infinity();
    double most = 0;
    for (const double magnitude : magnitudes) {
      if (!is_usable(magnitude)) continue;
      least = std::min(least, magnitude);
      most = std::max(most, magnitude);
    }
    return most / wide > least;
  };
  return is_wide(largest.rows) || is_wide(largest.columns);
}

/// Power of two that brings a magnitude into [1, 2), limited to 2^-1000 and 2^1000; 1 for zeros. The exponent
/// field of the magnitude stands for 2^(field - 1023).
double power_to_unit(double magnitude) {
  if (!is_usable(magnitude)) return 1;
  constexpr std::uint64_t bias = 1023;
  constexpr unsigned fraction_bits = 52;
  const std::uint64_t field = std::bit_cast<std::uint64_t>(magnitude) >> fraction_bits;
  return std::bit_cast<double>((2 * bias - std::clamp(field, bias - 1000, bias + 1000)) << fraction_bits);
}

}  // namespace

template <class T>
Scaling infinity_norm_scaling(const Csr<T>& a, int passes) {
  Scaling scaling{std::vector<double>(static_cast<std::size_t>(a.rows()), 1),
                  std::vector<double>(static_cast<std::size_t>(a.columns()), 1)};
  Scaling largest = scaling;
  find_largest(a, scaling, largest);
  if (differ_widely(largest)) {
    scaling = GeometricScaling<T>(a).compute(5 * passes);
    find_largest(a, scaling, largest);
  }
  for (int pass = 0; pass < passes; ++pass) {
    if (pass > 0) find_largest(a, scaling, largest);
    const bool rows_changed = correct(scaling.rows, largest.rows);
    const bool columns_changed = correct(scaling.columns, largest.columns);
    if (!rows_changed && !columns_changed) break;
  }
  return scaling;
}

template <class T>
Scaling equilibration(const Csr<T>& a) {
  Scaling scaling{std::vector<double>(static_cast<std::size_t>(a.rows()), 1),
                  std::vector<double>(static_cast<std::size_t>(a.columns()), 0)};
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    const std::int64_t begin = a.row_offsets()[i];
    const std::int64_t end = a.row_offsets()[i + 1];
    double largest = 0;
    for (std::int64_t k = begin; k < end; ++k) {
      largest = std::max(largest, std::abs(static_cast<double>(a.values()[k])));
    }
    const double scale = power_to_unit(largest);
    scaling.rows[i] = scale;
    for (std::int64_t k = begin; k < end; ++k) {
      double& of_column = scaling.columns[a.column_indices()[k]];
      of_column = std::max(of_column, scale * std::abs(static_cast<double>(a.values()[k])));
    }
  }
  std::transform(scaling.columns.begin(), scaling.columns.end(), scaling.columns.begin(), power_to_unit);
  return scaling;
}

template Scaling equilibration(const Csr<float>&);
template Scaling equilibration(const Csr<double>&);
template Scaling infinity_norm_scaling(const Csr<float>&, int);
template Scaling infinity_norm_scaling(const Csr<double>&, int);

}  // namespace echelon::sparse_direct
