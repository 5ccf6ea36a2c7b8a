// SPDX-License-Identifier: BSD-3-Clause
#include "claims/oracle.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace echelon::claims {

namespace {

using test::Uint128;

std::uint64_t multiply_modulo(std::uint64_t a, std::uint64_t b, std::uint64_t p) {
  return static_cast<std::uint64_t>(Uint128{a} * b % p);
}

std::uint64_t power_modulo(std::uint64_t base, std::uint64_t exponent, std::uint64_t p) {
  std::uint64_t result = 1;
  for (; exponent > 0; exponent >>= 1U) {
    if ((exponent & 1U) != 0) result = multiply_modulo(result, base, p);
    base = multiply_modulo(base, base, p);
  }
  return result;
}

std::uint64_t inverse_modulo(std::uint64_t a, std::uint64_t p) {
  return power_modulo(a, p - 2, p);
}

std::uint64_t residue(double value, std::uint64_t p) {
  if (value == 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(std::abs(value), &exponent);
  const auto integer = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
  exponent -= 53;
  const std::uint64_t base = exponent < 0 ? inverse_modulo(2, p) : 2;
  const std::uint64_t power = power_modulo(base, static_cast<std::uint64_t>(std::abs(exponent)), p);
  const std::uint64_t result = multiply_modulo(integer % p, power, p);
  return value < 0 && result > 0 ? p - result : result;
}

}  // namespace

Ranks ranks_modulo(const Elements& A, const std::vector<double>& b, std::uint64_t p) {
  const std::size_t m = A.rows();
  const std::size_t n = A.columns();
  std::vector<std::vector<std::uint64_t>> rows(m, std::vector<std::uint64_t>(n + 1));
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) rows[i][j] = residue(A(i, j), p);
    rows[i][n] = residue(b[i], p);
  }
  std::size_t rank = 0;
  for (std::size_t j = 0; j < n && rank < m; ++j) {
    std::size_t pivot = rank;
    while (pivot < m && rows[pivot][j] == 0) ++pivot;
    if (pivot == m) continue;
    std::swap(rows[rank], rows[pivot]);
    const std::uint64_t inverse = inverse_modulo(rows[rank][j], p);
    for (std::size_t i = rank + 1; i < m; ++i) {
      if (rows[i][j] == 0) continue;
      const std::uint64_t factor = p - multiply_modulo(rows[i][j], inverse, p);
      for (std::size_t k = j; k <= n; ++k) {
        if (rows[rank][k] == 0) continue;
        rows[i][k] = (rows[i][k] + multiply_modulo(factor, rows[rank][k], p)) % p;
      }
    }
    ++rank;
  }
  const bool contradiction = std::any_of(rows.begin() + static_cast<std::ptrdiff_t>(rank), rows.end(),
                                         [n](const std::vector<std::uint64_t>& row) { return row[n] != 0; });
  return {rank, rank + (contradiction ? 1 : 0)};
}

namespace {

/// Ranks over the rational numbers: the largest of those modulo two primes. A rank modulo a prime is too
/// small only if the prime divides certain minors. The order of 2 modulo these primes is large, so that
/// powers of two of different elements do not coincide.
Ranks exact_ranks(const Elements& A, const std::vector<double>& b) {
  constexpr std::array<std::uint64_t, 2> primes = {2305843009213693921U, 2305843009213693907U};
  const Ranks first = ranks_modulo(A, b, primes[0]);
  if (first.matrix == std::min(A.rows(), A.columns()) && first.augmented == A.rows()) return first;
  const Ranks second = ranks_modulo(A, b, primes[1]);
  return {std::max(first.matrix, second.matrix), std::max(first.augmented, second.augmented)};
}

/// Exponents of D and E, the powers of two that bring the largest elements of rows and columns of D A E to
/// [1/2, 1].
struct Scaling {
  std::vector<int> rows;
  std::vector<int> columns;
};

Scaling equilibrate(const Elements& A) {
  const std::size_t n = A.rows();
  constexpr int none = std::numeric_limits<int>::min();
  Scaling scaling{std::vector<int>(n, 0), std::vector<int>(n, 0)};
  for (int sweep = 0; sweep < 4; ++sweep) {
    for (const bool by_rows : {true, false}) {
      std::vector<int> largest(n, none);
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          if (A(i, j) == 0) continue;
          const int exponent = std::ilogb(A(i, j)) + 1 + scaling.rows[i] + scaling.columns[j];
          int& entry = largest[by_rows ? i : j];
          entry = std::max(entry, exponent);
        }
      }
      std::vector<int>& factors = by_rows ? scaling.rows : scaling.columns;
      for (std::size_t k = 0; k < n; ++k) factors[k] -= largest[k] == none ? 0 : largest[k];
    }
  }
  return scaling;
}

