// SPDX-License-Identifier: BSD-3-Clause
/// The reduced row echelon form, the rank, the null space and the determinant.
#include "support/dense/gauss_jordan_cases.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

namespace echelon::test {
namespace {

const std::vector<Device> host_devices = {Device::serial(), Device::openmp(3)};

template <class T>
class GaussJordanReduceOf : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(GaussJordanReduceOf, Reals);

/// Integers, exactly: fraction-free elimination, in which every element is a minor of the matrix.
struct ExactForm {
  std::vector<std::vector<std::int64_t>> rows;
  std::int64_t denominator = 1;
  std::vector<std::int64_t> pivot_columns;
  int exchanges = 0;

  explicit ExactForm(std::vector<std::vector<std::int64_t>> matrix) : rows(std::move(matrix)) {
    const std::size_t columns = rows.empty() ? 0 : rows.front().size();
    for (std::size_t j = 0; j < columns; ++j) {
      const std::size_t k = pivot_columns.size();
      std::size_t p = k;
      while (p < rows.size() && rows[p][j] == 0) ++p;
      if (p >= rows.size()) continue;
      if (p != k) std::swap(rows[p], rows[k]), ++exchanges;
      const std::int64_t pivot = rows[k][j];
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::int64_t factor = rows[i][j];
        for (std::size_t c = 0; c < columns && i != k; ++c) {
          rows[i][c] = (pivot * rows[i][c] - factor * rows[k][c]) / denominator;
        }
      }
      denominator = pivot;
      pivot_columns.push_back(static_cast<std::int64_t>(j));
    }
  }
  [[nodiscard]] double operator()(std::size_t i, std::size_t j) const {
    return static_cast<double>(rows[i][j]) / static_cast<double>(denominator);
  }
};

TYPED_TEST(GaussJordanReduceOf, IntegerMatrices_MatchExactArithmetic) {
  using T = TypeParam;
  std::mt19937 random(5);
  const auto up_to = [&](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
  for (int round = 0; round < 400; ++round) {
    const auto m = static_cast<std::size_t>(up_to(8));
    const auto n = static_cast<std::size_t>(1 + up_to(9));
    std::vector<std::vector<std::int64_t>> table(m, std::vector<std::int64_t>(n));
    for (auto& row : table) {
      for (auto& element : row) element = up_to(2) == 0 ? 0 : up_to(6) - 3;
    }
    if (m > 2 && up_to(1) == 0) {
      for (std::size_t j = 0; j < n; ++j) table[m - 1][j] = table[0][j] - 2 * table[1][j];
    }
    const ExactForm exact(table);
    Dense<T> a(Device(), static_cast<std::int64_t>(m), static_cast<std::int64_t>(n));
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        a(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)) = static_cast<T>(table[i][j]);
      }
    }
    const EchelonForm<T> form = RowReduction<T>(host_devices[static_cast<std::size_t>(round % 2)]).reduce(a);
    ASSERT_EQ(form.report.status, Status::direct) << form.report.message;
    ASSERT_EQ(form.pivot_columns, exact.pivot_columns) << "round " << round;
    EXPECT_EQ(form.facts.rank, static_cast<std::int64_t>(exact.pivot_columns.size()));
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        const auto got =
            static_cast<double>(form.R(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)));
        EXPECT_NEAR(got, exact(i, j), 1e4 * unit<T> * (1 + std::abs(exact(i, j))));
      }
    }
    if (m != n) continue;
    const double determinant =
        form.facts.rank < static_cast<std::int64_t>(n)
            ? 0
            : static_cast<double>(exact.denominator) * (exact.exchanges % 2 == 0 ? 1 : -1);
    EXPECT_NEAR(form.determinant->value(), determinant, 1e3 * unit<T> * std::abs(determinant));
  }
}

