// SPDX-License-Identifier: BSD-3-Clause
/// Floating-point numbers of 512 bits, and the solution of linear systems with them: an oracle for error
/// bounds near the last bit of double, for systems of any condition that double can express.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace echelon::test {

__extension__ using Uint128 = unsigned __int128;

/// mantissa * 2^exponent with a sign; the mantissa is an integer of 512 bits whose first is set, or zero.
/// Operations truncate: their relative error is less than 2^-510. Exponents do not overflow.
class BigFloat {
 public:
  BigFloat() = default;
  BigFloat(double value) {  // NOLINT(google-explicit-constructor)
    if (value == 0) return;
    negative_ = value < 0;
    int exponent = 0;
    const double fraction = std::frexp(std::abs(value), &exponent);
    limbs_[size - 1] = static_cast<std::uint64_t>(std::ldexp(fraction, 64));
    exponent_ = exponent - bits;
  }

  [[nodiscard]] bool is_zero() const { return limbs_[size - 1] == 0; }
  [[nodiscard]] BigFloat magnitude() const {
    BigFloat result = *this;
    result.negative_ = false;
    return result;
  }
  /// The e for which 2^(e - 1) <= |*this| < 2^e; meaningless for zero.
  [[nodiscard]] std::int64_t exponent() const { return exponent_ + bits; }
  /// *this * 2^power, exactly.
  [[nodiscard]] BigFloat times_power_of_two(std::int64_t power) const {
    BigFloat result = *this;
    result.exponent_ += power;
    return result;
  }
  /// The nearest double, up to a rounding in the wrong direction.
  [[nodiscard]] double to_double() const {
    const auto leading = static_cast<double>(limbs_[size - 1]);
    // An exponent out of the range of double is limited so that it fits an int.
    const auto power = static_cast<int>(std::clamp<std::int64_t>(exponent_ + bits - 64, -3000, 3000));
    return std::ldexp(negative_ ? -leading : leading, power);
  }

  friend BigFloat operator-(BigFloat a) {
    a.negative_ = !a.negative_;
    return a;
  }
  friend BigFloat operator+(const BigFloat& a, const BigFloat& b) {
    if (a.is_zero()) return b;
    if (b.is_zero()) return a;
    const bool a_first = compare_magnitudes(a, b) >= 0;
    const BigFloat& large = a_first ? a : b;
    const BigFloat& small = a_first ? b : a;
    return add_smaller(large, small);
  }
  friend BigFloat operator-(const BigFloat& a, const BigFloat& b) { return a + -b; }
  friend BigFloat operator*(const BigFloat& a, const BigFloat& b) {
    BigFloat result;
    if (a.is_zero() || b.is_zero()) return result;
    std::array<std::uint64_t, std::size_t{2} * size> product{};
    for (std::size_t i = 0; i < size; ++i) {
      std::uint64_t carry = 0;
      for (std::size_t j = 0; j < size; ++j) {
        const Uint128 sum = Uint128{a.limbs_[i]} * b.limbs_[j] + product[i + j] + carry;
        product[i + j] = static_cast<std::uint64_t>(sum);
        carry = static_cast<std::uint64_t>(sum >> 64U);
      }
      product[i + size] = carry;
    }
    std::copy_n(product.begin() + size, size, result.limbs_.begin());
    result.exponent_ = a.exponent_ + b.exponent_ + bits;
    result.negative_ = a.negative_ != b.negative_;
    if ((result.limbs_[size - 1] >> 63U) == 0) result.shift_left_by_one(product[size - 1] >> 63U);
    return result;
  }
  /// Division by Newton's iteration for the reciprocal, which doubles the number of correct bits in each
  /// step.
  friend BigFloat operator/(const BigFloat& a, const BigFloat& b) {
    BigFloat scaled = b.magnitude();
    scaled.exponent_ = -bits;  // in [1/2, 1)
    BigFloat reciprocal(1 / scaled.to_double());
    for (int step = 0; step < 4; ++step) reciprocal = reciprocal * (BigFloat(2) - scaled * reciprocal);
    reciprocal.exponent_ -= b.exponent_ + bits;
    reciprocal.negative_ = b.negative_;
    return a * reciprocal;
  }
  friend bool operator<(const BigFloat& a, const BigFloat& b) {
    const BigFloat difference = a - b;
    return difference.negative_ && !difference.is_zero();
  }

 private:
  static constexpr int size = 8;
  static constexpr int bits = 64 * size;

  static int compare_magnitudes(const BigFloat& a, const BigFloat& b) {
    if (a.exponent_ != b.exponent_) return a.exponent_ < b.exponent_ ? -1 : 1;
    for (std::size_t k = size; k-- > 0;) {
      if (a.limbs_[k] != b.limbs_[k]) return a.limbs_[k] < b.limbs_[k] ? -1 : 1;
    }
    return 0;
  }

