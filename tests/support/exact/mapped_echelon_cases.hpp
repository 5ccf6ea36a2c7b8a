// SPDX-License-Identifier: BSD-3-Clause
/// Cases of elimination to mapped echelon form for every device; operands and results are on the host.
#pragma once

#include "support/problems.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace echelon::test {

using IntegerMatrix = std::vector<std::vector<std::int64_t>>;

template <class T>
Csr<T> csr_of(const IntegerMatrix& rows, std::int64_t columns) {
  std::vector<Triplet<T>> triplets;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < rows[i].size(); ++j) {
      if (rows[i][j] == 0) continue;
      triplets.push_back(
          {static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), static_cast<T>(rows[i][j])});
    }
  }
  return Csr<T>::from_triplets(static_cast<std::int64_t>(rows.size()), columns, triplets);
}

/// Random sparse matrix of numbers in [-1, 1), with `per_row` elements a row at random columns.
template <class T>
Csr<T> random_sparse(std::int64_t rows, std::int64_t columns, int per_row, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  std::vector<Triplet<T>> triplets;
  for (std::int64_t i = 0; i < rows && columns > 0; ++i) {
    std::set<std::int32_t> places;
    for (int k = 0; k < per_row; ++k) {
      places.insert(static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(columns)));
    }
    for (const std::int32_t j : places) {
      triplets.push_back({static_cast<std::int32_t>(i), j, static_cast<T>(value(random))});
    }
  }
  return Csr<T>::from_triplets(rows, columns, triplets);
}

/// A band of random numbers with `below` and `above` diagonals; the diagonal is zero in every third row, so
/// that no elimination without pivoting passes.
template <class T>
Csr<T> random_band(std::int64_t n, std::int64_t below, std::int64_t above, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  std::vector<Triplet<T>> triplets;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = std::max<std::int64_t>(0, i - below); j <= std::min(n - 1, i + above); ++j) {
      if (i == j && i % 3 == 1) continue;
      triplets.push_back(
          {static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), static_cast<T>(value(random))});
    }
  }
  return Csr<T>::from_triplets(n, n, triplets);
}

/// A lower triangular matrix with permuted rows and columns.
template <class T>
Csr<T> permuted_triangle(std::int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::int32_t> p(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < p.size(); ++i) p[i] = static_cast<std::int32_t>(i);
  std::vector<std::int32_t> q = p;
  std::shuffle(p.begin(), p.end(), random);
  std::shuffle(q.begin(), q.end(), random);
  std::vector<Triplet<T>> triplets;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto row = p[static_cast<std::size_t>(i)];
    triplets.push_back({row, q[static_cast<std::size_t>(i)], T{2}});
    std::set<std::uint64_t> before;
    for (int k = 0; k < 3 && i > 0; ++k) before.insert(random() % static_cast<std::uint64_t>(i));
    for (const std::uint64_t j : before) triplets.push_back({row, q[j], T{1} / 2});
  }
  return Csr<T>::from_triplets(n, n, triplets);
}

/// The product of two random sparse matrices: its rank is at most `rank`.
template <class T>
Csr<T> product_of_rank(std::int64_t rows, std::int64_t columns, std::int64_t rank, int per_row,
                       unsigned seed) {
  return multiply(random_sparse<T>(rows, rank, per_row, seed),
                  random_sparse<T>(rank, columns, per_row, seed + 1));
}

template <class T>
struct MappedSolution {
  Dense<T> x;
  Report setup, report;
};

template <class T>
MappedSolution<T> solve_mapped(const Device& device, const Csr<T>& A, const Dense<T>& b,
                               const MappedEchelonOptions& options = {}) {
  const Csr<T> there = A.to(device);
  MappedEchelon<T> solver(device, options);
  MappedSolution<T> result;
  result.setup = solver.setup(there);
  Dense<T> x(Device(), A.columns(), b.columns());
  for (std::int64_t k = 0; k < A.columns() * b.columns(); ++k) x[k] = 7;
  Dense<T> x_there = x.to(device);
  const Dense<T> b_there = b.to(device);
  result.report = solver.solve(b_there, x_there);
  result.x = x_there.to(Device());
  return result;
}

