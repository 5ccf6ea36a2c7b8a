// SPDX-License-Identifier: BSD-3-Clause
// The choice of banded-lu for band matrices whose rows and columns are numbered at random.
#include "solver/band_prediction.hpp"
#include "solver/selection/structure/sparse_structure.hpp"
#include "support/bands.hpp"
#include "support/problems.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

std::vector<std::int32_t> random_order(std::int64_t n) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(3));
  return order;
}

BandPrediction predicted(const Csr<double>& A, const Device& device) {
  const SparseRowSummary rows = summarize_rows(A);
  return predict_band(
      A, predict_band(A.rows(), rows.lower_bandwidth, rows.upper_bandwidth, sizeof(double), device), device);
}

template <class T>
Csr<T> shuffled(const Csr<T>& A) {
  const std::vector<std::int32_t> order = random_order(A.rows());
  return permute_symmetric(A, Array<std::int32_t>(Device(), std::span<const std::int32_t>(order)));
}

/// Random bands with a diagonal of at least 2, one after the other, without entries between two of them.
template <class T>
Csr<T> bands(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& widths) {
  std::vector<Triplet<T>> elements;
  std::int32_t first = 0;
  for (std::size_t b = 0; b < sizes.size(); ++b) {
    BandMatrix<T> A = random_band<T>(sizes[b], widths[b], widths[b], 5);
    A.for_each([&](std::int64_t i, std::int64_t j, T value) {
      elements.push_back({first + static_cast<std::int32_t>(i), first + static_cast<std::int32_t>(j),
                          i == j ? value + 3 : value});
    });
    first += static_cast<std::int32_t>(sizes[b]);
  }
  return Csr<T>::from_triplets(first, first, elements);
}

/// `auto` takes banded-lu with half-bandwidths of at most `width`, and x, whose elements are 1, is right.
template <class T>
void expect_found(const Csr<T>& A, std::int64_t width) {
  SCOPED_TRACE("n " + std::to_string(A.rows()) + ", half-width " + std::to_string(width));
  const std::vector<T> ones(static_cast<std::size_t>(A.rows()), 1);
  std::vector<T> b(ones.size());
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t e = A.row_offsets()[i]; e < A.row_offsets()[i + 1]; ++e) b[i] += A.values()[e];
  }
  SolveOptions options;
  options.device = Device::serial();
  const Solution<T> solution = solve<T>(A, b, options);
  const Report& report = solution.report;
  EXPECT_EQ(report.method, "banded-lu (ordering=rcm)");
  EXPECT_EQ(report.status, Status::direct) << report.message;
  ASSERT_NE(report.find_statistic("upper_bandwidth"), nullptr);
  EXPECT_LE(std::get<std::int64_t>(report.find_statistic("lower_bandwidth")->value), width);
  EXPECT_LE(std::get<std::int64_t>(report.find_statistic("upper_bandwidth")->value), width);
  EXPECT_GT(std::get<std::int64_t>(report.find_statistic("natural_upper_bandwidth")->value), width);
  const double tolerance =
      100 * static_cast<double>(std::numeric_limits<T>::epsilon()) / report.reciprocal_condition.value();
  for (std::int64_t i = 0; i < A.rows(); ++i) EXPECT_NEAR(solution.x[i], 1, tolerance);
}

template <class T>
class HiddenBandOf : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(HiddenBandOf, Reals);

TYPED_TEST(HiddenBandOf, Tridiagonal_IsFound) {
  expect_found(shuffled(bands<TypeParam>({3001}, {1})), 1);
}

TYPED_TEST(HiddenBandOf, Bands_AreFound) {
  expect_found(shuffled(bands<TypeParam>({4000}, {2})), 4);
  expect_found(shuffled(bands<TypeParam>({6000}, {8})), 16);
}

TYPED_TEST(HiddenBandOf, SeveralComponents_AreFound) {
  expect_found(shuffled(bands<TypeParam>({1, 700, 33, 1, 2, 1500, 400}, {0, 1, 3, 0, 1, 2, 1})), 6);
}