  /// Bits [64 k + shift, 64 k + shift + 64) of the mantissa.
  [[nodiscard]] std::uint64_t bits_at(std::size_t shift, std::size_t k) const {
    const std::size_t limb = k + shift / 64;
    const std::size_t bit = shift % 64;
    const std::uint64_t low = limb < size ? limbs_[limb] : 0;
    const std::uint64_t high = limb + 1 < size ? limbs_[limb + 1] : 0;
    return bit == 0 ? low : low >> bit | high << (64 - bit);
  }

  void shift_left_by_one(std::uint64_t carry) {
    for (std::uint64_t& limb : limbs_) {
      const std::uint64_t next = limb >> 63U;
      limb = limb << 1U | carry;
      carry = next;
    }
    --exponent_;
  }

  void normalise() {
    if (std::all_of(limbs_.begin(), limbs_.end(), [](std::uint64_t limb) { return limb == 0; })) return;
    while (limbs_[size - 1] == 0) {
      std::copy_backward(limbs_.begin(), limbs_.end() - 1, limbs_.end());
      limbs_[0] = 0;
      exponent_ -= 64;
    }
    while ((limbs_[size - 1] >> 63U) == 0) shift_left_by_one(0);
  }

  static BigFloat add_smaller(const BigFloat& large, const BigFloat& small) {
    const std::int64_t distance = large.exponent_ - small.exponent_;
    if (distance >= bits) return large;
    const auto shift = static_cast<std::size_t>(distance);
    BigFloat result = large;
    const bool subtract = large.negative_ != small.negative_;
    std::uint64_t carry = 0;
    for (std::size_t k = 0; k < size; ++k) {
      const std::uint64_t term = small.bits_at(shift, k);
      const Uint128 sum =
          subtract ? Uint128{large.limbs_[k]} - term - carry : Uint128{large.limbs_[k]} + term + carry;
      result.limbs_[k] = static_cast<std::uint64_t>(sum);
      carry = static_cast<std::uint64_t>(sum >> 64U) & 1U;
    }
    if (carry == 1) {
      for (std::size_t k = 0; k + 1 < size; ++k) {
        result.limbs_[k] = result.limbs_[k] >> 1U | result.limbs_[k + 1] << 63U;
      }
      result.limbs_[size - 1] = result.limbs_[size - 1] >> 1U | std::uint64_t{1} << 63U;
      ++result.exponent_;
    } else {
      result.normalise();
    }
    return result;
  }

  std::array<std::uint64_t, size> limbs_{};  ///< the least significant first
  std::int64_t exponent_ = 0;
  bool negative_ = false;
};

/// Solution of A x = b by Gauss-Jordan elimination, with pivots that are large relative to their rows of A. A
/// is n by n, row after row. Empty if a pivot is zero.
inline std::vector<BigFloat> solve_exactly(const std::vector<double>& A, const std::vector<double>& b) {
  const std::size_t n = b.size();
  std::vector<std::vector<BigFloat>> rows(n);
  for (std::size_t i = 0; i < n; ++i) {
    double largest = 0;
    for (std::size_t j = 0; j < n; ++j) largest = std::max(largest, std::abs(A[i * n + j]));
    const BigFloat scale = largest > 0 ? BigFloat(1) / BigFloat(largest) : BigFloat(1);
    for (std::size_t j = 0; j < n; ++j) rows[i].push_back(scale * BigFloat(A[i * n + j]));
    rows[i].push_back(scale * BigFloat(b[i]));
  }
  for (std::size_t p = 0; p < n; ++p) {
    std::size_t pivot = p;
    for (std::size_t i = p + 1; i < n; ++i) {
      if (rows[pivot][p].magnitude() < rows[i][p].magnitude()) pivot = i;
    }
    std::swap(rows[p], rows[pivot]);
    if (rows[p][p].is_zero()) return {};
    for (std::size_t i = p + 1; i < n; ++i) {
      if (rows[i][p].is_zero()) continue;
      const BigFloat multiplier = rows[i][p] / rows[p][p];
      for (std::size_t j = p + 1; j <= n; ++j) rows[i][j] = rows[i][j] - multiplier * rows[p][j];
    }
  }
  std::vector<BigFloat> x(n);
  for (std::size_t i = n; i-- > 0;) {
    BigFloat sum = rows[i][n];
    for (std::size_t j = i + 1; j < n; ++j) sum = sum - rows[i][j] * x[j];
    x[i] = sum / rows[i][i];
  }
  return x;
}

}  // namespace echelon::test
