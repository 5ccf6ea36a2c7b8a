// SPDX-License-Identifier: BSD-3-Clause
// The method banded-lu.
#include "support/bands.hpp"
#include "support/problems.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace echelon {
namespace {

using namespace test;

const std::vector<Device> host_devices = {Device::serial(), Device::openmp(2), Device::openmp(5)};

template <class T>
BandMatrix<T> dominant_band(std::int64_t n, std::int64_t lower, std::int64_t upper, unsigned seed) {
  BandMatrix<T> A = random_band<T>(n, lower, upper, seed);
  for (std::int64_t i = 0; i < n; ++i) A.at(i, i) += static_cast<T>(std::abs(lower - upper) + 1);
  return A;
}

std::int64_t integer_of(const Report& report, std::string_view name) {
  const Statistic* statistic = report.find_statistic(name);
  return statistic == nullptr ? -1 : std::get<std::int64_t>(statistic->value);
}

std::vector<std::int64_t> list_of(const Report& report, std::string_view name) {
  const Statistic* statistic = report.find_statistic(name);
  return statistic == nullptr ? std::vector<std::int64_t>{}
                              : std::get<std::vector<std::int64_t>>(statistic->value);
}

template <class T>
class BandedLuOf : public testing::Test {
 protected:
  /// Backward error 1e-14 in double.
  static constexpr double passing = 45 * std::numeric_limits<T>::epsilon();

