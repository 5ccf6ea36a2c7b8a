// SPDX-License-Identifier: BSD-3-Clause
#include "support/exact/mapped_echelon_cases.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <stop_token>
#include <thread>
#include <vector>

namespace echelon::test {
namespace {

/// The published example. Its fourth row is twice the second less the third.
const IntegerMatrix published = {
    {1, 2, 3, 4, 5}, {0, 1, 2, 3, 4}, {0, 0, 1, 2, 3}, {0, 2, 3, 4, 5}, {0, 0, 2, 3, 4}};

template <class T>
Dense<T> column(const std::vector<T>& values) {
  Dense<T> b(Device(), static_cast<std::int64_t>(values.size()), 1);
  for (std::size_t i = 0; i < values.size(); ++i) b[static_cast<std::int64_t>(i)] = values[i];
  return b;
}

std::vector<std::int64_t> list(const Report& report, std::string_view name) {
  const Statistic* statistic = report.find_statistic(name);
  if (statistic == nullptr) return {};
  return std::get<std::vector<std::int64_t>>(statistic->value);
}
std::int64_t count(const Report& report, std::string_view name) {
  return std::get<std::int64_t>(report.find_statistic(name)->value);
}

TEST(MappedEchelon, PublishedExample_LargestClaims_AsByHand) {
  const auto solution = solve_mapped<double>(Device::serial(), csr_of<double>(published, 5),
                                             column<double>({15, 10, 6, 14, 9}));
  EXPECT_EQ(solution.setup.status, Status::singular);
  EXPECT_EQ(solution.report.status, Status::underdetermined);
  EXPECT_EQ(solution.report.rank, 4);
  EXPECT_EQ(count(solution.report, "rounds"), 3);
  EXPECT_EQ(count(solution.report, "reductions"), 4);
  EXPECT_EQ(list(solution.report, "dependent_rows"), std::vector<std::int64_t>{1});
  EXPECT_EQ(list(solution.report, "free_unknowns"), std::vector<std::int64_t>{4});
  const std::vector<double> expected = {1, 1, 0, 3, 0};  // x5 = 0; row 3: 0.5 x4 = 1.5, and so on
  for (std::int64_t j = 0; j < 5; ++j)
    EXPECT_NEAR(solution.x[j], expected[static_cast<std::size_t>(j)], 1e-14);
}

TEST(MappedEchelon, Map_IsInEveryReport) {
  const std::vector<std::int64_t> by_hand = {0, 3, 4, 2, -1};
  const Csr<double> A = csr_of<double>(published, 5);
  const auto solution = solve_mapped<double>(Device::serial(), A, column<double>({15, 10, 6, 14, 9}));
  for (const Report& report : {solution.setup, solution.report}) {
    ASSERT_NE(report.row_of_unknown, nullptr);
    EXPECT_EQ(*report.row_of_unknown, by_hand);
    EXPECT_EQ(list(report, "map"), by_hand);
  }
  EXPECT_EQ(solution.setup.row_of_unknown, solution.report.row_of_unknown);  // shared
  MappedEchelon<double> modulo(Device::serial(), {.field = "mod:65537"});
  EXPECT_NE(modulo.setup(A).row_of_unknown, nullptr);
  const Csr<double> large = generate::tridiagonal<double>(1001, -1, 4, -2);
  MappedEchelon<double> solver;
  const Report report = solver.setup(large);
  ASSERT_NE(report.row_of_unknown, nullptr);
  std::vector<std::int64_t> rows = *report.row_of_unknown;
  std::sort(rows.begin(), rows.end());
  std::vector<std::int64_t> all(1001);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(rows, all);
  EXPECT_EQ(report.find_statistic("map"), nullptr);
  EXPECT_EQ(
      solve<double>(A, column<double>({15, 10, 6, 14, 9}), {.method = "gauss-jordan"}).report.row_of_unknown,
      nullptr);
}

TEST(MappedEchelon, PublishedExample_FirstClaims_AsByHand) {
  const auto solution = solve_mapped<double>(Device::serial(), csr_of<double>(published, 5),
                                             column<double>({15, 10, 6, 14, 9}), {.claim = ClaimRule::first});
  EXPECT_EQ(solution.report.status, Status::underdetermined);
  EXPECT_EQ(count(solution.report, "rounds"), 2);
  EXPECT_EQ(count(solution.report, "reductions"), 3);
  EXPECT_EQ(list(solution.report, "dependent_rows"), std::vector<std::int64_t>{3});
}

TEST(MappedEchelon, PublishedExample_Contradiction_NamesTheRows) {
  const Csr<double> A = csr_of<double>(published, 5);
  const auto largest = solve_mapped<double>(Device::serial(), A, column<double>({15, 10, 6, 15, 9}));
  EXPECT_EQ(largest.report.status, Status::inconsistent);
  EXPECT_EQ(largest.report.row, 1);
  EXPECT_EQ(list(largest.report, "contradiction_rows"), (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_NE(largest.report.message.find("1 * row 1 - 0.5 * row 2 - 0.5 * row 3 (from 0) is 0 = -0.5"),
            std::string::npos)
      << largest.report.message;
  const auto modulo =
      solve_mapped<double>(Device::serial(), A, column<double>({15, 10, 6, 15, 9}), {.field = "mod:7"});
  EXPECT_EQ(modulo.report.status, Status::inconsistent);
  EXPECT_NE(modulo.report.message.find("-2 * row 1 + 1 * row 2 + 1 * row 3 (from 0) is 0 = 1 modulo 7"),
            std::string::npos)
      << modulo.report.message;
}

/// The last row changed so that the matrix is regular: x = (1, 1, 1, 1, 1).
TEST(MappedEchelon, RegularNeighbourOfThePublishedExample_IsSolved) {
  IntegerMatrix a = published;
  a[3][4] = 6;
  const auto solution =
      solve_mapped<double>(Device::serial(), csr_of<double>(a, 5), column<double>({15, 10, 6, 15, 9}));
  EXPECT_EQ(solution.report.status, Status::direct) << solution.report.message;
  for (std::int64_t j = 0; j < 5; ++j) EXPECT_NEAR(solution.x[j], 1, 1e-14);
}

template <class T>
class MappedEchelonOf : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(MappedEchelonOf, Reals);

TYPED_TEST(MappedEchelonOf, Systems_AreSolvedWithTheSameBitsOnAnyNumberOfThreads) {
  check_mapped_systems<TypeParam>({Device::openmp(1), Device::openmp(2), Device::openmp(3)});
}

TYPED_TEST(MappedEchelonOf, DeficientRank_IsThatOfGaussJordan) {
  check_mapped_deficient<TypeParam>(Device::openmp(2));
}

TYPED_TEST(MappedEchelonOf, RanksModuloPrimes_AreThoseOfTheTextbook) {
  for (const Device& device : {Device::serial(), Device::openmp(3)}) check_ranks_modulo<TypeParam>(device);
}

TYPED_TEST(MappedEchelonOf, DenseMatrix_IsConverted) {
  using T = TypeParam;
  const Dense<T> a = random_dense<T>(33, 33, 1);
  const Dense<T> b = random_dense<T>(33, 1, 2);
  MappedEchelon<T> solver;
  ASSERT_TRUE(solver.setup(a).ready());
  Dense<T> x(Device(), 33, 1);
  EXPECT_EQ(solver.solve(b, x).status, Status::direct);
  EXPECT_LT(assess(to_csr(MatrixRef<T>(a)), x, b).scaled_residual, mapped_passing);
}

TYPED_TEST(MappedEchelonOf, OrderedClaims_ArePartialPivoting) {
  using T = TypeParam;
  for (const Csr<T>& A : {random_dominant(257, 5, false, 2).csr<T>(), random_band<T>(300, 8, 9, 5)}) {
    const Dense<T> b = random_dense<T>(A.rows(), 1, 1);
    const auto serial = solve_mapped<T>(Device::serial(), A, b, {.claim = ClaimRule::ordered});
    EXPECT_EQ(serial.report.status, Status::direct) << serial.report.message;
    EXPECT_LT(assess(A, serial.x, b).scaled_residual, mapped_passing);
    EXPECT_EQ(count(serial.report, "rounds"), A.rows());
    const auto parallel = solve_mapped<T>(Device::openmp(3), A, b, {.claim = ClaimRule::ordered});
    EXPECT_TRUE(same_bits(serial.x, parallel.x));
  }
}

/// The published rule does without pivoting: for well-behaved matrices only.
TEST(MappedEchelon, FirstClaims_SolveOnSeveralThreads) {
  const Csr<double> A = convection_diffusion(9, 0).csr<double>();
  const Dense<double> b = random_dense<double>(A.rows(), 1, 1);
  for (const Device& device : {Device::serial(), Device::openmp(3)}) {
    const auto solution = solve_mapped<double>(device, A, b, {.claim = ClaimRule::first});
    EXPECT_EQ(solution.report.status, Status::direct) << solution.report.message;
    EXPECT_LT(assess(A, solution.x, b).scaled_residual, mapped_passing);
  }
}

/// In single precision the chains of owners leave 2 correct digits.
TEST(MappedEchelon, UnstableClaims_AreRepeatedInOrder) {
  const Csr<float> A = random_dominant(500, 5, false, 2).csr<float>();
  const Dense<float> b = random_dense<float>(500, 1, 1);
  const auto solution = solve_mapped<float>(Device::serial(), A, b);
  EXPECT_EQ(solution.report.status, Status::direct) << solution.report.message;
  ASSERT_EQ(solution.report.warnings.size(), 1U);
  EXPECT_NE(solution.report.warnings[0].find("ordered"), std::string::npos);
  const auto ordered = solve_mapped<float>(Device::openmp(2), A, b, {.claim = ClaimRule::ordered});
  EXPECT_TRUE(same_bits(solution.x, ordered.x));
  EXPECT_TRUE(ordered.report.warnings.empty());
}

TYPED_TEST(MappedEchelonOf, ScaledRows_GiveTheSameAnswer) {
  using T = TypeParam;
  const T large = std::is_same_v<T, double> ? T(1e150) : T(1e15);
  std::vector<Triplet<T>> triplets;
  const Csr<T> A = random_sparse<T>(33, 33, 6, 5);
  for (std::int32_t i = 0; i < 33; ++i) {
    const T scale = i % 3 == 0 ? large : i % 3 == 1 ? 1 / large : T{1};
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      triplets.push_back({i, A.column_indices()[k], A.values()[k] * scale});
    }
    triplets.push_back({i, i, 2 * scale});
  }
  const Csr<T> scaled = Csr<T>::from_triplets(33, 33, triplets);
  const Dense<T> b = consistent_rhs(scaled, 1, 4);
  const auto solution = solve_mapped<T>(Device::serial(), scaled, b);
  EXPECT_EQ(solution.report.status, Status::direct) << solution.report.message;
  EXPECT_EQ(solution.report.rank, 33);
}

/// The rows that a message names, combined as it says, are zero on the left and not on the right.
TYPED_TEST(MappedEchelonOf, Contradiction_CombinationIsZeroOnTheLeftOnly) {
  using T = TypeParam;
  IntegerMatrix a = random_integers(20, 15, 0.3, 4, 8);
  a.push_back(std::vector<std::int64_t>(15, 0));
  for (std::size_t j = 0; j < 15; ++j) a.back()[j] = a[3][j] - 2 * a[7][j] + a[11][j];
  const Csr<T> A = csr_of<T>(a, 15);
  Dense<T> b = consistent_rhs(A, 1, 2);
  EXPECT_NE(solve_mapped<T>(Device::serial(), A, b).report.status, Status::inconsistent);
  b[20] += T{1};
  const auto solution = solve_mapped<T>(Device::serial(), A, b);
  ASSERT_EQ(solution.report.status, Status::inconsistent);
  // The rows named are dependent: as many as their rank and one more, and each is needed.
  const std::vector<std::int64_t> rows = list(solution.report, "contradiction_rows");
  const auto rank_of = [&](std::int64_t without, bool augmented) {
    IntegerMatrix chosen;
    for (const std::int64_t row : rows) {
      if (row == without) continue;
      chosen.push_back(a[static_cast<std::size_t>(row)]);
      if (augmented) chosen.back().push_back(row == 20 ? 1 : 0);  // b less what is consistent
    }
    return textbook_rank(chosen, augmented ? 16 : 15, 2147483647);
  };
  const auto named = static_cast<std::int64_t>(rows.size());
  EXPECT_NE(std::find(rows.begin(), rows.end(), 20), rows.end());
  EXPECT_EQ(rank_of(-1, false), named - 1);
  EXPECT_EQ(rank_of(-1, true), named);
  for (const std::int64_t row : rows) EXPECT_EQ(rank_of(row, false), named - 1) << row;
}

TYPED_TEST(MappedEchelonOf, LaterRightHandSides_UseTheRecord) {
  using T = TypeParam;
  const Csr<T> A = random_band<T>(200, 3, 2, 9);
  MappedEchelon<T> solver(Device::openmp(2));
  ASSERT_TRUE(solver.setup(A).ready());
  for (unsigned seed = 0; seed < 3; ++seed) {
    const Dense<T> b = random_dense<T>(200, 1, seed);
    Dense<T> x(Device(), 200, 1);
    ASSERT_EQ(solver.solve(b, x).status, Status::direct);
    EXPECT_LT(assess(A, x, b).scaled_residual, mapped_passing);
  }
}

TYPED_TEST(MappedEchelonOf, EmptyShapes_AreAccepted) {
  using T = TypeParam;
  const auto solve = [](std::int64_t rows, std::int64_t columns) {
    return solve_mapped<T>(Device::serial(), Csr<T>::from_triplets(rows, columns, {}),
                           random_dense<T>(rows, 1, 1));
  };
  EXPECT_EQ(solve(0, 0).report.status, Status::direct);
  EXPECT_EQ(solve(0, 3).report.status, Status::underdetermined);
  EXPECT_EQ(solve(0, 3).x[2], 0);
  EXPECT_EQ(solve(3, 0).report.status, Status::inconsistent);
  EXPECT_EQ(solve(3, 3).report.status, Status::inconsistent);  // the zero matrix
  EXPECT_EQ(solve(1, 1).report.status, Status::inconsistent);
}

TYPED_TEST(MappedEchelonOf, ZeroMatrix_ZeroRightHandSide_IsUnderdetermined) {
  using T = TypeParam;
  Dense<T> b(Device(), 2, 1);
  b[0] = b[1] = 0;
  const auto solution = solve_mapped<T>(Device::serial(), Csr<T>::from_triplets(2, 2, {{0, 0, T{0}}}), b);
  EXPECT_EQ(solution.report.status, Status::underdetermined);
  EXPECT_EQ(solution.report.rank, 0);
  EXPECT_EQ(solution.x[0], 0);
}

TYPED_TEST(MappedEchelonOf, OneByOne_DuplicatesAndStoredZeros) {
  using T = TypeParam;
  const Csr<T> A = Csr<T>::from_triplets(1, 1, {{0, 0, T{1}}, {0, 0, T{3}}});
  EXPECT_EQ(solve_mapped<T>(Device::serial(), A, column<T>({8})).x[0], 2);
  const Csr<T> zeros = Csr<T>::from_triplets(2, 2, {{0, 0, T{0}}, {0, 1, T{2}}, {1, 0, T{4}}, {1, 1, T{0}}});
  const auto solution = solve_mapped<T>(Device::serial(), zeros, column<T>({2, 4}));
  EXPECT_EQ(solution.x[0], 1);
  EXPECT_EQ(solution.x[1], 1);
  EXPECT_EQ(count(solution.report, "factor_elements"), 2);
}

TYPED_TEST(MappedEchelonOf, ZeroRowsAndColumns_AreNamed) {
  using T = TypeParam;
  const Csr<T> A = Csr<T>::from_triplets(4, 4, {{0, 1, T{1}}, {2, 1, T{1}}, {2, 3, T{2}}});
  const auto solution = solve_mapped<T>(Device::serial(), A, column<T>({1, 0, 3, 0}));
  EXPECT_EQ(solution.report.status, Status::underdetermined);
  EXPECT_EQ(list(solution.report, "dependent_rows"), (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(list(solution.report, "free_unknowns"), (std::vector<std::int64_t>{0, 2}));
  const auto none = solve_mapped<T>(Device::serial(), A, column<T>({1, 0, 3, 5}));
  EXPECT_EQ(none.report.status, Status::inconsistent);
  EXPECT_EQ(none.report.row, 3);
}

TYPED_TEST(MappedEchelonOf, NotFinite_PositionIsReported) {
  using T = TypeParam;
  Csr<T> A = random_band<T>(5, 1, 1, 1);
  A.values()[3] = std::numeric_limits<T>::quiet_NaN();
  const auto solution = solve_mapped<T>(Device::serial(), A, random_dense<T>(5, 1, 1));
  EXPECT_EQ(solution.report.status, Status::not_a_number);
  Dense<T> b = random_dense<T>(5, 1, 1);
  b[2] = std::numeric_limits<T>::infinity();
  const auto of_b = solve_mapped<T>(Device::serial(), random_band<T>(5, 1, 1, 1), b);
  EXPECT_EQ(of_b.report.status, Status::not_a_number);
  EXPECT_EQ(of_b.report.row, 2);
}

/// The system is scaled by a power of two before sums of its elements can overflow.
TYPED_TEST(MappedEchelonOf, HugeElements_AreSolvedOrReported) {
  using T = TypeParam;
  const T huge = std::numeric_limits<T>::max();
  const Csr<T> A = Csr<T>::from_triplets(2, 2, {{0, 0, huge}, {0, 1, -huge}, {1, 0, huge}, {1, 1, huge}});
  const auto solution = solve_mapped<T>(Device::serial(), A, column<T>({1, 1}));
  EXPECT_EQ(solution.report.status, Status::direct) << solution.report.message;
  EXPECT_NEAR(static_cast<double>(solution.x[0] * huge), 1, 1e-6);
  EXPECT_NEAR(static_cast<double>(solution.x[1]), 0, 1 / static_cast<double>(huge));
  const auto overflowing =
      solve_mapped<T>(Device::serial(), Csr<T>::from_triplets(1, 1, {{0, 0, 1 / huge}}), column<T>({huge}));
  EXPECT_EQ(overflowing.report.status, Status::not_a_number) << overflowing.report.message;
}

TEST(MappedEchelon, ModuloPrime_SolvesExactly) {
  const IntegerMatrix a = random_integers(40, 40, 0.2, 5, 3);
  ASSERT_EQ(textbook_rank(a, 40, 65537), 40);
  const Csr<double> A = csr_of<double>(a, 40);
  Dense<double> b(Device(), 40, 1);
  for (std::int64_t i = 0; i < 40; ++i) b[i] = static_cast<double>(i - 20);
  const auto solution = solve_mapped<double>(Device::openmp(2), A, b, {.field = "mod:65537"});
  EXPECT_EQ(solution.report.status, Status::direct) << solution.report.message;
  EXPECT_EQ(solution.report.relative_residual, 0);
  for (std::size_t i = 0; i < 40; ++i) {
    std::int64_t sum = 20 - static_cast<std::int64_t>(i);
    for (std::size_t j = 0; j < 40; ++j)
      sum += a[i][j] * static_cast<std::int64_t>(solution.x[static_cast<std::int64_t>(j)]);
    EXPECT_EQ(sum % 65537, 0) << i;
  }
}

/// Rank over the rationals by fraction-free elimination, whose elements are minors (Bareiss): products of two
/// of them have to be less than 2^62.
std::int64_t rational_rank(IntegerMatrix a, std::size_t columns) {
  std::size_t rank = 0;
  std::int64_t before = 1;
  for (std::size_t j = 0; j < columns && rank < a.size(); ++j) {
    std::size_t pivot = rank;
    while (pivot < a.size() && a[pivot][j] == 0) ++pivot;
    if (pivot == a.size()) continue;
    std::swap(a[pivot], a[rank]);
    for (std::size_t i = rank + 1; i < a.size(); ++i) {
      for (std::size_t k = j + 1; k < columns; ++k) {
        a[i][k] = (a[rank][j] * a[i][k] - a[i][j] * a[rank][k]) / before;
      }
      a[i][j] = 0;
    }
    before = a[rank][j];
    ++rank;
  }
  return static_cast<std::int64_t>(rank);
}

/// No minor of these matrices exceeds 2e8 (Hadamard), so that it is zero modulo the large primes only if it
/// is zero.
TEST(MappedEchelon, RanksModuloPrimes_AreAtMostTheRationalRankAndThatForLargePrimes) {
  int less = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    const std::int64_t rows = 1 + seed % 12;
    const std::int64_t columns = 1 + seed * 7 % 10;
    const std::int64_t inner = 1 + seed % 5;
    const IntegerMatrix x = random_integers(rows, inner, 0.7, 1, seed);
    const IntegerMatrix y = random_integers(inner, columns, 0.7, 1, seed + 100);
    for (const IntegerMatrix& a :
         {integer_product(x, y, columns), random_integers(rows, columns, 0.5, 2, seed)}) {
      SCOPED_TRACE(seed);
      const Csr<double> A = csr_of<double>(a, columns);
      const std::int64_t rank = rational_rank(a, static_cast<std::size_t>(columns));
      for (const std::int64_t p : {1073741789, 2147483629, 2147483647}) {
        EXPECT_EQ(rank_modulo(MatrixRef<double>(A), p), rank) << "mod " << p;
      }
      for (const std::int64_t p : {2, 3, 5, 7}) {
        const std::int64_t modulo = rank_modulo(MatrixRef<double>(A), p);
        EXPECT_LE(modulo, rank) << "mod " << p;
        if (modulo < rank) ++less;
      }
    }
  }
  EXPECT_GT(less, 0);
}

TEST(MappedEchelon, RankModuloPrime_CanBeLessThanTheRationalRank) {
  const Csr<double> A = csr_of<double>({{1, 2}, {3, 4}}, 2);  // determinant -2
  EXPECT_EQ(rank_modulo(MatrixRef<double>(A), 2), 1);
  EXPECT_EQ(rank_modulo(MatrixRef<double>(A), 3), 2);
  const Csr<double> six = csr_of<double>({{6, 0, 0}, {0, 10, 0}, {0, 0, 15}}, 3);
  EXPECT_EQ(rank_modulo(MatrixRef<double>(six), 2), 1);
  EXPECT_EQ(rank_modulo(MatrixRef<double>(six), 5), 1);
  EXPECT_EQ(rank_modulo(MatrixRef<double>(six), 7), 3);
}

/// D A E for powers of two D and E, from the smallest numbers to the largest, has the rank of A.
TEST(MappedEchelon, ModuloPrime_ScaledByPowersOfTwo_RankIsThatOfIntegers) {
  IntegerMatrix a = random_integers(12, 9, 0.6, 9, 5);
  for (std::size_t j = 0; j < 9; ++j) a[4][j] = 3 * a[1][j] - a[2][j];
  for (std::size_t i = 0; i < 12; ++i) a[i][5] = a[i][0] + 2 * a[i][3];
  std::vector<Triplet<double>> triplets;
  for (std::size_t i = 0; i < 12; ++i) {
    for (std::size_t j = 0; j < 9; ++j) {
      const int exponent = static_cast<int>(i) * 140 - 900 + static_cast<int>(j) * 40 - 150;
      const double value = std::ldexp(static_cast<double>(a[i][j]), exponent);
      triplets.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), value});
    }
  }
  const Csr<double> A = Csr<double>::from_triplets(12, 9, triplets);
  for (const std::int64_t p : {3, 7, 65537, 2147483629, 2147483647}) {
    EXPECT_EQ(rank_modulo(MatrixRef<double>(A), p), textbook_rank(a, 9, p)) << p;
  }
}

/// 1/3 is rounded to an odd integer times a power of two: the rank is that of the stored numbers.
TEST(MappedEchelon, ModuloPrime_RoundedFractions_RankIsThatOfStoredNumbers) {
  const double third = 1.0 / 3;
  const Csr<double> rounded =
      Csr<double>::from_triplets(2, 2, {{0, 0, 1}, {0, 1, third}, {1, 0, 3}, {1, 1, 1}});
  EXPECT_EQ(rank_modulo(MatrixRef<double>(rounded), 2147483647), 2);
  const Csr<double> exact =
      Csr<double>::from_triplets(2, 2, {{0, 0, 0.75}, {0, 1, third}, {1, 0, 1.5}, {1, 1, 2 * third}});
  EXPECT_EQ(rank_modulo(MatrixRef<double>(exact), 2147483647), 1);
  const Csr<float> half = Csr<float>::from_triplets(2, 2, {{0, 0, 0.5F}, {0, 1, 1}, {1, 0, 1}, {1, 1, 2}});
  EXPECT_EQ(rank_modulo(MatrixRef<float>(half), 2147483647), 1);
}

TEST(MappedEchelon, ModuloPrime_RefusesFractionsModuloTwoAndWhatIsNotPrime) {
  const Csr<double> A = Csr<double>::from_triplets(2, 3, {{0, 0, 1}, {1, 2, 0.5}});
  try {
    static_cast<void>(rank_modulo(MatrixRef<double>(A), 2));
    FAIL() << "no exception";
  } catch (const InvalidMatrix& error) {
    EXPECT_NE(std::string(error.what()).find("row 1, column 2"), std::string::npos) << error.what();
  }
  const Csr<double> good = Csr<double>::from_triplets(1, 1, {{0, 0, 1}});
  for (const std::int64_t p : {-7, 0, 1, 4, 91}) {
    EXPECT_THROW(static_cast<void>(rank_modulo(MatrixRef<double>(good), p)), BadOption) << p;
  }
  EXPECT_THROW(static_cast<void>(rank_modulo(MatrixRef<double>(good), 2147483659)), BadOption);
  for (const char* field : {"mod", "mod:", "mod:6", "mod:x", "mod:7x", "integers", "mod:4294967311"}) {
    EXPECT_THROW(MappedEchelon<double>(Device::serial(), {.field = field}), BadOption) << field;
  }
  EXPECT_THROW(MappedEchelon<float>(Device::serial(), {.field = "mod:2147483647"}), BadOption);
  MappedEchelon<double> solver(Device::serial(), {.field = "mod:2"});
  EXPECT_THROW(solver.setup(A), InvalidMatrix);
  ASSERT_TRUE(solver.setup(good).ready());
  Dense<double> x(Device(), 1, 1);
  EXPECT_THROW(static_cast<void>(solver.solve(column<double>({0.5}), x)), InvalidMatrix);
}

TEST(MappedEchelon, Residues_OfNegativeAndLargeIntegers) {
  const Csr<double> A =
      Csr<double>::from_triplets(2, 2, {{0, 0, -7e15}, {0, 1, 7}, {1, 1, 9007199254740992.0}});
  EXPECT_EQ(rank_modulo(MatrixRef<double>(A), 7), 1);
  EXPECT_EQ(rank_modulo(MatrixRef<double>(A), 2), 1);
  EXPECT_EQ(rank_modulo(MatrixRef<double>(A), 11), 2);
}

/// Hilbert's matrix of order 8 has condition number 1.5e10, and pivots of 7e-9 of their terms: not noise.
TEST(MappedEchelon, IllConditioned_IsSolvedAndNotCalledSingular) {
  std::vector<Triplet<double>> triplets;
  for (std::int32_t i = 0; i < 8; ++i) {
    for (std::int32_t j = 0; j < 8; ++j) triplets.push_back({i, j, 1.0 / (i + j + 1)});
  }
  const Csr<double> A = Csr<double>::from_triplets(8, 8, triplets);
  const auto solution = solve_mapped<double>(Device::serial(), A, random_dense<double>(8, 1, 1));
  EXPECT_EQ(solution.report.status, Status::direct) << solution.report.message;
  EXPECT_EQ(solution.report.rank, 8);
}

/// Rounding errors of 1e-9 of the terms, which a small pivot before amplified, are not pivots.
TEST(MappedEchelon, AmplifiedNoise_IsNoPivot) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    const Csr<double> A = product_of_rank<double>(120, 100, 40, 8, seed);
    const RankFacts expected = RowReduction<double>(Device::serial()).reduce(MatrixRef<double>(A)).facts;
    const auto solution = solve_mapped<double>(Device::serial(), A, consistent_rhs(A, 1, seed));
    EXPECT_EQ(solution.report.rank, expected.rank) << seed << ": " << solution.report.message;
  }
}