/// b = A v for random v.
template <class T>
Dense<T> consistent_rhs(const Csr<T>& A, std::int64_t columns, unsigned seed) {
  const Dense<T> v = random_dense<T>(A.columns(), columns, seed);
  Dense<T> b(Device(), A.rows(), columns);
  for (std::int64_t j = 0; j < columns; ++j) {
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      long double sum = 0;
      for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
        sum += static_cast<long double>(A.values()[k]) * v(A.column_indices()[k], j);
      }
      b(i, j) = static_cast<T>(sum);
    }
  }
  return b;
}

template <class T>
bool same_bits(const Dense<T>& a, const Dense<T>& b) {
  return a.rows() == b.rows() && a.columns() == b.columns() &&
         std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

/// Rank modulo p of a small matrix by elimination with exchanges, as in a textbook.
inline std::int64_t textbook_rank(IntegerMatrix a, std::int64_t columns, std::int64_t p) {
  const auto residue = [p](std::int64_t v) { return ((v % p) + p) % p; };
  const auto power = [p](std::int64_t base, std::int64_t exponent) {
    std::int64_t result = 1;
    for (; exponent > 0; exponent /= 2, base = base * base % p) {
      if (exponent % 2 == 1) result = result * base % p;
    }
    return result;
  };
  std::size_t rank = 0;
  for (std::size_t j = 0; j < static_cast<std::size_t>(columns) && rank < a.size(); ++j) {
    std::size_t pivot = rank;
    while (pivot < a.size() && residue(a[pivot][j]) == 0) ++pivot;
    if (pivot == a.size()) continue;
    std::swap(a[pivot], a[rank]);
    const std::int64_t inverse = power(residue(a[rank][j]), p - 2);
    for (std::size_t i = rank + 1; i < a.size(); ++i) {
      const std::int64_t m = residue(a[i][j]) * inverse % p;
      for (std::size_t k = j; k < a[i].size(); ++k) {
        a[i][k] = residue(a[i][k] - m * residue(a[rank][k]) % p);
      }
    }
    ++rank;
  }
  return static_cast<std::int64_t>(rank);
}

inline IntegerMatrix random_integers(std::int64_t rows, std::int64_t columns, double density,
                                     std::int64_t largest, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::uniform_int_distribution<std::int64_t> value(-largest, largest);
  IntegerMatrix a(static_cast<std::size_t>(rows),
                  std::vector<std::int64_t>(static_cast<std::size_t>(columns), 0));
  for (auto& row : a) {
    for (auto& element : row) {
      if (uniform(random) < density) element = value(random);
    }
  }
  return a;
}

inline IntegerMatrix integer_product(const IntegerMatrix& x, const IntegerMatrix& y, std::int64_t columns) {
  IntegerMatrix a(x.size(), std::vector<std::int64_t>(static_cast<std::size_t>(columns), 0));
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t k = 0; k < y.size(); ++k) {
      for (std::size_t j = 0; j < a[i].size(); ++j) a[i][j] += x[i][k] * y[k][j];
    }
  }
  return a;
}

constexpr double mapped_passing = 30;  // LAPACK's threshold