/// Factorisation P D A E = L U in 512 bits with partial pivoting.
class Factorization {
 public:
  Factorization(const Elements& A, Scaling scaling) : n_(A.rows()), scaling_(std::move(scaling)) {
    rows_.assign(n_, std::vector<BigFloat>(n_));
    order_.resize(n_);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = 0; j < n_; ++j) {
        rows_[i][j] = BigFloat(A(i, j)).times_power_of_two(scaling_.rows[i] + scaling_.columns[j]);
      }
    }
    norm_ = norm_inf(rows_);
    for (std::size_t k = 0; k < n_; ++k) eliminate(k);
  }

  /// Solution of A x = b.
  [[nodiscard]] std::vector<BigFloat> solve(const std::vector<double>& b) const {
    std::vector<BigFloat> x(n_);
    for (std::size_t i = 0; i < n_; ++i) {
      x[i] = BigFloat(b[order_[i]]).times_power_of_two(scaling_.rows[order_[i]]);
    }
    substitute(x, 0);
    for (std::size_t j = 0; j < n_; ++j) x[j] = x[j].times_power_of_two(scaling_.columns[j]);
    return x;
  }

  /// ||D A E||_inf ||(D A E)^-1||_inf.
  [[nodiscard]] double condition() const {
    std::vector<double> sums(n_, 0.0);
    for (std::size_t k = 0; k < n_; ++k) {
      std::vector<BigFloat> column(n_);
      column[k] = BigFloat(1);
      substitute(column, k);
      for (std::size_t i = 0; i < n_; ++i) sums[i] += std::abs(column[i].to_double());
    }
    return n_ == 0 ? 1 : norm_ * *std::max_element(sums.begin(), sums.end());
  }

 private:
  static double norm_inf(const std::vector<std::vector<BigFloat>>& rows) {
    double norm = 0;
    for (const auto& row : rows) {
      double sum = 0;
      for (const BigFloat& element : row) sum += std::abs(element.to_double());
      norm = std::max(norm, sum);
    }
    return norm;
  }

  void eliminate(std::size_t k) {
    std::size_t pivot = n_;
    for (std::size_t i = k; i < n_; ++i) {
      if (rows_[i][k].is_zero()) continue;
      if (pivot == n_ || rows_[i][k].exponent() > rows_[pivot][k].exponent()) pivot = i;
    }
    if (pivot == n_) throw std::logic_error("a zero pivot in 512 bits of a matrix of full rank");
    std::swap(rows_[k], rows_[pivot]);
    std::swap(order_[k], order_[pivot]);
    inverse_pivots_.push_back(BigFloat(1) / rows_[k][k]);
    for (std::size_t i = k + 1; i < n_; ++i) {
      if (rows_[i][k].is_zero()) continue;
      rows_[i][k] = rows_[i][k] * inverse_pivots_[k];
      const BigFloat factor = -rows_[i][k];
      for (std::size_t j = k + 1; j < n_; ++j) {
        if (!rows_[k][j].is_zero()) rows_[i][j] = rows_[i][j] + factor * rows_[k][j];
      }
    }
  }

  /// x = U^-1 L^-1 x, where the elements of x before `first` are zero.
  void substitute(std::vector<BigFloat>& x, std::size_t first) const {
    for (std::size_t i = first; i < n_; ++i) {
      for (std::size_t j = first; j < i; ++j) {
        if (!rows_[i][j].is_zero() && !x[j].is_zero()) x[i] = x[i] - rows_[i][j] * x[j];
      }
    }
    for (std::size_t i = n_; i-- > 0;) {
      for (std::size_t j = i + 1; j < n_; ++j) {
        if (!rows_[i][j].is_zero() && !x[j].is_zero()) x[i] = x[i] - rows_[i][j] * x[j];
      }
      x[i] = x[i] * inverse_pivots_[i];
    }
  }

  std::size_t n_;
  Scaling scaling_;
  std::vector<std::vector<BigFloat>> rows_;
  std::vector<std::size_t> order_;  ///< row of A that is row i of L U
  std::vector<BigFloat> inverse_pivots_;
  double norm_ = 0;
};