TYPED_TEST(GaussJordanReduceOf, Products_RankIsFound) {
  const std::vector<Shape> shapes = {{5, 5, 0},       {1, 1, 1},      {3, 7, 2},      {7, 3, 2},
                                     {33, 31, 7},     {129, 200, 64}, {200, 129, 64}, {64, 64, 63},
                                     {300, 300, 150}, {40, 300, 40},  {300, 40, 40}};
  for (const Device& device : host_devices) check_rank_of_products<TypeParam>(device, shapes, {0, 1, 24});
}

TYPED_TEST(GaussJordanReduceOf, ScatteredPivots_AreFound) {
  check_scattered_pivots<TypeParam>(Device(), {{20, 40, 12}, {70, 130, 50}, {130, 100, 41}, {1025, 60, 20}});
}

TYPED_TEST(GaussJordanReduceOf, EverySize_IsReduced) {
  using T = TypeParam;
  for (const std::int64_t n : {0, 1, 2, 3, 5, 10, 31, 32, 33, 50, 127, 129}) {
    for (int type = 1; type <= 11; ++type) {
      if (type == 9) continue;  // singular by the tolerance or not: rounding decides
      SCOPED_TRACE("type " + std::to_string(type) + ", n = " + std::to_string(n));
      const Dense<T> a = lapack_type<T>(type, n, 11);
      const EchelonForm<T> form = RowReduction<T>(Device::openmp(2)).reduce(a);
      ASSERT_EQ(form.report.status, Status::direct);
      const std::int64_t zero =
          type == 7 ? (n + 1) / 2 : (type == 5 || type == 6 ? std::min<std::int64_t>(n, 1) : 0);
      EXPECT_EQ(form.facts.rank, n - zero);
      if (type < 10) expect_reduced(a, form, 1000);
      EXPECT_EQ(form.facts.largest_rejected_pivot.has_value(), zero > 0);
      if (zero > 0) {
        EXPECT_EQ(*form.facts.largest_rejected_pivot, 0);
      }
    }
  }
  for (const std::int64_t n : {1000, 1023, 1025}) {
    const Dense<T> a = random_dense<T>(n, n, 3);
    const EchelonForm<T> form = RowReduction<T>().reduce(a);
    EXPECT_EQ(form.facts.rank, n);
    EXPECT_EQ(largest_difference(form.R, identity<T>(n)), 0);
  }
}

TYPED_TEST(GaussJordanReduceOf, EmptyShapes_AreAccepted) {
  check_empty_forms<TypeParam>(Device());
}

TYPED_TEST(GaussJordanReduceOf, ZeroColumnsAndRows_HaveNoPivots) {
  check_zero_lines<TypeParam>(Device());
}

TYPED_TEST(GaussJordanReduceOf, AnyNumberOfThreads_GivesTheSameBits) {
  using T = TypeParam;
  for (const Shape s : {Shape{700, 700, 700}, {600, 900, 300}, {900, 500, 333}}) {
    const Dense<T> a = product(random_dense<T>(s.m, s.rank, 1), random_dense<T>(s.rank, s.n, 2));
    const EchelonForm<T> serial = RowReduction<T>(Device::serial()).reduce(a);
    for (const int threads : {1, 2, 3, 2}) {
      const EchelonForm<T> form = RowReduction<T>(Device::openmp(threads)).reduce(a);
      EXPECT_EQ(form.R.to_vector(), serial.R.to_vector());
      EXPECT_EQ(form.row_permutation, serial.row_permutation);
      EXPECT_EQ(form.facts.smallest_accepted_pivot, serial.facts.smallest_accepted_pivot);
      EXPECT_EQ(form.facts.largest_rejected_pivot, serial.facts.largest_rejected_pivot);
      EXPECT_EQ(form.facts.distance_to_lower_rank, serial.facts.distance_to_lower_rank);
    }
  }
}

TYPED_TEST(GaussJordanReduceOf, NotFinite_PositionIsReported) {
  check_not_a_number<TypeParam>(Device());
}