  static void expect_solved(BandMatrix<T>& A, const Device& device, const BandedLuOptions& options = {}) {
    SCOPED_TRACE("n " + std::to_string(A.n) + ", lower " + std::to_string(A.lower) + ", upper " +
                 std::to_string(A.upper) + " on " + device.name());
    const Csr<T> csr = A.csr();
    const Dense<T> B = random_dense<T>(A.n, 3, 99);
    Dense<T> X(Device(), A.n, 3);
    BandedLu<T> lu(device, options);
    ASSERT_TRUE(lu.factor(csr).ready());
    const Report report = lu.solve(B, X);
    EXPECT_EQ(report.status, Status::direct) << report.message;
    EXPECT_LT(backward_error(A, X, B), passing);
    EXPECT_EQ(report.columns.size(), 3U);
  }
};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(BandedLuOf, Reals);

TYPED_TEST(BandedLuOf, Bands_HaveASmallBackwardError) {
  using T = TypeParam;
  for (const Device& device : host_devices) {
    for (const std::int64_t lower : {0, 1, 2, 7}) {
      for (const std::int64_t upper : {0, 1, 2, 11}) {
        for (const std::int64_t n : {1, 2, 33, 700}) {
          BandMatrix<T> A = dominant_band<T>(n, std::min(lower, n - 1), std::min(upper, n - 1), 3);
          this->expect_solved(A, device);
        }
      }
    }
  }
}

TYPED_TEST(BandedLuOf, Report_HasTheBand) {
  using T = TypeParam;
  BandMatrix<T> A = dominant_band<T>(2000, 2, 5, 3);
  const Csr<T> csr = A.csr();
  BandedLu<T> lu(Device::serial(), {.partitions = 6});
  const Report report = lu.factor(csr);
  EXPECT_EQ(integer_of(report, "lower_bandwidth"), 2);
  EXPECT_EQ(integer_of(report, "upper_bandwidth"), 5);
  EXPECT_EQ(integer_of(report, "partitions"), 6);
  EXPECT_EQ(integer_of(report, "levels"), 3);
  const Statistic* growth = report.find_statistic("pivot_growth");
  ASSERT_NE(growth, nullptr);
  EXPECT_GT(std::get<double>(growth->value), 0.1);
  EXPECT_LT(std::get<double>(growth->value), 10);
  EXPECT_GT(report.bytes, 2000 * 7 * sizeof(T));
}

TYPED_TEST(BandedLuOf, Condition_LikeLapack) {
  using T = TypeParam;
  for (const std::int64_t partitions : {1, 2, 5}) {
    for (const std::int64_t k : {1, 2, 6}) {
      BandMatrix<T> A = random_band<T>(250, k, k, 8);
      const Csr<T> csr = A.csr();
      BandedLu<T> lu(Device::serial(), {.partitions = partitions});
      LapackLu<T> lapack(Device::serial());
      const Report report = lu.factor(csr);
      const Report expected = lapack.factor(csr);
      ASSERT_TRUE(report.reciprocal_condition && expected.reciprocal_condition);
      const double ratio = *report.reciprocal_condition / *expected.reciprocal_condition;
      EXPECT_GT(ratio, 0.05);
      EXPECT_LT(ratio, 20);
    }
  }
}

/// ||A||_1 = 4 and ||A^-1||_1 = (n + 1)^2 / 8 for odd n.
TYPED_TEST(BandedLuOf, Condition_OfTheLaplacian) {
  using T = TypeParam;
  BandMatrix<T> A(99, 1, 1);
  A.for_each([](std::int64_t i, std::int64_t j, T& element) { element = i == j ? T{2} : T{-1}; });
  const Csr<T> csr = A.csr();
  for (const std::int64_t partitions : {1, 2, 7}) {
    BandedLu<T> lu(Device::serial(), {.partitions = partitions});
    const Report report = lu.factor(csr);
    EXPECT_EQ(report.condition_kind, ConditionKind::factored);
    EXPECT_GT(*report.reciprocal_condition, 2e-4 * (1 - 1e-3));
    EXPECT_LT(*report.reciprocal_condition, 6e-4);
  }
}

TYPED_TEST(BandedLuOf, GradedRowsAndColumns_AreScaled) {
  using T = TypeParam;
  const double exponent = std::is_same_v<T, double> ? 150 : 15;
  std::mt19937 random(6);
  std::uniform_real_distribution<double> power(-exponent, exponent);
  for (const bool rows : {true, false}) {
    BandMatrix<T> A = random_band<T>(400, 2, 3, 8);
    for (std::int64_t i = 0; i < A.n; ++i) A.at(i, i) += 8;
    std::vector<T> scale(400);
    for (T& s : scale) s = static_cast<T>(std::pow(10.0, power(random)));
    A.for_each([&](std::int64_t i, std::int64_t j, T& element) {
      element *= scale[static_cast<std::size_t>(rows ? i : j)];
    });
    const Csr<T> csr = A.csr();
    std::vector<T> ones(400, 1);
    Dense<T> b(Device(), 400, 1);
    std::fill_n(b.data(), 400, T{0});
    A.for_each([&](std::int64_t i, std::int64_t j, T element) {
      b[i] += rows ? element : element / scale[static_cast<std::size_t>(j)];
    });
    Dense<T> x(Device(), 400, 1);
    BandedLu<T> lu;
    const Report setup = lu.factor(csr);
    EXPECT_TRUE(setup.ready()) << setup.message;
    EXPECT_GT(*setup.reciprocal_condition, 1e-4);
    EXPECT_EQ(lu.solve(b, x).status, Status::direct);
    for (std::int64_t i = 0; i < 400; ++i) {
      const T expected = rows ? T{1} : 1 / scale[static_cast<std::size_t>(i)];
      EXPECT_NEAR(x[i] / expected, 1, 100 * std::numeric_limits<T>::epsilon());
    }
  }
}

TYPED_TEST(BandedLuOf, DependentColumn_IsNamed) {
  using T = TypeParam;
  for (const Device& device : host_devices) {
    BandMatrix<T> A = dominant_band<T>(300, 2, 2, 8);
    for (std::int64_t i = 148; i <= 153; ++i) {
      const T twice = i <= 152 ? 2 * A.at(i, 150) : T{0};
      if (i >= 149) A.at(i, 151) = twice;
    }
    A.at(148, 150) = 0;
    const Csr<T> csr = A.csr();
    BandedLu<T> lu(device);
    const Report report = lu.factor(csr);
    EXPECT_EQ(report.status, Status::singular);
    EXPECT_EQ(report.rank, 299) << report.message;
    EXPECT_EQ(list_of(report, "dependent_columns"), std::vector<std::int64_t>{151});
    EXPECT_EQ(list_of(report, "dependent_rows").size(), 1U);
    EXPECT_NE(report.message.find("151"), std::string::npos) << report.message;
  }
}

TYPED_TEST(BandedLuOf, SeveralDependentRows_AreCounted) {
  using T = TypeParam;
  BandMatrix<T> A = dominant_band<T>(200, 1, 1, 8);
  for (const std::int64_t row : {20, 90, 91, 150}) {
    for (std::int64_t j = row - 1; j <= row + 1; ++j) A.at(row, j) = 0;
  }
  // An explicit zero on the diagonal keeps the row in the pattern.
  const Csr<T> csr = A.csr();
  BandedLu<T> lu;
  const Report report = lu.factor(csr);
  EXPECT_EQ(report.status, Status::singular);
  EXPECT_EQ(report.rank, 196);
  EXPECT_EQ(list_of(report, "dependent_rows"), (std::vector<std::int64_t>{20, 90, 91, 150}));
  EXPECT_FALSE(report.row);
}

/// Sums of elements in the rows of A: A x = b has the solution of ones.
template <class T>
Dense<T> row_sums(BandMatrix<T>& A) {
  Dense<T> b(Device(), A.n, 1);
  std::fill_n(b.data(), A.n, T{0});
  A.for_each([&](std::int64_t i, std::int64_t, T element) { b[i] += element; });
  return b;
}

TYPED_TEST(BandedLuOf, SingularMatrix_ConsistentSystemIsSolved) {
  using T = TypeParam;
  for (const std::int64_t k : {1, 4, 12}) {
    BandMatrix<T> A = dominant_band<T>(200, k, k, 8);
    for (std::int64_t i = 0; i < A.n; ++i) A.at(i, i) += static_cast<T>(2 * k);
    for (const std::int64_t row : {20, 90, 94, 150}) {
      for (std::int64_t j = row - k; j <= row + k; ++j) A.at(row, j) = 0;
    }
    const Csr<T> csr = A.csr();
    const Dense<T> consistent = row_sums(A);
    Dense<T> inconsistent = consistent;
    inconsistent[90] += 1;
    for (const Device& device : host_devices) {
      for (const BandOrdering ordering : {BandOrdering::natural, BandOrdering::rcm}) {
        BandedLu<T> lu(device, {.ordering = ordering});
        const Report setup = lu.factor(csr);
        ASSERT_EQ(setup.rank, 196) << setup.message;
        ASSERT_EQ(list_of(setup, "dependent_columns").size(), 4U);
        Dense<T> x(Device(), 200, 1);
        const Report solved = lu.solve(consistent, x);
        EXPECT_EQ(solved.status, Status::underdetermined) << solved.message;
        EXPECT_LT(backward_error(A, x, consistent), this->passing);
        EXPECT_EQ(std::count(x.data(), x.data() + 200, T{0}), 4);
        EXPECT_EQ(lu.solve(inconsistent, x).status, Status::inconsistent);
      }
    }
  }
}

TYPED_TEST(BandedLuOf, SingularMatrix_OfExtremeShape) {
  using T = TypeParam;
  const auto expect = [](BandMatrix<T> A, std::int64_t rank) {
    const Csr<T> csr = A.csr();
    BandedLu<T> lu;
    EXPECT_EQ(lu.factor(csr).rank, rank);
    const Dense<T> b = row_sums(A);
    Dense<T> x(Device(), A.n, 1);
    EXPECT_EQ(lu.solve(b, x).status, Status::underdetermined);
    EXPECT_LT(backward_error(A, x, b), 45 * std::numeric_limits<T>::epsilon());
  };
  BandMatrix<T> shift(1025, 0, 1);  // dependent: the first column, the last row
  for (std::int64_t i = 0; i + 1 < shift.n; ++i) shift.at(i, i + 1) = 1;
  expect(shift, 1024);
  if (std::is_same_v<T, float>) return;
  BandMatrix<T> scaled = dominant_band<T>(300, 2, 2, 8);
  for (std::int64_t j = 148; j <= 152; ++j) scaled.at(150, j) = 0;
  scaled.for_each([](std::int64_t i, std::int64_t j, T& element) {
    element *= static_cast<T>(std::pow(10.0, static_cast<double>(i * 7 % 5 + j * 5 % 7 - 5)));
  });
  expect(scaled, 299);
}

TYPED_TEST(BandedLuOf, SingularMatrix_AfterUpdateIsRegular) {
  using T = TypeParam;
  BandMatrix<T> A = dominant_band<T>(200, 2, 2, 8);
  BandMatrix<T> zero_row = A;
  for (std::int64_t j = 98; j <= 102; ++j) zero_row.at(100, j) = 0;
  const Csr<T> singular = zero_row.csr();
  const Csr<T> regular = A.csr();
  const Dense<T> b = random_dense<T>(200, 1, 1);
  Dense<T> x(Device(), 200, 1);
  BandedLu<T> lu;
  EXPECT_EQ(lu.factor(singular).status, Status::singular);
  EXPECT_EQ(lu.solve(b, x).status, Status::inconsistent);
  EXPECT_TRUE(lu.update_values(regular).ready());
  EXPECT_EQ(lu.solve(b, x).status, Status::direct);
  EXPECT_LT(backward_error(A, x, b), this->passing);
}

TYPED_TEST(BandedLuOf, NeumannLaplacian_IsSingularToWorkingPrecision) {
  using T = TypeParam;
  for (const Device& device : host_devices) {
    BandMatrix<T> A(100, 1, 1);
    A.for_each([](std::int64_t i, std::int64_t j, T& element) { element = i == j ? T{2} : T{-1}; });
    A.at(0, 0) = A.at(99, 99) = 1;
    const Csr<T> csr = A.csr();
    BandedLu<T> lu(device);
    const Report report = lu.factor(csr);
    EXPECT_EQ(report.status, Status::singular);
    EXPECT_EQ(report.rank, 99);
    EXPECT_EQ(list_of(report, "dependent_columns"), std::vector<std::int64_t>{99});
    Dense<T> b(Device(), 100, 1);
    std::fill_n(b.data(), 100, T{0});
    b[0] = 1;
    Dense<T> x(Device(), 100, 1);
    EXPECT_EQ(lu.solve(b, x).status, Status::inconsistent);
    b[99] = -1;
    EXPECT_EQ(lu.solve(b, x).status, Status::underdetermined);
    for (std::int64_t i = 0; i < 99; ++i)
      EXPECT_NEAR(x[i] - x[i + 1], T{1}, 1e3 * std::numeric_limits<T>::epsilon());
  }
}

TYPED_TEST(BandedLuOf, Growth_IsOvercome) {
  using T = TypeParam;
  const std::int64_t k = std::is_same_v<T, double> ? 60 : 30;
  const std::int64_t n = 10 * (k + 1);
  BandMatrix<T> A = growing_band<T>(n, k);
  const Csr<T> csr = A.csr();
  const Dense<T> b = random_dense<T>(n, 1, 2);
  Dense<T> x(Device(), n, 1);
  BandedLu<T> lu(Device::serial());
  const Report setup = lu.factor(csr);
  ASSERT_TRUE(setup.ready()) << setup.message;
  EXPECT_FALSE(setup.warnings.empty());
  EXPECT_EQ(lu.solve(b, x).status, Status::direct);
  EXPECT_LT(backward_error(A, x, b), this->passing);
}

TYPED_TEST(BandedLuOf, NaNs_AreFound) {
  using T = TypeParam;
  BandMatrix<T> A = dominant_band<T>(40, 1, 2, 1);
  Dense<T> x(Device(), 40, 2);
  Dense<T> b = random_dense<T>(40, 2, 1);
  b(7, 1) = std::numeric_limits<T>::quiet_NaN();
  Csr<T> csr = A.csr();
  BandedLu<T> lu;
  EXPECT_TRUE(lu.factor(csr).ready());
  Report report = lu.solve(b, x);
  EXPECT_EQ(report.status, Status::not_a_number);
  EXPECT_EQ(report.row, 7);
  csr.values()[0] = std::numeric_limits<T>::infinity();
  report = lu.update_values(csr);
  EXPECT_EQ(report.status, Status::not_a_number);
  EXPECT_EQ(report.row, 0);
}

TYPED_TEST(BandedLuOf, Shapes_AreHandled) {
  using T = TypeParam;
  BandedLu<T> lu;
  const Csr<T> none;
  EXPECT_TRUE(lu.factor(none).ready());
  Dense<T> nothing(Device(), 0, 2);
  EXPECT_EQ(lu.solve(Dense<T>(Device(), 0, 2), nothing).status, Status::direct);
  const Csr<T> one = Csr<T>::from_triplets(1, 1, {{0, 0, T{4}}});
  EXPECT_TRUE(lu.factor(one).ready());
  Dense<T> x(Device(), 1, 1);
  const Dense<T> b(Device(), std::span<const T>(std::vector<T>{8}));
  EXPECT_EQ(lu.solve(b, x).status, Status::direct);
  EXPECT_EQ(x[0], 2);
  const Csr<T> zero = Csr<T>::from_triplets(1, 1, {{0, 0, T{0}}});
  EXPECT_EQ(lu.factor(zero).status, Status::singular);
  const Csr<T> wide = Csr<T>::from_triplets(2, 3, {{0, 0, T{1}}});
  EXPECT_THROW(lu.factor(wide), DimensionMismatch);
  BandMatrix<T> A = dominant_band<T>(50, 3, 1, 1);
  const Dense<T> dense = to_dense<T>(A.csr());
  EXPECT_TRUE(lu.factor(dense).ready());
}

/// The far elements are stored zeros: they do not widen the band.
TYPED_TEST(BandedLuOf, StoredZeros_DoNotWidenTheBand) {
  using T = TypeParam;
  std::vector<Triplet<T>> elements = {{0, 99, T{0}}, {99, 0, T{0}}};
  for (std::int32_t i = 0; i < 100; ++i) elements.push_back({i, i, T{3}});
  const Csr<T> csr = Csr<T>::from_triplets(100, 100, elements);
  BandedLu<T> lu;
  const Report report = lu.factor(csr);
  EXPECT_TRUE(report.ready());
  EXPECT_EQ(integer_of(report, "lower_bandwidth"), 0);
  EXPECT_EQ(integer_of(report, "upper_bandwidth"), 0);
}

TYPED_TEST(BandedLuOf, UpdateValues_FindsTheBandAgain) {
  using T = TypeParam;
  BandMatrix<T> A = dominant_band<T>(300, 4, 3, 5);
  Csr<T> csr = A.csr();
  for (std::int64_t i = 0; i < 300; ++i) {
    for (std::int64_t e = csr.row_offsets()[i]; e < csr.row_offsets()[i + 1]; ++e) {
      if (std::abs(csr.column_indices()[e] - i) > 1) csr.values()[e] = 0;
    }
  }
  BandedLu<T> lu;
  EXPECT_EQ(integer_of(lu.factor(csr), "lower_bandwidth"), 1);
  const Csr<T> full = A.csr();
  const Report report = lu.update_values(full);
  EXPECT_EQ(integer_of(report, "lower_bandwidth"), 4);
  EXPECT_EQ(integer_of(report, "upper_bandwidth"), 3);
  const Dense<T> b = random_dense<T>(300, 1, 5);
  Dense<T> x(Device(), 300, 1);
  EXPECT_EQ(lu.solve(b, x).status, Status::direct);
  EXPECT_LT(backward_error(A, x, b), this->passing);
}

TYPED_TEST(BandedLuOf, ManyColumns_InEveryLayout) {
  using T = TypeParam;
  const std::int64_t n = 150;
  const std::int64_t columns = 35;
  BandMatrix<T> A = dominant_band<T>(n, 4, 3, 5);
  const Csr<T> csr = A.csr();
  BandedLu<T> lu;
  lu.factor(csr);
  const Dense<T> b = random_dense<T>(n, columns, 5);
  Dense<T> x(Device(), n, columns);
  EXPECT_EQ(lu.solve(b, x).status, Status::direct);
  Dense<T> by_rows_b(Device(), columns, n);
  Dense<T> by_rows_x(Device(), columns, n);
  for (std::int64_t e = 0; e < n * columns; ++e)
    by_rows_b(e % columns, e / columns) = b(e / columns, e % columns);
  EXPECT_EQ(lu.solve(DenseView<const T>(by_rows_b.data(), n, columns, columns, {}, Layout::row_major),
                     DenseView<T>(by_rows_x.data(), n, columns, columns, {}, Layout::row_major))
                .status,
            Status::direct);
  for (std::int64_t e = 0; e < n * columns; ++e) {
    ASSERT_EQ(by_rows_x(e % columns, e / columns), x(e / columns, e % columns));
  }
  EXPECT_LT(backward_error(A, x, b), this->passing);
}

TYPED_TEST(BandedLuOf, GivenPartitions_HaveTheSameBitsForAnyThreads) {
  using T = TypeParam;
  BandMatrix<T> A = random_band<T>(900, 3, 3, 5);
  const Csr<T> csr = A.csr();
  const Dense<T> b = random_dense<T>(900, 2, 5);
  for (const std::int64_t partitions : {1, 2, 3, 7}) {
    Dense<T> expected(Device(), 900, 2);
    for (const Device& device : host_devices) {
      Dense<T> x(Device(), 900, 2);
      BandedLu<T> lu(device, {.partitions = partitions});
      lu.factor(csr);
      EXPECT_EQ(lu.solve(b, x).status, Status::direct);
      if (device == host_devices.front()) expected = x;
      for (std::int64_t e = 0; e < 1800; ++e) ASSERT_EQ(x[e], expected[e]);
    }
  }
}

TYPED_TEST(BandedLuOf, UpToThreeThreads_HaveTheBitsOfSerial) {
  using T = TypeParam;
  for (const std::int64_t k : {0, 1, 2, 3, 8, 32}) {
    BandMatrix<T> A = dominant_band<T>(2000, k, k, 5);
    const Csr<T> csr = A.csr();
    const Dense<T> b = random_dense<T>(2000, 2, 5);
    Dense<T> expected(Device(), 2000, 2);
    for (const Device& device : {Device::serial(), Device::openmp(1), Device::openmp(2), Device::openmp(3)}) {
      Dense<T> x(Device(), 2000, 2);
      BandedLu<T> lu(device);
      lu.factor(csr);
      EXPECT_EQ(lu.solve(b, x).status, Status::direct);
      if (device == Device::serial()) expected = x;
      for (std::int64_t e = 0; e < 4000; ++e) ASSERT_EQ(x[e], expected[e]) << device.name();
    }
  }
}

TYPED_TEST(BandedLuOf, Preconditioner_SolvesInOneStep) {
  using T = TypeParam;
  const Problem problem = convection_diffusion(12, 0.4);
  const Csr<T> a = problem.csr<T>();
  const Dense<T> b = random_dense<T>(problem.n, 1, 1);
  Dense<T> x(Device(), problem.n, 1);
  Gmres<T> gmres({}, {.preconditioner = "banded-lu"});
  gmres.setup(a);
  const Report report = gmres.solve(b, x);
  EXPECT_EQ(report.status, Status::converged);
  EXPECT_EQ(report.iterations, 1);
}

TYPED_TEST(BandedLuOf, SeveralThreads_SolveAtOnce) {
  using T = TypeParam;
  BandMatrix<T> A = dominant_band<T>(300, 3, 3, 5);
  const Csr<T> csr = A.csr();
  BandedLu<T> lu(Device::openmp(2));
  lu.factor(csr);
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const Dense<T> b = random_dense<T>(300, 2, t);
      Dense<T> x(Device(), 300, 2);
      BandMatrix<T> own = A;
      if (!lu.solve(b, x).solved() || !(backward_error(own, x, b) < this->passing)) ++failures;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

/// A band whose rows and columns were shuffled.
TYPED_TEST(BandedLuOf, ShuffledBand_IsFoundAgain) {
  using T = TypeParam;
  const std::int64_t n = 3000;
  BandMatrix<T> A = dominant_band<T>(n, 3, 3, 5);
  std::vector<std::int32_t> place(static_cast<std::size_t>(n));
  for (std::int32_t i = 0; i < n; ++i) place[static_cast<std::size_t>(i)] = i;
  std::shuffle(place.begin(), place.end(), std::mt19937(3));
  std::vector<Triplet<T>> elements;
  A.for_each([&](std::int64_t i, std::int64_t j, T value) {
    elements.push_back({place[static_cast<std::size_t>(i)], place[static_cast<std::size_t>(j)], value});
  });
  const Csr<T> csr = Csr<T>::from_triplets(n, n, elements);
  for (const Device& device : host_devices) {
    const Dense<T> b = random_dense<T>(n, 11, 5);
    Dense<T> x(Device(), n, 11);
    BandedLu<T> lu(device);
    const Report setup = lu.factor(csr);
    EXPECT_EQ(std::get<std::string>(setup.find_statistic("ordering")->value), "rcm");
    EXPECT_LE(integer_of(setup, "lower_bandwidth"), 12);
    EXPECT_EQ(lu.solve(b, x).status, Status::direct);
    EXPECT_TRUE(lu.update_values(csr).ready());
    const Report report = lu.solve(b, x);
    EXPECT_EQ(report.status, Status::direct);
    EXPECT_LT(report.backward_error, this->passing);
  }
}

/// The ends of a shuffled path are far apart; the natural numbering keeps it so.
TYPED_TEST(BandedLuOf, Ordering_IsAsAskedFor) {
  using T = TypeParam;
  const std::int32_t n = 300;
  std::vector<Triplet<T>> elements;
  for (std::int32_t i = 0; i < n; ++i) {
    elements.push_back({i * 7 % n, i * 7 % n, T{4}});
    if (i + 1 < n) elements.push_back({i * 7 % n, (i + 1) * 7 % n, T{1}});
  }
  const Csr<T> csr = Csr<T>::from_triplets(n, n, elements);
  for (const auto& [ordering, word] : words_of(BandOrdering{})) {
    BandedLu<T> lu(Device::serial(), {.ordering = ordering});
    const Report report = lu.factor(csr);
    ASSERT_TRUE(report.ready()) << report.message;
    const bool natural = ordering == BandOrdering::natural;
    EXPECT_EQ(std::get<std::string>(report.find_statistic("ordering")->value), natural ? "natural" : "rcm");
    EXPECT_EQ(integer_of(report, "natural_lower_bandwidth"), 293);
    EXPECT_EQ(integer_of(report, "natural_upper_bandwidth"), 7);
    EXPECT_EQ(integer_of(report, "lower_bandwidth"), natural ? 293 : 0) << word;
    EXPECT_EQ(integer_of(report, "upper_bandwidth"), natural ? 7 : 1) << word;
  }
}

/// A star has no narrow band: the numbering stays.
TYPED_TEST(BandedLuOf, Ordering_KeepsTheNaturalOneWhereNothingIsGained) {
  using T = TypeParam;
  const std::int32_t n = 300;
  std::vector<Triplet<T>> elements;
  for (std::int32_t i = 0; i < n; ++i) {
    elements.push_back({i, i, T{9}});
    if (i != 150) elements.push_back({150, i, T{1} / n});
    if (i != 150) elements.push_back({i, 150, T{1} / n});
  }
  const Csr<T> csr = Csr<T>::from_triplets(n, n, elements);
  BandedLu<T> lu;
  const Report report = lu.factor(csr);
  EXPECT_EQ(std::get<std::string>(report.find_statistic("ordering")->value), "natural");
  EXPECT_EQ(integer_of(report, "lower_bandwidth"), 150);
  EXPECT_EQ(integer_of(report, "upper_bandwidth"), 150);
}

TYPED_TEST(BandedLuOf, SingularShuffledBand_NamesRowsOfTheMatrix) {
  using T = TypeParam;
  const std::int32_t n = 500;
  std::vector<Triplet<T>> elements;
  for (std::int32_t i = 0; i < n; ++i) {
    const std::int32_t row = i * 7 % n;
    const std::int32_t next = (i + 1) * 7 % n;
    if (i != 100) elements.push_back({row, row, T{4}});
    if (i + 1 < n && i != 100) elements.push_back({row, next, T{1}});
    if (i + 1 < n && i + 1 != 100) elements.push_back({next, row, T{1}});
  }
  const Csr<T> csr = Csr<T>::from_triplets(n, n, elements);
  BandedLu<T> lu(Device::serial(), {.ordering = BandOrdering::rcm});
  const Report report = lu.factor(csr);
  EXPECT_EQ(report.status, Status::singular);
  EXPECT_EQ(list_of(report, "dependent_rows"), std::vector<std::int64_t>{200});
}

TEST(BandedLu, WideBand_IsRefused) {
  const std::int32_t n = 20000;
  std::vector<Triplet<double>> elements = {{0, n - 1, 1.0}, {n - 1, 0, 1.0}};
  for (std::int32_t i = 0; i < n; ++i) elements.push_back({i, i, 3.0});
  const Csr<double> arrow = Csr<double>::from_triplets(n, n, elements);
  BandedLu<double> lu(Device::serial(), {.ordering = BandOrdering::natural});
  const Report report = lu.factor(arrow);
  EXPECT_EQ(report.status, Status::breakdown);
  EXPECT_NE(report.message.find("use lu"), std::string::npos) << report.message;
}

TEST(BandedLu, MoreThanTheMemory_IsRefusedBeforeWork) {
  const std::int32_t n = 2000000;
  const std::int32_t far = 100000;
  std::vector<Triplet<float>> elements = {{0, far, 1.0F}, {n - 1, n - 1 - far, 1.0F}};
  for (std::int32_t i = 0; i < n; ++i) elements.push_back({i, i, 3.0F});
  const Csr<float> A = Csr<float>::from_triplets(n, n, elements);
  BandedLu<float> lu(Device::serial(), {.ordering = BandOrdering::natural});
  const Report report = lu.factor(A);
  EXPECT_EQ(report.status, Status::out_of_memory) << report.message;
  // n (2 kl + ku + 1) elements of the factors, n (kl + ku + 1) of the band
  EXPECT_NE(report.message.find("banded-lu needs 3.6 TiB, and serial has "), std::string::npos)
      << report.message;
}

}  // namespace
}  // namespace echelon