TYPED_TEST(HiddenBandOf, UnsymmetricPattern_IsFound) {
  using T = TypeParam;
  std::vector<Triplet<T>> elements;
  for (std::int32_t i = 0; i < 5000; ++i) {
    elements.push_back({i, i, T{3}});
    if (i + 2 < 5000) elements.push_back({i, i + 2, T{1}});
    if (i > 0) elements.push_back({i, i - 1, T{-1}});
  }
  expect_found(shuffled(Csr<T>::from_triplets(5000, 5000, elements)), 4);
}

std::string first_method(const Csr<double>& A) {
  return choose<double>(A, Device::serial()).front().method;
}

TEST(HiddenBand, NaturalBand_IsNotRenumbered) {
  const std::vector<Candidate> list = choose<double>(bands<double>({3000}, {2}), Device::serial());
  EXPECT_EQ(list.front().method, "banded-lu");
  EXPECT_TRUE(list.front().parameters.empty());
}

TEST(HiddenBand, Reason_HasTheHalfBandwidths) {
  const std::string reason =
      choose<double>(shuffled(path(4000).csr<double>()), Device::serial()).front().reason;
  EXPECT_NE(reason.find("half-bandwidths 1 and 1 after a reverse Cuthill-McKee"), std::string::npos)
      << reason;
}

TEST(HiddenBand, GridsAndRandomPatterns_HaveNone) {
  EXPECT_NE(first_method(shuffled(convection_diffusion(150, 0.3).csr<double>())), "banded-lu");
  std::vector<Triplet<double>> elements;
  std::mt19937 random(1);
  std::uniform_int_distribution<std::int32_t> row(0, 1999);
  for (std::int32_t i = 0; i < 2000; ++i) {
    elements.push_back({i, i, 9});
    for (int e = 0; e < 4; ++e) elements.push_back({i, row(random), 1});
  }
  const Csr<double> A = Csr<double>::from_triplets(2000, 2000, elements);
  EXPECT_NE(first_method(A), "banded-lu");
  EXPECT_FALSE(predicted(A, Device()).renumbered);
}

/// The prediction for a GPU does not need one.
TEST(HiddenBand, OnAGpu_FoundWhereNumberingPays) {
  for (const std::int64_t width : {1, 4, 16}) {
    const Csr<double> A = shuffled(bands<double>({30'000}, {width}));
    const BandPrediction band = predicted(A, Device::cuda());
    EXPECT_TRUE(band.renumbered) << width;
    EXPECT_LE(std::max(band.lower, band.upper), 2 * width);
    const auto entries = static_cast<double>(A.rows() + A.nonzeros());
    EXPECT_LE(band.seconds, least_sparse_seconds(entries, Device::cuda(), true)) << width;
  }
  EXPECT_FALSE(predicted(bands<double>({30'000}, {2}), Device::cuda()).renumbered);
  EXPECT_FALSE(predicted(shuffled(bands<double>({1000}, {1})), Device::cuda()).renumbered);
  const Csr<double> grid = shuffled(convection_diffusion(150, 0.3).csr<double>());
  EXPECT_FALSE(predicted(grid, Device::cuda()).renumbered);
}

/// The rows sum to zero: x is found up to a constant.
TEST(HiddenBand, SingularButConsistent_IsSolved) {
  const std::int32_t n = 3000;
  std::vector<Triplet<double>> elements;
  for (std::int32_t i = 0; i < n; ++i) {
    elements.push_back({i, i, i == 0 || i == n - 1 ? 1.0 : 2.0});
    if (i > 0) elements.push_back({i, i - 1, -1});
    if (i + 1 < n) elements.push_back({i, i + 1, -1});
  }
  const Csr<double> A = shuffled(Csr<double>::from_triplets(n, n, elements));
  const Solution<double> solution = solve<double>(A, std::vector<double>(n, 0.0));
  EXPECT_TRUE(solution.report.solved()) << solution.report;
  const Solution<double> inconsistent = solve<double>(A, std::vector<double>(n, 1.0));
  EXPECT_FALSE(inconsistent.report.solved()) << inconsistent.report;
}

}  // namespace
}  // namespace echelon::test
