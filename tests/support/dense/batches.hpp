// SPDX-License-Identifier: BSD-3-Clause
/// Batches of matrices on any device, each checked separately.
#pragma once

#include "support/dense/gauss_jordan.hpp"
#include "support/dense/symmetric.hpp"

#include <echelon/batched.hpp>

#include <gtest/gtest.h>

namespace echelon::test {

/// Matrices with padding between columns and between matrices, which must not change.
template <class T>
struct Batch {
  static constexpr T untouched = T{-77};
  std::int64_t rows, columns, count, leading, stride;
  std::vector<T> elements;

  Batch(std::int64_t rows_, std::int64_t columns_, std::int64_t count_, std::int64_t gap)
      : rows(rows_),
        columns(columns_),
        count(count_),
        leading(rows_ + gap),
        stride(leading * columns_ + gap),
        elements(static_cast<std::size_t>(stride * count_), untouched) {}

  [[nodiscard]] T& at(std::int64_t b, std::int64_t i, std::int64_t j) {
    return elements[static_cast<std::size_t>(b * stride + j * leading + i)];
  }
  void set(std::int64_t b, const Dense<T>& a) {
    for (std::int64_t j = 0; j < columns; ++j) {
      for (std::int64_t i = 0; i < rows; ++i) at(b, i, j) = a(i, j);
    }
  }
  [[nodiscard]] Dense<T> get(std::int64_t b) {
    Dense<T> a(Device(), rows, columns);
    for (std::int64_t j = 0; j < columns; ++j) {
      for (std::int64_t i = 0; i < rows; ++i) a(i, j) = at(b, i, j);
    }
    return a;
  }
  [[nodiscard]] std::int64_t touched_gaps() {
    std::int64_t touched = 0;
    for (std::int64_t e = 0; e < stride * count; ++e) {
      const std::int64_t in = e % stride;
      const bool gap = in / leading >= columns || in % leading >= rows;
      if (gap && elements[static_cast<std::size_t>(e)] != untouched) ++touched;
    }
    return touched;
  }
  [[nodiscard]] DenseBatch<T> in(Array<T>& there) const {
    return {there.data(), rows, columns, count, leading, stride, there.device()};
  }
};

/// Every kind of matrix that a batch may hold; the 3rd of 7 is singular, and the 6th has a NaN.
template <class T>
Dense<T> batch_matrix(std::int64_t n, std::int64_t b) {
  Dense<T> a = b % 7 == 0 ? random_dense<T>(n, n, static_cast<unsigned>(b + 1))
                          : lapack_type<T>(static_cast<int>(b % 4 + 1), n, static_cast<unsigned>(b + 1));
  if (b % 7 == 2) {
    for (std::int64_t i = 0; i < n; ++i) a(i, n / 2) = n / 2 > 0 ? 2 * a(i, n / 2 - 1) : T{0};
  }
  if (b % 7 == 5) a(n / 3, n - 1) = std::numeric_limits<T>::quiet_NaN();
  return a;
}

inline void expect_outcome(const BatchOutcome& outcome, std::int64_t n, std::int64_t b) {
  const Status expected =
      b % 7 == 2 ? Status::singular : (b % 7 == 5 ? Status::not_a_number : Status::direct);
  EXPECT_EQ(outcome.status, expected) << "matrix " << b;
  EXPECT_EQ(outcome.column, b % 7 == 2 ? n / 2 : (b % 7 == 5 ? n - 1 : -1));
}

template <class T>
bool all_nan(const Dense<T>& a) {
  for (std::int64_t e = 0; e < a.rows() * a.columns(); ++e) {
    if (a[e] == a[e]) return false;
  }
  return true;
}

template <class T>
void check_inverses(const Device& device, std::int64_t n, std::int64_t count) {
  SCOPED_TRACE("n = " + std::to_string(n));
  Batch<T> batch(n, n, count, n % 2 == 0 ? 0 : 3);
  for (std::int64_t b = 0; b < count; ++b) batch.set(b, batch_matrix<T>(n, b));
  Array<T> there = Array<T>(Device(), std::span<const T>(batch.elements)).to(device);
  const std::vector<BatchOutcome> outcomes = invert_batch(batch.in(there)).to_vector();
  batch.elements = there.to_vector();
  EXPECT_EQ(batch.touched_gaps(), 0);
  for (std::int64_t b = 0; b < count; ++b) {
    expect_outcome(outcomes[static_cast<std::size_t>(b)], n, b);
    if (outcomes[static_cast<std::size_t>(b)].status == Status::direct) {
      const Dense<T> a = batch_matrix<T>(n, b);
      EXPECT_LT(inverse_ratio(batch.get(b), a), 30) << "matrix " << b;
      if (b % 7 != 0) {
        EXPECT_LT(inverse_ratio(a, batch.get(b)), 30) << "matrix " << b;
      }
    } else {
      EXPECT_TRUE(all_nan(batch.get(b)));
    }
  }
}

/// Matrices of few different numbers: some are singular, and many candidates for pivots have equal
/// magnitudes.
template <class T>
Dense<T> small_integers(std::int64_t n, std::int64_t b) {
  Dense<T> a = zeros<T>(n, n);
  std::mt19937 generator(static_cast<unsigned>(b + 1));
  const auto scale = static_cast<T>(std::ldexp(1.0, static_cast<int>(b % 3 - 1) * 40));
  for (std::int64_t e = 0; e < n * n; ++e)
    a[e] = scale * static_cast<T>(static_cast<int>(generator() % 3) - 1);
  return a;
}

/// Expects the outcomes and inverses of the host.
template <class T>
void check_ties(const Device& device, std::int64_t n, std::int64_t count) {
  SCOPED_TRACE("n = " + std::to_string(n));
  Batch<T> here(n, n, count, 0);
  for (std::int64_t b = 0; b < count; ++b) here.set(b, small_integers<T>(n, b));
  Array<T> there = Array<T>(Device(), std::span<const T>(here.elements)).to(device);
  const std::vector<BatchOutcome> outcomes = invert_batch(here.in(there)).to_vector();
  Array<T> again(Device(), std::span<const T>(here.elements));
  const std::vector<BatchOutcome> expected = invert_batch(here.in(again)).to_vector();
  here.elements = there.to_vector();
  for (std::int64_t b = 0; b < count; ++b) {
    const auto k = static_cast<std::size_t>(b);
    EXPECT_EQ(outcomes[k].status, expected[k].status) << "matrix " << b;
    EXPECT_EQ(outcomes[k].column, expected[k].column) << "matrix " << b;
    if (outcomes[k].status == Status::direct) {
      EXPECT_LT(inverse_ratio(here.get(b), small_integers<T>(n, b)), 30) << "matrix " << b;
    }
  }
}

template <class T>
void check_solutions(const Device& device, std::int64_t n, std::int64_t k, std::int64_t count) {
  SCOPED_TRACE("n = " + std::to_string(n) + ", k = " + std::to_string(k));
  Batch<T> as(n, n, count, 2);
  Batch<T> bs(n, k, count, n % 2);
  for (std::int64_t b = 0; b < count; ++b) {
    as.set(b, batch_matrix<T>(n, b));
    bs.set(b, random_dense<T>(n, k, static_cast<unsigned>(b + 50)));
  }
  Array<T> a_there = Array<T>(Device(), std::span<const T>(as.elements)).to(device);
  Array<T> b_there = Array<T>(Device(), std::span<const T>(bs.elements)).to(device);
  const DenseBatch<T> a = as.in(a_there);
  const std::vector<BatchOutcome> outcomes =
      solve_batch<T>(DenseBatch<const T>(a.data(), n, n, count, a.leading(), a.stride(), device),
                     bs.in(b_there))
          .to_vector();
  bs.elements = b_there.to_vector();
  EXPECT_EQ(bs.touched_gaps(), 0);
  for (std::int64_t b = 0; b < count; ++b) {
    expect_outcome(outcomes[static_cast<std::size_t>(b)], n, b);
    const Dense<T> right = random_dense<T>(n, k, static_cast<unsigned>(b + 50));
    if (outcomes[static_cast<std::size_t>(b)].status == Status::direct) {
      EXPECT_LT(scaled_residual<T>(batch_matrix<T>(n, b), bs.get(b), right), 30) << "matrix " << b;
    } else {
      EXPECT_TRUE(all_nan(bs.get(b)));
    }
  }
}

/// Symmetric matrices; the 3rd of 7 has a negative pivot, the 4th is singular, and the 6th has a NaN.
template <class T>
Dense<T> symmetric_batch_matrix(std::int64_t n, std::int64_t b) {
  Dense<T> a = positive_definite<T>(n, static_cast<unsigned>(b + 1));
  const std::int64_t k = n / 2;
  if (b % 7 == 2) a(k, k) = -1;
  if (b % 7 == 3) {
    for (std::int64_t i = 0; i < n; ++i) a(i, k) = a(k, i) = k > 0 ? a(i, 0) : T{0};
    a(k, k) = k > 0 ? a(0, 0) : T{0};
  }
  if (b % 7 == 5) a(n - 1, n / 3) = a(n / 3, n - 1) = std::numeric_limits<T>::quiet_NaN();
  return a;
}

inline void expect_symmetric_outcome(const BatchOutcome& outcome, std::int64_t n, std::int64_t b) {
  BatchOutcome expected;
  if (b % 7 == 2) expected = {Status::not_spd, static_cast<std::int32_t>(n / 2)};
  if (b % 7 == 3) expected = {Status::singular, static_cast<std::int32_t>(n / 2)};
  if (b % 7 == 5) expected = {Status::not_a_number, static_cast<std::int32_t>(n - 1)};
  EXPECT_EQ(outcome.status, expected.status) << "matrix " << b;
  EXPECT_EQ(outcome.column, expected.column) << "matrix " << b;
}

/// Factors once and solves twice. The upper triangles of symmetric matrices hold NaN, since nothing reads
/// them.
template <class T>
void check_factors(const Device& device, BatchFactorization kind, std::int64_t n, std::int64_t k,
                   std::int64_t count) {
  const bool lu = kind == BatchFactorization::lu;
  SCOPED_TRACE((lu ? "lu, n = " : "cholesky, n = ") + std::to_string(n) + ", k = " + std::to_string(k));
  const auto matrix = [&](std::int64_t b) {
    return lu ? batch_matrix<T>(n, b) : symmetric_batch_matrix<T>(n, b);
  };
  Batch<T> as(n, n, count, n % 3);
  for (std::int64_t b = 0; b < count; ++b) {
    as.set(b, matrix(b));
    for (std::int64_t j = 0; !lu && j < n; ++j) {
      for (std::int64_t i = 0; i < j; ++i) as.at(b, i, j) = std::numeric_limits<T>::quiet_NaN();
    }
  }
  Array<T> a_there = Array<T>(Device(), std::span<const T>(as.elements)).to(device);
  const BatchFactors<T> factors(as.in(a_there), kind);
  const std::vector<BatchOutcome> outcomes = factors.outcomes().to_vector();
  ASSERT_EQ(outcomes.size(), static_cast<std::size_t>(count));
  for (std::int64_t b = 0; b < count; ++b) {
    const BatchOutcome& outcome = outcomes[static_cast<std::size_t>(b)];
    lu ? expect_outcome(outcome, n, b) : expect_symmetric_outcome(outcome, n, b);
  }
  for (const unsigned seed : {50U, 90U}) {
    Batch<T> bs(n, k, count, n % 2);
    for (std::int64_t b = 0; b < count; ++b)
      bs.set(b, random_dense<T>(n, k, static_cast<unsigned>(b) + seed));
    Array<T> b_there = Array<T>(Device(), std::span<const T>(bs.elements)).to(device);
    factors.solve(bs.in(b_there));
    bs.elements = b_there.to_vector();
    EXPECT_EQ(bs.touched_gaps(), 0);
    for (std::int64_t b = 0; b < count; ++b) {
      const Dense<T> right = random_dense<T>(n, k, static_cast<unsigned>(b) + seed);
      if (outcomes[static_cast<std::size_t>(b)].status == Status::direct) {
        EXPECT_LT(scaled_residual<T>(matrix(b), bs.get(b), right), 30) << "matrix " << b;
      } else {
        EXPECT_TRUE(all_nan(bs.get(b)));
      }
    }
  }
  as.elements = a_there.to_vector();
  EXPECT_EQ(as.touched_gaps(), 0);
}

/// Expects the outcomes of the host for LU of matrices with many equal magnitudes, and small residuals.
template <class T>
void check_factor_ties(const Device& device, std::int64_t n, std::int64_t count) {
  SCOPED_TRACE("n = " + std::to_string(n));
  Batch<T> as(n, n, count, 0);
  Batch<T> bs(n, 1, count, 0);
  for (std::int64_t b = 0; b < count; ++b) {
    as.set(b, small_integers<T>(n, b));
    bs.set(b, random_dense<T>(n, 1, static_cast<unsigned>(b + 1)));
  }
  Array<T> here(Device(), std::span<const T>(as.elements));
  Array<T> there = here.to(device);
  Array<T> right = Array<T>(Device(), std::span<const T>(bs.elements)).to(device);
  const BatchFactors<T> on_host(as.in(here), BatchFactorization::lu);
  const BatchFactors<T> factors(as.in(there), BatchFactorization::lu);
  factors.solve(bs.in(right));
  const std::vector<BatchOutcome> expected = on_host.outcomes().to_vector();
  const std::vector<BatchOutcome> outcomes = factors.outcomes().to_vector();
  bs.elements = right.to_vector();
  for (std::int64_t b = 0; b < count; ++b) {
    const auto k = static_cast<std::size_t>(b);
    EXPECT_EQ(outcomes[k].status, expected[k].status) << "matrix " << b;
    EXPECT_EQ(outcomes[k].column, expected[k].column) << "matrix " << b;
    if (outcomes[k].status != Status::direct) continue;
    const Dense<T> b_here = random_dense<T>(n, 1, static_cast<unsigned>(b + 1));
    EXPECT_LT(scaled_residual<T>(small_integers<T>(n, b), bs.get(b), b_here), 30) << "matrix " << b;
  }
}

/// Empty batches, and batches of matrices without rows.
template <class T>
void check_empty_factors(const Device& device) {
  Array<T> nothing(device, 1);
  for (const BatchFactorization kind : {BatchFactorization::lu, BatchFactorization::cholesky}) {
    const BatchFactors<T> none(DenseBatch<T>(nothing.data(), 3, 3, 0, device), kind);
    EXPECT_EQ(none.outcomes().size(), 0);
    none.solve(DenseBatch<T>(nothing.data(), 3, 1, 0, device));
    const BatchFactors<T> empty(DenseBatch<T>(nothing.data(), 0, 0, 4, device), kind);
    EXPECT_EQ(empty.outcomes().to_vector()[3].status, Status::direct);
    empty.solve(DenseBatch<T>(nothing.data(), 0, 1, 4, device));
  }
}

}  // namespace echelon::test