/// A power of two changes no digit of anything.
TYPED_TEST(GaussJordanReduceOf, ExtremeMagnitudes_StayInRange) {
  using T = TypeParam;
  const Dense<T> a = product(random_dense<T>(40, 20, 1), random_dense<T>(20, 40, 2));
  const EchelonForm<T> form = RowReduction<T>().reduce(a);
  const int far = std::numeric_limits<T>::max_exponent - 10;
  for (const int exponent : {far, -far}) {
    const EchelonForm<T> other =
        RowReduction<T>().reduce(scaled(a, static_cast<T>(std::ldexp(1.0, exponent))));
    ASSERT_EQ(other.report.status, Status::direct) << other.report.message;
    EXPECT_EQ(other.facts.rank, 20);
    if (exponent > 0) {  // below, digits may be lost
      EXPECT_EQ(other.R.to_vector(), form.R.to_vector());
    }
    EXPECT_NEAR(
        *other.facts.smallest_accepted_pivot / std::ldexp(*form.facts.smallest_accepted_pivot, exponent), 1,
        1e-3);
  }
}

TEST(GaussJordanReduce, Determinant_BeyondTheRangeOfADouble) {
  for (const double factor : {1e-250, 1.0, 1e250}) {
    const std::int64_t n = 60;
    const Dense<double> a = scaled(random_dense<double>(n, n, 9), factor);
    // Plain elimination with row exchanges, magnitudes as logarithms.
    std::vector<std::vector<long double>> table(60, std::vector<long double>(60));
    for (std::size_t i = 0; i < 60; ++i) {
      for (std::size_t j = 0; j < 60; ++j)
        table[i][j] = a(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j));
    }
    double logarithm = 0;
    int sign = 1;
    for (std::size_t k = 0; k < 60; ++k) {
      std::size_t p = k;
      for (std::size_t i = k; i < 60; ++i) {
        if (std::abs(table[i][k]) > std::abs(table[p][k])) p = i;
      }
      if (p != k) std::swap(table[p], table[k]), sign = -sign;
      if (table[k][k] < 0) sign = -sign;
      logarithm += static_cast<double>(std::log10(std::abs(table[k][k])));
      for (std::size_t i = k + 1; i < 60; ++i) {
        const long double factor_i = table[i][k] / table[k][k];
        for (std::size_t j = k; j < 60; ++j) table[i][j] -= factor_i * table[k][j];
      }
    }
    const Determinant determinant = *RowReduction<double>().reduce(a).determinant;
    EXPECT_EQ(determinant.sign, sign);
    EXPECT_NEAR(determinant.log10(), logarithm, 1e-9);
    EXPECT_GE(determinant.mantissa, 0.5);
    EXPECT_LT(determinant.mantissa, 1);
    if (factor > 1) {
      EXPECT_TRUE(std::isinf(determinant.value()));
    }
    if (factor < 1) {
      EXPECT_EQ(determinant.value(), 0);
    }
  }
  EXPECT_EQ(RowReduction<double>().reduce(zeros<double>(3, 3)).determinant->sign, 0);
  EXPECT_FALSE(RowReduction<double>().reduce(zeros<double>(3, 4)).determinant);
}

TEST(GaussJordanReduce, Tolerance_IsRelativeAndAnOption) {
  Dense<double> a = identity<double>(3);
  a(2, 2) = 1e-6;
  EXPECT_EQ(RowReduction<double>().reduce(a).facts.rank, 3);
  const RankFacts coarse = RowReduction<double>({}, {.tolerance = 1e-5}).reduce(a).facts;
  EXPECT_EQ(coarse.rank, 2);
  EXPECT_EQ(coarse.largest_rejected_pivot, 1e-6);
  EXPECT_EQ(coarse.tolerance, 1e-5);
  EXPECT_TRUE(coarse.doubtful);  // 1e-6 is near the tolerance
  a(2, 2) = 1e-30;
  EXPECT_EQ(RowReduction<double>().reduce(a).facts.rank, 3);  // after scaling
  EXPECT_EQ(RowReduction<double>({}, {.equilibrate = false}).reduce(a).facts.rank, 2);
  EXPECT_EQ(RowReduction<double>({}, {.tolerance = 0}).reduce(a).facts.rank, 3);
}