/// The first row and column are full: after one round all rows are, 200 GB.
TEST(MappedEchelon, FillThatExceedsTheMemory_IsAStatus) {
  constexpr std::int32_t n = 300000;
  std::vector<Triplet<double>> triplets;
  for (std::int32_t i = 0; i < n; ++i) {
    triplets.push_back({i, i, 1});
    if (i > 0) triplets.push_back({0, i, 1});
    if (i > 0) triplets.push_back({i, 0, 1});
  }
  const Csr<double> A = Csr<double>::from_triplets(n, n, triplets);
  MappedEchelon<double> solver;
  const Report report = solver.setup(A);
  EXPECT_EQ(report.status, Status::out_of_memory);
  EXPECT_NE(report.message.find("GiB"), std::string::npos) << report.message;
  Dense<double> x(Device(), n, 1);
  EXPECT_EQ(solver.solve(Dense<double>(Device(), n, 1), x).status, Status::out_of_memory);
}

TEST(MappedEchelon, Cancelled_BetweenRounds) {
  const Csr<double> A = random_band<double>(1000, 2, 2, 1);
  std::stop_source source;
  source.request_stop();
  MappedEchelon<double> solver;
  EXPECT_EQ(solver.setup(A, {.cancel = source.get_token()}).status, Status::cancelled);
}

TEST(MappedEchelon, Tolerance_DecidesTheRank) {
  const Csr<double> A =
      Csr<double>::from_triplets(2, 2, {{0, 0, 1}, {0, 1, 2}, {1, 0, 1}, {1, 1, 2 + 1e-10}});
  const Dense<double> b = column<double>({3, 3 + 1e-10});
  EXPECT_EQ(solve_mapped<double>(Device::serial(), A, b).report.rank, 2);
  EXPECT_EQ(solve_mapped<double>(Device::serial(), A, b, {.tolerance = 1e-9}).report.rank, 1);
}

TEST(MappedEchelon, TwoThreads_MaySolveAtOnce) {
  const Csr<double> A = random_band<double>(500, 2, 2, 1);
  MappedEchelon<double> solver(Device::openmp(1));
  ASSERT_TRUE(solver.setup(A).ready());
  const Dense<double> b = random_dense<double>(500, 2, 1);
  std::vector<Dense<double>> x(2, Dense<double>(Device(), 500, 2));
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&, t] { static_cast<void>(solver.solve(b, x[static_cast<std::size_t>(t)])); });
    }
  }
  EXPECT_TRUE(same_bits(x[0], x[1]));
}

}  // namespace
}  // namespace echelon::test