bool is_symmetric(const Elements& A) {
  if (A.rows() != A.columns()) return false;
  for (std::size_t i = 0; i < A.rows(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (A(i, j) != A(j, i)) return false;
    }
  }
  return true;
}

/// Whether all pivots of a symmetric elimination without exchanges are positive.
bool is_positive_definite(const Elements& A) {
  const std::size_t n = A.rows();
  std::vector<std::vector<BigFloat>> lower(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (!(A(i, i) > 0)) return false;
    for (std::size_t j = 0; j <= i; ++j) lower[i].emplace_back(A(i, j));
  }
  for (std::size_t k = 0; k < n; ++k) {
    if (!(BigFloat() < lower[k][k])) return false;
    const BigFloat inverse = BigFloat(1) / lower[k][k];
    for (std::size_t i = k + 1; i < n; ++i) {
      if (lower[i][k].is_zero()) continue;
      const BigFloat factor = -(lower[i][k] * inverse);
      for (std::size_t j = k + 1; j <= i; ++j) {
        if (!lower[j][k].is_zero()) lower[i][j] = lower[i][j] + factor * lower[j][k];
      }
    }
  }
  return true;
}

bool is_dominant(const Elements& A, bool by_rows) {
  for (std::size_t i = 0; i < A.rows(); ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < A.rows(); ++j) {
      if (j != i) sum += std::abs(by_rows ? A(i, j) : A(j, i));
    }
    if (!(sum < std::abs(A(i, i)))) return false;
  }
  return true;
}

bool is_triangular(const Elements& A) {
  bool lower = true;
  bool upper = true;
  for (std::size_t i = 0; i < A.rows(); ++i) {
    if (A(i, i) == 0) return false;
    for (std::size_t j = 0; j < A.columns(); ++j) {
      if (A(i, j) == 0) continue;
      if (j > i) lower = false;
      if (j < i) upper = false;
    }
  }
  return lower || upper;
}

const BigFloat& larger(const BigFloat& a, const BigFloat& b) {
  return a < b ? b : a;
}

/// Sum of squares and largest magnitude.
template <class Vector>
void find_norms(const Vector& values, BigFloat& squares, BigFloat& largest) {
  squares = largest = BigFloat();
  for (const auto& value : values) {
    const BigFloat element(value);
    squares = squares + element * element;
    largest = larger(largest, element.magnitude());
  }
}

/// sqrt(numerator / denominator) as a double; 0 for 0 / 0.
double root_of_ratio(const BigFloat& numerator, const BigFloat& denominator) {
  if (numerator.is_zero()) return 0;
  if (denominator.is_zero()) return std::numeric_limits<double>::infinity();
  const BigFloat ratio = numerator / denominator;
  // An even power of two keeps the square root within the range of double.
  const std::int64_t half = ratio.exponent() / 2;
  const double root = std::sqrt(ratio.times_power_of_two(-2 * half).to_double());
  return BigFloat(root).times_power_of_two(half).to_double();
}