TEST(GaussJordanReduce, UnclearRank_IsDoubtful) {
  // With a tolerance of the caller, the default one, neither scaling nor exact arithmetic clear a doubt.
  const auto facts = [](const Dense<double>& a) {
    const double tolerance = 4 * std::sqrt(static_cast<double>(a.rows())) * unit<double>;
    return RowReduction<double>({}, {.tolerance = tolerance}).reduce(a).facts;
  };
  Dense<double> a = identity<double>(4);
  EXPECT_FALSE(facts(a).doubtful);
  a(3, 3) = 1e-14;  // a little above the tolerance
  EXPECT_EQ(facts(a).rank, 4);
  EXPECT_TRUE(facts(a).doubtful);
  a(3, 3) = 1e-16;  // a little below
  EXPECT_EQ(facts(a).rank, 3);
  EXPECT_FALSE(facts(a).doubtful);
  a(2, 2) = 5e-14;  // and neither far from the other
  EXPECT_TRUE(facts(a).doubtful);
  for (const std::int64_t n : {14, 20, 40}) EXPECT_TRUE(facts(hilbert<double>(n)).doubtful) << n;
  for (const std::int64_t n : {14, 20, 40}) EXPECT_TRUE(facts(lotkin<double>(n)).doubtful) << n;
  EXPECT_FALSE(facts(frank<double>(10)).doubtful);
  EXPECT_TRUE(facts(vandermonde<double>(30)).doubtful);
}

/// Every diagonal element, the pivot of plain elimination, is above 1e-4, and yet the matrix is 1e-18 away
/// from a singular one: the last column is very nearly a combination of the others. Its exact rank is full.
TEST(GaussJordanReduce, Kahan_IsNearlyRankDeficient) {
  const RankFacts numerical =
      RowReduction<double>({}, {.tolerance = 1e-14}).reduce(kahan<double>(110, 1.2)).facts;
  EXPECT_LT(numerical.rank, 110);
  EXPECT_TRUE(numerical.doubtful);
  const RankFacts exact = RowReduction<double>().reduce(kahan<double>(110, 1.2)).facts;
  EXPECT_EQ(exact.rank, 110);
  EXPECT_TRUE(exact.proven);
  EXPECT_FALSE(exact.doubtful);
  const RankFacts shorter = RowReduction<double>().reduce(kahan<double>(30, 1.2)).facts;
  EXPECT_EQ(shorter.rank, 30);
  EXPECT_FALSE(shorter.doubtful);
}

TEST(GaussJordanReduce, SparseMatrixAndView_AreReduced) {
  const Csr<double> sparse = shifted_cycle(33).csr<double>();
  EXPECT_EQ(RowReduction<double>().reduce(MatrixRef<double>(sparse)).facts.rank, 33);
  const std::vector<double> by_row = {1, 2, 3, 2, 4, 7};
  const DenseView<const double> view(by_row.data(), 2, 3, 3, Device(), Layout::row_major);
  const EchelonForm<double> form = RowReduction<double>().reduce(MatrixRef<double>(view));
  EXPECT_EQ(form.pivot_columns, (std::vector<std::int64_t>{0, 2}));
  EXPECT_EQ(form.R.to_vector(), (std::vector<double>{1, 0, 2, 0, 0, 1}));
}

TEST(GaussJordanReduce, NoGpu_Throws) {
  if (cuda_device_count() > 0) GTEST_SKIP() << "there is one";
  EXPECT_THROW(RowReduction<double>{Device::cuda()}, Error);
}

}  // namespace
}  // namespace echelon::test