/// Solves for every matrix of a list, and holds the bits of x on each device against those on one core.
template <class T>
void check_mapped_systems(const std::vector<Device>& devices, const MappedEchelonOptions& options = {}) {
  std::vector<std::pair<std::string, Csr<T>>> matrices;
  for (const std::int64_t n : {1, 2, 31, 33, 300}) {
    matrices.emplace_back("dense " + std::to_string(n), to_csr(MatrixRef<T>(random_dense<T>(n, n, 3))));
  }
  for (const std::int64_t n : {2, 31, 33, 1025}) {
    const Problem dominant = random_dominant(std::min<std::int64_t>(n, 257), 5, false, 2);
    matrices.emplace_back(dominant.name, dominant.csr<T>());
    for (const std::int64_t width : {1, 3, 8}) {
      matrices.emplace_back("band " + std::to_string(n) + " " + std::to_string(width),
                            random_band<T>(n, width, width + 1, 5));
    }
    matrices.emplace_back("triangle " + std::to_string(n), permuted_triangle<T>(n, 4));
  }
  for (const std::int64_t n : {2, 3, 33}) matrices.emplace_back("cycle", shifted_cycle(n).csr<T>());
  matrices.emplace_back("grid", convection_diffusion(17, 0.4).csr<T>());
  for (const auto& [name, A] : matrices) {
    SCOPED_TRACE(name);
    const Dense<T> b = random_dense<T>(A.rows(), 2, 7);
    const MappedSolution<T> serial = solve_mapped(Device::serial(), A, b, options);
    ASSERT_EQ(serial.report.status, Status::direct) << serial.report.message;
    EXPECT_EQ(serial.report.rank, A.rows());
    for (std::int64_t j = 0; j < 2; ++j) {
      EXPECT_LT(assess(A, serial.x, b, j).scaled_residual, mapped_passing);
    }
    for (const Device& device : devices) {
      SCOPED_TRACE(device.name());
      const MappedSolution<T> solution = solve_mapped(device, A, b, options);
      EXPECT_TRUE(same_bits(solution.x, serial.x)) << solution.report.message;
      EXPECT_EQ(solution.report.find_statistic("rounds")->value,
                serial.report.find_statistic("rounds")->value);
    }
  }
}

/// Tall, wide and square matrices of deficient rank, with consistent right-hand sides.
template <class T>
void check_mapped_deficient(const Device& device, const MappedEchelonOptions& options = {}) {
  int compared = 0;
  struct Shape {
    std::int64_t rows, columns, rank;
    int per_row;
  };
  for (const Shape& shape : {Shape{33, 31, 20, 3}, Shape{31, 65, 31, 4}, Shape{200, 100, 40, 3},
                             Shape{100, 200, 60, 8}, Shape{120, 120, 119, 120}, Shape{1025, 33, 20, 5}}) {
    SCOPED_TRACE(std::to_string(shape.rows) + " by " + std::to_string(shape.columns));
    const Csr<T> A = product_of_rank<T>(shape.rows, shape.columns, shape.rank, shape.per_row, 11);
    const RankFacts expected = RowReduction<T>(Device::serial()).reduce(MatrixRef<T>(A)).facts;
    if (expected.doubtful) continue;  // in single precision
    ++compared;
    const Dense<T> b = consistent_rhs(A, 2, 3);
    const MappedSolution<T> solution = solve_mapped(device, A, b, options);
    EXPECT_EQ(solution.report.rank, expected.rank) << solution.report.message;
    EXPECT_EQ(solution.report.status, expected.rank == A.columns() ? Status::direct : Status::underdetermined)
        << solution.report.message;
    EXPECT_LT(solution.report.backward_error, 1000 * std::numeric_limits<T>::epsilon());
    const MappedSolution<T> serial = solve_mapped(Device::serial(), A, b, options);
    EXPECT_TRUE(same_bits(solution.x, serial.x));
  }
  const int least = std::is_same_v<T, double> ? 6 : 1;
  EXPECT_GE(compared, least);
}

/// Ranks modulo primes against the textbook.
template <class T>
void check_ranks_modulo(const Device& device) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    const std::int64_t rows = 5 + 7 * (seed % 5);
    const std::int64_t columns = 3 + 11 * (seed % 4);
    const std::int64_t rank = 1 + seed % 6;
    const IntegerMatrix x = random_integers(rows, rank, 0.6, 9, seed);
    const IntegerMatrix y = random_integers(rank, columns, 0.6, 9, seed + 100);
    for (const IntegerMatrix& a :
         {integer_product(x, y, columns), random_integers(rows, columns, 0.3, 5, seed)}) {
      const Csr<T> A = csr_of<T>(a, columns).to(device);
      for (const std::int64_t p : {2, 3, 5, 101, 65537, 2147483647}) {
        EXPECT_EQ(rank_modulo(MatrixRef<T>(A), p), textbook_rank(a, columns, p)) << seed << " mod " << p;
      }
    }
  }
}

}  // namespace echelon::test