double ratio_of(const BigFloat& numerator, const BigFloat& denominator) {
  if (numerator.is_zero()) return 0;
  if (denominator.is_zero()) return std::numeric_limits<double>::infinity();
  return (numerator / denominator).to_double();
}

void add_matrix_norms(const Elements& A, Facts& facts) {
  for (std::size_t i = 0; i < A.rows(); ++i) {
    BigFloat sum;
    for (std::size_t j = 0; j < A.columns(); ++j) {
      const BigFloat element(A(i, j));
      sum = sum + element.magnitude();
      facts.A_norm_frobenius = facts.A_norm_frobenius + element * element;
    }
    facts.A_norm_inf = larger(facts.A_norm_inf, sum);
  }
}

/// Whether 512 bits are enough for the largest element of x, whose relative error is that of the scaled
/// unknowns times the spread of the scales of columns.
bool is_resolved(const Scaling& scaling, double condition) {
  constexpr double enough_bits = 512 - 80;
  if (scaling.columns.empty()) return true;
  const auto [least, largest] = std::minmax_element(scaling.columns.begin(), scaling.columns.end());
  return std::log2(std::max(condition, 1.0)) + (*largest - *least) < enough_bits;
}

}  // namespace

Facts find_facts(const LinearSystem& system) {
  const Elements& A = system.A;
  const Ranks ranks = exact_ranks(A, system.b);
  Facts facts;
  facts.rank = ranks.matrix;
  facts.consistent = ranks.augmented == ranks.matrix;
  facts.nonsingular = A.rows() == A.columns() && ranks.matrix == A.rows();
  facts.symmetric = is_symmetric(A);
  facts.positive_definite = facts.symmetric && facts.nonsingular && is_positive_definite(A);
  facts.diagonally_dominant = A.rows() == A.columns() && (is_dominant(A, true) || is_dominant(A, false));
  facts.triangular = A.rows() == A.columns() && is_triangular(A);
  find_norms(system.b, facts.b_norm2, facts.b_norm_inf);
  add_matrix_norms(A, facts);
  if (facts.nonsingular) {
    const Scaling scaling = equilibrate(A);
    const Factorization factors(A, scaling);
    facts.condition = factors.condition();
    if (is_resolved(scaling, facts.condition)) facts.x = factors.solve(system.b);
    for (const BigFloat& element : facts.x) facts.x_norm = larger(facts.x_norm, element.magnitude());
  }
  return facts;
}

namespace {

std::vector<BigFloat> residual(const LinearSystem& system, const std::vector<double>& x) {
  std::vector<BigFloat> r;
  for (std::size_t i = 0; i < system.A.rows(); ++i) {
    BigFloat sum(system.b[i]);
    for (std::size_t j = 0; j < system.A.columns(); ++j) {
      if (system.A(i, j) != 0 && x[j] != 0) sum = sum - BigFloat(system.A(i, j)) * BigFloat(x[j]);
    }
    r.push_back(sum);
  }
  return r;
}

std::vector<BigFloat> transposed_product(const Elements& A, const std::vector<BigFloat>& r) {
  std::vector<BigFloat> product(A.columns());
  for (std::size_t i = 0; i < A.rows(); ++i) {
    for (std::size_t j = 0; j < A.columns(); ++j) {
      if (A(i, j) != 0) product[j] = product[j] + BigFloat(A(i, j)) * r[i];
    }
  }
  return product;
}

BigFloat inner_product(const std::vector<BigFloat>& a, const std::vector<BigFloat>& b) {
  BigFloat sum;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!a[i].is_zero() && !b[i].is_zero()) sum = sum + a[i] * b[i];
  }
  return sum;
}

/// Removes the part along q from v.
void remove_along(const std::vector<BigFloat>& q, const BigFloat& square, std::vector<BigFloat>& v) {
  const BigFloat factor = -(inner_product(q, v) / square);
  if (factor.is_zero()) return;
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = v[i] + factor * q[i];
}

