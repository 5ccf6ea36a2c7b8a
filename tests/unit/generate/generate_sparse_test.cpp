// SPDX-License-Identifier: BSD-3-Clause
/// Random numbers, portable functions, random and banded sparse matrices, and the triangular matrix in
/// levels.
#include "generate/functions.hpp"
#include "generate/random.hpp"

#include <echelon/error.hpp>
#include <echelon/generate.hpp>
#include <echelon/matrix/structure.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <vector>

namespace echelon::test {
namespace {

namespace gen = echelon::generate;

template <class T = double>
Csr<T> sparse(const std::string& name, const Options& options) {
  return std::get<Csr<T>>(make_matrix<T>(name, options));
}

/// The known answers that come with the authors' Random123 library.
TEST(GenerateRandom, Philox_KnownAnswers) {
  using Four = std::array<std::uint32_t, 4>;
  EXPECT_EQ(gen::philox({0, 0, 0, 0}, {0, 0}), (Four{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(gen::philox({ones, ones, ones, ones}, {ones, ones}),
            (Four{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(gen::philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Four{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(GenerateRandom, MomentsAndBounds) {
  gen::Random random(3, 1, 4);
  constexpr int count = 200000;
  double uniform = 0;
  double normal = 0;
  double square = 0;
  double fourth = 0;
  std::map<std::int64_t, int> dice;
  for (int i = 0; i < count; ++i) {
    const double u = random.uniform();
    ASSERT_TRUE(u >= 0 && u < 1);
    uniform += u;
    const double x = random.normal();
    normal += x;
    square += x * x;
    fourth += x * x * x * x;
    ++dice[random.below(6)];
  }
  EXPECT_NEAR(uniform / count, 0.5, 0.003);  // four standard deviations
  EXPECT_NEAR(normal / count, 0, 0.009);
  EXPECT_NEAR(square / count, 1, 0.013);
  EXPECT_NEAR(fourth / count, 3, 0.09);
  ASSERT_EQ(dice.size(), 6U);
  EXPECT_EQ(dice.begin()->first, 0);
  for (const auto& [face, times] : dice) EXPECT_NEAR(times, count / 6.0, 4 * std::sqrt(count / 6.0)) << face;
}

TEST(GenerateFunctions, AgreeWithCLibrary) {
  const auto near = [](double mine, double theirs) {
    EXPECT_NEAR(mine, theirs, 4e-16 * std::abs(theirs)) << theirs;
  };
  for (const double x :
       {1e-300, 1e-10, 0.3, 0.70710678, 0.7072, 0.99999, 1.0, 1.0000001, 1.5, 2.0, 10.0, 1e10, 1e300}) {
    near(gen::log(x), std::log(x));
  }
  for (double x = -700; x < 700; x += 13.37) near(gen::exp(x), std::exp(x));
  for (double x = -1; x < 1; x += 0.0137) near(gen::exp(x), std::exp(x));
  EXPECT_EQ(gen::exp(0), 1);
  EXPECT_EQ(gen::exp(1000), HUGE_VAL);
  EXPECT_EQ(gen::exp(-1000), 0);
  EXPECT_EQ(gen::power(3.0, 4), 81);
  EXPECT_EQ(gen::power(2.0, -3), 0.125);
  EXPECT_EQ(gen::power(0.0, 0), 1);
  for (double x = -4; x <= 4; x += 0.1) {
    EXPECT_NEAR(gen::sin_pi(x), std::sin(M_PI * x), 3e-15) << x;
    EXPECT_NEAR(gen::cos_pi(x), std::cos(M_PI * x), 3e-15) << x;
  }
  EXPECT_EQ(gen::sin_pi(1), 0);
  EXPECT_EQ(gen::sin_pi(0.5), 1);
  EXPECT_EQ(gen::sin_pi(-0.5), -1);
  EXPECT_EQ(gen::cos_pi(0.5), 0);
  EXPECT_EQ(gen::cos_pi(1), -1);
}

TEST(GenerateSparse, ConstantTridiagonal) {
  const Csr<double> a = gen::tridiagonal<double>(3, 5, 6, 7);
  EXPECT_EQ(a.row_offsets().to_vector(), (std::vector<std::int64_t>{0, 2, 5, 7}));
  EXPECT_EQ(a.column_indices().to_vector(), (std::vector<std::int32_t>{0, 1, 0, 1, 2, 1, 2}));
  EXPECT_EQ(a.values().to_vector(), (std::vector<double>{6, 7, 5, 6, 7, 5, 6}));
}

TEST(GenerateSparse, TridiagonalKinds) {
  for (const char* kind : {"random", "dominant", "small-diagonal"}) {
    const Csr<double> a = sparse("tridiagonal", {{"n", 100}, {"kind", kind}});
    EXPECT_EQ(a.nonzeros(), 298);
    const Structure s = analyze_structure<double>(a);
    EXPECT_EQ(s.lower_bandwidth, 1);
    EXPECT_EQ(s.upper_bandwidth, 1);
    if (kind == std::string("dominant")) {
      EXPECT_EQ(s.strictly_dominant_rows, 100);
    }
    if (kind == std::string("small-diagonal")) {
      EXPECT_LT(s.strictly_dominant_rows, 10);
    }
  }
}

TEST(GenerateSparse, Banded_FullBand) {
  const Csr<double> a = sparse("banded", {{"n", 50}, {"lower", 2}, {"upper", 7}});
  std::int64_t expected = 0;
  for (int i = 0; i < 50; ++i) {
    for (int j = 0; j < 50; ++j) expected += i - j <= 2 && j - i <= 7 ? 1 : 0;
  }
  EXPECT_EQ(a.nonzeros(), expected);
  EXPECT_EQ(analyze_structure<double>(a).upper_bandwidth, 7);
  EXPECT_EQ(sparse("banded", {{"n", 4}, {"lower", 9}, {"upper", 9}}).nonzeros(), 16);
  const Csr<double> dominant = sparse("banded", {{"n", 50}, {"dominance", 1.5}});
  EXPECT_EQ(analyze_structure<double>(dominant).strictly_dominant_rows, 50);
}

TEST(GenerateSparse, RandomSparse_Density) {
  for (const double density : {0.0, 1e-4, 0.05, 0.7, 1.0}) {
    const Csr<double> a = gen::random_sparse<double>(700, 900, density);
    const double elements = 700.0 * 900;
    EXPECT_NEAR(static_cast<double>(a.nonzeros()), density * elements,
                5 * std::sqrt(density * (1 - density) * elements));
    for (std::int64_t k = 0; k < a.nonzeros(); ++k) ASSERT_LE(std::abs(a.values()[k]), 1);
  }
  // No column is preferred: each gets 700 * 0.05 +- 5 standard deviations.
  const Csr<double> a = gen::random_sparse<double>(700, 900, 0.05);
  std::vector<int> counts(900, 0);
  for (std::int64_t k = 0; k < a.nonzeros(); ++k) ++counts[static_cast<std::size_t>(a.column_indices()[k])];
  EXPECT_LT(*std::max_element(counts.begin(), counts.end()), 65);
  EXPECT_GT(*std::min_element(counts.begin(), counts.end()), 8);
}

TEST(GenerateSparse, DiagonallyDominant_StrictInEveryRow) {
  const auto expect_dominant = [](auto zero, const Options& options) {
    using T = decltype(zero);
    const Csr<T> a = sparse<T>("diagonally-dominant", options);
    for (std::int64_t i = 0; i < a.rows(); ++i) {
      double diagonal = 0;
      double others = 0;
      for (std::int64_t k = a.row_offsets()[i]; k < a.row_offsets()[i + 1]; ++k) {
        (a.column_indices()[k] == i ? diagonal : others) += std::abs(static_cast<double>(a.values()[k]));
      }
      ASSERT_GT(diagonal, others) << i;
    }
  };
  for (const double density : {0.0, 0.01, 1.0}) {
    for (const double dominance : {1.000001, 1.1, 1e30}) {
      const Options options = {{"n", 500}, {"density", density}, {"dominance", dominance}};
      expect_dominant(double{}, options);
      expect_dominant(float{}, options);
    }
  }
  for (const double dominance : {0.5, 1.0}) {
    EXPECT_THROW(static_cast<void>(sparse("diagonally-dominant", {{"dominance", dominance}})), BadOption)
        << dominance;
  }
}

TEST(GenerateSparse, RandomSpd_SymmetricAndDominant) {
  for (const std::int64_t n : {1, 2, 33, 2000}) {
    const Csr<double> a = gen::random_spd<double>(n, 0.05);
    const Structure s = analyze_structure<double>(a);
    EXPECT_TRUE(s.symmetric_values);
    EXPECT_EQ(s.definiteness, Definiteness::positive_definite);
    const double pairs = static_cast<double>(n) * static_cast<double>(n - 1) / 2;
    EXPECT_NEAR(static_cast<double>(a.nonzeros() - n) / 2, 0.05 * pairs, 5 * std::sqrt(0.05 * pairs) + 1e-9);
  }
}

TEST(GenerateSparse, DiagonallyDominant_Factor) {
  const Csr<double> a = sparse("diagonally-dominant", {{"n", 300}, {"density", 0.1}, {"dominance", 1.5}});
  EXPECT_FALSE(analyze_structure<double>(a).symmetric_pattern);
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    double sum = 0;
    double diagonal = 0;
    for (std::int64_t k = a.row_offsets()[i]; k < a.row_offsets()[i + 1]; ++k) {
      (a.column_indices()[k] == i ? diagonal : sum) += std::abs(a.values()[k]);
    }
    EXPECT_NEAR(diagonal, std::max(1.0, 1.5 * sum), 1e-12);
  }
}

struct Levels {
  std::vector<std::int64_t> sizes;
  std::int64_t most_dependencies = 0;
  std::int64_t dependent_rows = 0;
  std::int64_t near_columns = 0;  ///< within 1024 rows of the diagonal
};

/// Computes the levels by their definition, row by row.
Levels levels_of(const Csr<float>& a) {
  Levels found;
  std::vector<std::size_t> level(static_cast<std::size_t>(a.rows()));
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    std::size_t deepest = 0;
    const std::int64_t end = a.row_offsets()[i + 1];
    for (std::int64_t k = a.row_offsets()[i]; k + 1 < end; ++k) {
      const std::int32_t column = a.column_indices()[k];
      deepest = std::max(deepest, level[static_cast<std::size_t>(column)]);
      found.near_columns += i - column < 1024 ? 1 : 0;
    }
    EXPECT_EQ(a.column_indices()[end - 1], i);  // lower triangular, the diagonal last
    level[static_cast<std::size_t>(i)] = deepest + 1;
    if (found.sizes.size() <= deepest) found.sizes.push_back(0);
    ++found.sizes[deepest];
    found.most_dependencies = std::max(found.most_dependencies, end - 1 - a.row_offsets()[i]);
    found.dependent_rows += end - 1 > a.row_offsets()[i] ? 1 : 0;
  }
  return found;
}

void expect_published_statistics(std::int64_t rows, bool diagonal_counted) {
  SCOPED_TRACE(rows);
  const Csr<float> a = gen::published_triangle<float>(rows, 5, diagonal_counted);
  EXPECT_NO_THROW(Csr<float>(a.rows(), a.columns(), a.row_offsets(), a.column_indices(), a.values()));
  const Levels found = levels_of(a);
  const auto share = [rows](long double published) {
    return std::llround(static_cast<long double>(rows) * published / 51813503.0L);
  };
  EXPECT_EQ(a.nonzeros(), share(103565681.0L) + (diagonal_counted ? 0 : rows));
  EXPECT_EQ(found.sizes.size(), 91U);
  EXPECT_EQ(found.most_dependencies, 36);
  EXPECT_EQ(*std::max_element(found.sizes.begin(), found.sizes.end()), share(17890330.0L));
  EXPECT_EQ(*std::min_element(found.sizes.begin(), found.sizes.end()), 1);
  if (!diagonal_counted) {
    const double average =
        static_cast<double>(a.nonzeros() - rows) / static_cast<double>(found.dependent_rows);
    EXPECT_NEAR(average, 2.092111, 0.003);
  }
  const Structure s = analyze_structure<float>(a);
  EXPECT_EQ(s.strictly_dominant_rows, rows);
  if (rows > 100000) {
    EXPECT_GT(static_cast<double>(found.near_columns), 0.8 * static_cast<double>(a.nonzeros() - rows));
  }
}

TEST(GenerateSparse, PublishedTriangle_Statistics) {
  for (const std::int64_t rows : {1000, 1001, 4095, 8191, 8192, 12345, 300007}) {
    expect_published_statistics(rows, true);
    expect_published_statistics(rows, false);
  }
}

/// Takes 10 s and 3 GB, and runs only with ECHELON_TEST_FULL_SEED=1.
TEST(GenerateSparse, PublishedTriangle_FullSize) {
  if (std::getenv("ECHELON_TEST_FULL_SEED") == nullptr) GTEST_SKIP() << "ECHELON_TEST_FULL_SEED is not set";
  expect_published_statistics(51813503, true);
  expect_published_statistics(51813503, false);
}

}  // namespace
}  // namespace echelon::test