/// The columns of A, each times a power of two that brings its largest element near 1.
std::vector<std::vector<BigFloat>> scaled_columns(const Elements& A) {
  std::vector<std::vector<BigFloat>> columns(A.columns());
  for (std::size_t j = 0; j < A.columns(); ++j) {
    double largest = 0;
    for (std::size_t i = 0; i < A.rows(); ++i) largest = std::max(largest, std::abs(A(i, j)));
    const int exponent = largest > 0 ? std::ilogb(largest) : 0;
    for (std::size_t i = 0; i < A.rows(); ++i)
      columns[j].push_back(BigFloat(A(i, j)).times_power_of_two(-exponent));
  }
  return columns;
}

/// The part of r in the range of A, which is of the given rank, by Gram-Schmidt with column pivoting.
std::vector<BigFloat> part_in_range(const Elements& A, std::size_t rank, const std::vector<BigFloat>& r) {
  std::vector<std::vector<BigFloat>> columns = scaled_columns(A);
  std::vector<BigFloat> outside = r;
  for (std::size_t k = 0; k < rank; ++k) {
    std::vector<BigFloat> squares;
    for (const auto& column : columns) squares.push_back(inner_product(column, column));
    const auto largest = std::max_element(squares.begin(), squares.end()) - squares.begin();
    const std::vector<BigFloat> q = columns[static_cast<std::size_t>(largest)];
    const BigFloat square = squares[static_cast<std::size_t>(largest)];
    for (auto& column : columns) remove_along(q, square, column);
    columns.erase(columns.begin() + largest);
    remove_along(q, square, outside);
  }
  std::vector<BigFloat> part(r.size());
  for (std::size_t i = 0; i < r.size(); ++i) part[i] = r[i] - outside[i];
  return part;
}

}  // namespace

Residuals measure(const LinearSystem& system, const Facts& facts, const std::vector<double>& x) {
  const std::vector<BigFloat> r = residual(system, x);
  BigFloat r_norm2;
  BigFloat r_norm_inf;
  BigFloat x_norm2;
  BigFloat x_norm_inf;
  find_norms(r, r_norm2, r_norm_inf);
  find_norms(x, x_norm2, x_norm_inf);
  Residuals result;
  result.relative = root_of_ratio(r_norm2, facts.b_norm2);
  result.backward_error = ratio_of(r_norm_inf, facts.A_norm_inf * x_norm_inf + facts.b_norm_inf);
  if (!facts.consistent && !r_norm2.is_zero()) {
    BigFloat normal2;
    BigFloat normal_inf;
    find_norms(transposed_product(system.A, r), normal2, normal_inf);
    result.normal_equations = root_of_ratio(normal2, facts.A_norm_frobenius * r_norm2);
  }
  if (!facts.x.empty()) {
    BigFloat largest;
    for (std::size_t j = 0; j < x.size(); ++j) {
      largest = larger(largest, (BigFloat(x[j]) - facts.x[j]).magnitude());
    }
    result.error = ratio_of(largest, facts.x_norm);
  }
  return result;
}

LeastSquaresErrors measure_least_squares(const LinearSystem& system, const Facts& facts,
                                         const std::vector<double>& x) {
  BigFloat r2;
  BigFloat part2;
  BigFloat x_norm2;
  BigFloat largest;
  const std::vector<BigFloat> r = residual(system, x);
  find_norms(r, r2, largest);
  find_norms(part_in_range(system.A, facts.rank, r), part2, largest);
  find_norms(x, x_norm2, largest);
  LeastSquaresErrors errors;
  const double to_least = root_of_ratio(part2, r2 - part2);
  errors.excess = std::hypot(1, to_least) - 1;
  if (to_least < 1e-5) errors.excess = to_least * to_least / 2;
  const double to_product = root_of_ratio(part2, facts.A_norm_frobenius * x_norm2);
  const double to_right_side = root_of_ratio(part2, facts.b_norm2);
  if (to_product > 0 && to_right_side > 0) errors.backward_error = 1 / (1 / to_product + 1 / to_right_side);
  return errors;
}

}  // namespace echelon::claims
