// SPDX-License-Identifier: BSD-3-Clause
/// The kernels of LU on a GPU, with panels divided in several ways, compared with the factorisation and the
/// solves of the host.
#include "backend/host/host.hpp"
#include "dense/lu/factorization.hpp"
#include "dense/lu/workspace.cuh"
#include "gpu/gpu_fixture.hpp"
#include "support/dense/gauss_jordan.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

template <class T>
class GpuFactorizationOf : public GpuTest {
 protected:
  struct Factors {
    Dense<T> matrix;
    std::vector<std::int64_t> pivots;
    lu::LuResult result;
  };

  template <class B>
  static Factors factor(const Device& device, lu::FactorWorkspace<B, T>& workspace, const Dense<T>& a) {
    B backend(device);
    Dense<T> matrix = a.to(device);
    Array<std::int64_t> pivots(device, std::min(a.rows(), a.columns()));
    const lu::LuResult result = lu::factor<T>(backend, workspace, matrix.view(), pivots.data(), {});
    return {matrix.to(Device()), pivots.to_vector(), result};
  }
  static Factors on_host(const Dense<T>& a) {
    lu::FactorWorkspace<Host, T> workspace{Device::serial()};
    return factor<Host>(Device::serial(), workspace, a);
  }
  struct Sections {
    Factors factors;
    SectionCounts counts;
  };
  /// Factors whose columns were found in iterated sections.
  Sections in_sections(const Dense<T>& a, const lu::Tuning& tuning = {}) const {
    Cuda backend(gpu);
    lu::FactorWorkspace<Cuda, T> workspace(gpu);
    workspace.tuning = tuning;
    Array<T> square(gpu, section_square_size);
    Array<int> votes(gpu, section_votes);
    Array<SectionCounts> counts(gpu, 1);
    backend.write(SectionCounts{}, counts.data());
    const SectionIteration<T> iteration{0, square.data(), votes.data(), counts.data()};
    Dense<T> matrix = a.to(gpu);
    Array<std::int64_t> pivots(gpu, std::min(a.rows(), a.columns()));
    lu::queue_factorization<T>(backend, workspace, matrix.view(), pivots.data(), &iteration);
    const lu::LuResult result = lu::wait_for_factors(workspace);
    return {{matrix.to(Device()), pivots.to_vector(), result}, backend.read(counts.data())};
  }
  Factors on_gpu(const Dense<T>& a, const lu::Tuning& tuning = {}) const {
    lu::FactorWorkspace<Cuda, T> workspace(gpu);
    workspace.tuning = tuning;
    return factor<Cuda>(gpu, workspace, a);
  }

  /// max |P A - L U| / (k max |A| eps), k = min(m, n); LAPACK's ratio but for the norm.
  static double ratio(const Dense<T>& a, const Factors& factors) {
    const std::int64_t m = a.rows();
    const std::int64_t n = a.columns();
    const auto k = static_cast<std::int64_t>(factors.pivots.size());
    Dense<T> permuted = a;
    for (std::int64_t i = 0; i < k; ++i) {
      const std::int64_t row = factors.pivots[static_cast<std::size_t>(i)];
      for (std::int64_t j = 0; j < n; ++j) std::swap(permuted(i, j), permuted(row, j));
    }
    double error = 0;
    double largest = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      std::vector<double> column(static_cast<std::size_t>(m));
      for (std::int64_t p = 0; p < std::min(k, j + 1); ++p) {
        const auto u = static_cast<double>(factors.matrix(p, j));
        column[static_cast<std::size_t>(p)] += u;
        for (std::int64_t i = p + 1; i < m; ++i) {
          column[static_cast<std::size_t>(i)] += static_cast<double>(factors.matrix(i, p)) * u;
        }
      }
      for (std::int64_t i = 0; i < m; ++i) {
        const auto element = static_cast<double>(permuted(i, j));
        error = std::max(error, std::abs(element - column[static_cast<std::size_t>(i)]));
        largest = std::max(largest, std::abs(element));
      }
    }
    return error / (static_cast<double>(k) * largest * std::numeric_limits<T>::epsilon());
  }

  /// Expects the pivots of the host, |l| <= 1, and a small residual.
  static void expect_factors(const Dense<T>& a, const Factors& factors, const Factors& expected) {
    EXPECT_EQ(factors.pivots, expected.pivots);
    EXPECT_EQ(factors.result.zero_pivot, expected.result.zero_pivot);
    EXPECT_NEAR(factors.result.largest, expected.result.largest, 0.1 * expected.result.largest);
    EXPECT_LT(ratio(a, factors), 10);
    for (std::int64_t j = 0; j < a.columns(); ++j) {
      for (std::int64_t i = j + 1; i < a.rows(); ++i) ASSERT_LE(std::abs(factors.matrix(i, j)), T{1});
    }
  }
};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(GpuFactorizationOf, Reals);

TYPED_TEST(GpuFactorizationOf, AgreesWithTheHost) {
  using T = TypeParam;
  struct Shape {
    std::int64_t m, n;
  };
  for (const auto& [m, n] : {Shape{1, 1}, Shape{2, 2}, Shape{3, 3}, Shape{31, 31}, Shape{33, 33},
                             Shape{127, 127}, Shape{300, 300}, Shape{1000, 1000}, Shape{1023, 1023},
                             Shape{40, 700}, Shape{700, 40}, Shape{1, 50}, Shape{50, 1}, Shape{17000, 40}}) {
    SCOPED_TRACE(std::to_string(m) + " by " + std::to_string(n));
    const Dense<T> a = random_dense<T>(m, n, 5);
    this->expect_factors(a, this->on_gpu(a), this->on_host(a));
  }
}

TYPED_TEST(GpuFactorizationOf, EveryDivision_AgreesWithTheHost) {
  using T = TypeParam;
  const Dense<T> a = random_dense<T>(500, 430, 6);
  const auto expected = this->on_host(a);
  for (const std::int64_t panel : {16, 50, 128, 512}) {
    for (const int leaf : {16, 40, 256}) {
      for (const int blocks : {2, 16}) {
        for (const bool lookahead : {false, true}) {
          SCOPED_TRACE("panel " + std::to_string(panel) + ", leaf " + std::to_string(leaf) + ", blocks " +
                       std::to_string(blocks) + (lookahead ? ", look-ahead" : ""));
          this->expect_factors(a,
                               this->on_gpu(a, {.panel_columns = panel,
                                                .panel = {.leaf_columns = leaf, .cluster_blocks = blocks},
                                                .lookahead = lookahead}),
                               expected);
        }
      }
    }
  }
}

TYPED_TEST(GpuFactorizationOf, WithoutClusters_AgreesWithTheHost) {
  using T = TypeParam;
  struct Shape {
    std::int64_t m, n;
  };
  // 17,000 rows take the shared memory of about 20 blocks, the others that of one to three.
  for (const auto& [m, n] : {Shape{1, 1}, Shape{5, 3}, Shape{32, 32}, Shape{33, 33}, Shape{500, 430},
                             Shape{430, 500}, Shape{2500, 300}, Shape{17000, 80}}) {
    for (const std::int64_t panel : {50, 128}) {
      SCOPED_TRACE(std::to_string(m) + " by " + std::to_string(n) + ", panel " + std::to_string(panel));
      const Dense<T> a = random_dense<T>(m, n, 15);
      this->expect_factors(a, this->on_gpu(a, {.panel_columns = panel, .clusters = false}), this->on_host(a));
    }
  }
}

TYPED_TEST(GpuFactorizationOf, WithoutClusters_ZerosTiesAndNaN) {
  using T = TypeParam;
  const lu::Tuning without_clusters{.panel_columns = 128, .clusters = false};
  Dense<T> a = random_dense<T>(2500, 100, 16);
  for (std::int64_t i = 0; i < 2500; ++i) a(i, 40) = 0;
  const auto factors = this->on_gpu(a, without_clusters);
  EXPECT_EQ(factors.result.zero_pivot, 40);
  EXPECT_EQ(factors.pivots, this->on_host(a).pivots);
  EXPECT_LT(this->ratio(a, factors), 10);

  // Every magnitude is found in all blocks: the first row wins.
  Dense<T> equal(Device(), 2500, 3);
  for (std::int64_t j = 0; j < 3; ++j) {
    for (std::int64_t i = 0; i < 2500; ++i) equal(i, j) = (i & (j + 1)) == 0 ? T{-1} : T{1};
  }
  EXPECT_EQ(this->on_gpu(equal, without_clusters).pivots[0], 0);

  a(1900, 70) = std::numeric_limits<T>::quiet_NaN();
  const auto of_nan = this->on_gpu(a, without_clusters);
  EXPECT_FALSE(std::isfinite(of_nan.result.largest));
  for (std::size_t k = 0; k < 100; ++k) {
    ASSERT_GE(of_nan.pivots[k], static_cast<std::int64_t>(k));
    ASSERT_LT(of_nan.pivots[k], 2500);
  }
}

TYPED_TEST(GpuFactorizationOf, LapackTypes_HaveSmallResiduals) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 2, 3, 5, 10, 50, 130, 300}) {
    for (int type = 1; type <= 11; ++type) {
      SCOPED_TRACE("n = " + std::to_string(n) + ", type " + std::to_string(type));
      const Dense<T> a = lapack_type<T>(type, n, 12);
      if (largest_magnitude(a) == 0) continue;  // types 5 to 7 of one row
      const auto expected = this->on_host(a);
      for (const auto& factors : {this->on_gpu(a), this->in_sections(a).factors}) {
        EXPECT_EQ(factors.result.zero_pivot, expected.result.zero_pivot);
        EXPECT_LT(this->ratio(a, factors), 10);
        for (std::int64_t j = 0; j < n; ++j) {
          for (std::int64_t i = j + 1; i < n; ++i) ASSERT_LE(std::abs(factors.matrix(i, j)), T{1});
        }
      }
    }
  }
}

TYPED_TEST(GpuFactorizationOf, IteratedSections_AgreeWithTheHost) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 2, 15, 16, 17, 33, 127, 300, 1025}) {
    for (const bool dominant : {true, false}) {
      SCOPED_TRACE(std::to_string(n) + (dominant ? ", dominant" : ""));
      Dense<T> a = random_dense<T>(n, n, 13);
      for (std::int64_t i = 0; i < n && dominant; ++i) a(i, i) += static_cast<T>(n + 1);
      const auto sections = this->in_sections(a);
      const auto expected = this->on_host(a);
      this->expect_factors(a, sections.factors, expected);
      std::int64_t exchanges = 0;
      for (std::size_t k = 0; k < expected.pivots.size(); ++k) {
        exchanges += expected.pivots[k] != static_cast<std::int64_t>(k) ? 1 : 0;
      }
      EXPECT_EQ(sections.counts.exchanges, exchanges);
      EXPECT_GE(sections.counts.sections, (n + 15) / 16);
      EXPECT_LE(sections.counts.most_sweeps, 16);
      if (dominant) {
        EXPECT_EQ(sections.counts.direct_sections, 0);
      }
    }
  }
}

TYPED_TEST(GpuFactorizationOf, IteratedSections_OfEveryDivision) {
  using T = TypeParam;
  // The first sections need no exchanges, the last ones do.
  Dense<T> a = random_dense<T>(500, 500, 14);
  for (std::int64_t i = 0; i < 300; ++i) a(i, i) += T{600};
  const auto expected = this->on_host(a);
  for (const std::int64_t panel : {16, 50, 512}) {
    for (const int leaf : {16, 256}) {
      for (const int blocks : {1, 2, 16}) {
        for (const bool lookahead : {false, true}) {
          SCOPED_TRACE("panel " + std::to_string(panel) + ", leaf " + std::to_string(leaf) + ", blocks " +
                       std::to_string(blocks) + (lookahead ? ", look-ahead" : ""));
          const auto found = this->in_sections(a, {.panel_columns = panel,
                                                   .panel = {.leaf_columns = leaf, .cluster_blocks = blocks},
                                                   .lookahead = lookahead});
          this->expect_factors(a, found.factors, expected);
          EXPECT_GT(found.counts.direct_sections, 0);
          EXPECT_LT(found.counts.direct_sections, found.counts.sections);
        }
      }
    }
  }
}

TYPED_TEST(GpuFactorizationOf, IteratedSections_PassOverZerosAndReportNaN) {
  using T = TypeParam;
  Dense<T> a = random_dense<T>(300, 300, 7);
  for (std::int64_t i = 0; i < 300; ++i) a(i, i) += T{300};
  for (std::int64_t i = 0; i < 300; ++i) a(i, 17) = 0;
  EXPECT_EQ(this->in_sections(a).factors.result.zero_pivot, 17);
  a(60, 70) = std::numeric_limits<T>::quiet_NaN();
  EXPECT_FALSE(std::isfinite(this->in_sections(a).factors.result.largest));
}

TYPED_TEST(GpuFactorizationOf, EqualMagnitudes_TakeTheFirstRow) {
  using T = TypeParam;
  Dense<T> a(Device(), 200, 200);
  for (std::int64_t j = 0; j < 200; ++j) {
    for (std::int64_t i = 0; i < 200; ++i) a(i, j) = (i & j) % 3 == 1 ? T{-1} : T{1};
  }
  const auto expected = this->on_host(a);
  EXPECT_EQ(this->on_gpu(a).pivots[0], 0);
  EXPECT_EQ(this->on_gpu(a).pivots[0], expected.pivots[0]);
}

TYPED_TEST(GpuFactorizationOf, ZeroColumns_AreNamedAndPassedOver) {
  using T = TypeParam;
  for (const std::int64_t zero : {0, 17, 299}) {
    Dense<T> a = random_dense<T>(300, 300, 7);
    for (std::int64_t i = 0; i < 300; ++i) a(i, zero) = 0;
    const auto factors = this->on_gpu(a);
    EXPECT_EQ(factors.result.zero_pivot, zero);
    EXPECT_LT(this->ratio(a, factors), 10);
    EXPECT_EQ(factors.pivots[static_cast<std::size_t>(zero)], zero);
  }
}

TYPED_TEST(GpuFactorizationOf, NotANumber_IsReported) {
  using T = TypeParam;
  for (const T bad : {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity()}) {
    Dense<T> a = random_dense<T>(130, 130, 8);
    a(60, 70) = bad;
    const auto factors = this->on_gpu(a);
    EXPECT_FALSE(std::isfinite(factors.result.largest));
    for (std::size_t k = 0; k < 130; ++k) {
      ASSERT_GE(factors.pivots[k], static_cast<std::int64_t>(k));
      ASSERT_LT(factors.pivots[k], 130);
    }
  }
}

TYPED_TEST(GpuFactorizationOf, Growth_IsMeasured) {
  using T = TypeParam;
  const std::int64_t n = 60;
  Dense<T> a(Device(), n, n);  // Wilkinson's
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) a(i, j) = i == j || j == n - 1 ? T{1} : (i > j ? T{-1} : T{0});
  }
  EXPECT_EQ(this->on_gpu(a).result.largest, std::ldexp(1.0, n - 1));
}

TYPED_TEST(GpuFactorizationOf, EveryRun_HasTheSameBits) {
  using T = TypeParam;
  const Dense<T> a = random_dense<T>(1500, 1500, 9);
  const auto first = this->on_gpu(a);
  for (int run = 0; run < 5; ++run) {
    const auto again = this->on_gpu(a);
    ASSERT_EQ(again.pivots, first.pivots);
    for (std::int64_t e = 0; e < 1500 * 1500; ++e) ASSERT_EQ(again.matrix[e], first.matrix[e]);
  }
}

TYPED_TEST(GpuFactorizationOf, Substitution_AgreesWithTheHost) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 2, 127, 128, 129, 300, 1000}) {
    Dense<T> a = random_dense<T>(n, n, 10);
    for (std::int64_t i = 0; i < n; ++i) a(i, i) += static_cast<T>(std::sqrt(static_cast<double>(n)));
    Host host(Device::serial());
    Cuda backend(this->gpu);
    lu::FactorWorkspace<Host, T> host_workspace{Device::serial()};
    lu::FactorWorkspace<Cuda, T> workspace(this->gpu);
    const auto expected = this->template factor<Host>(Device::serial(), host_workspace, a);
    const auto factors = this->template factor<Cuda>(this->gpu, workspace, a);
    const Dense<T> on_gpu = factors.matrix.to(this->gpu);
    for (const bool transposed : {false, true}) {
      for (const std::int64_t columns : {1, 3, 5, 40}) {
        SCOPED_TRACE(std::to_string(n) + ", " + std::to_string(columns) + " columns" +
                     (transposed ? ", transposed" : ""));
        const Dense<T> b = random_dense<T>(n, columns, 11);
        Dense<T> x = b;
        lu::substitute<T>(host, host_workspace, transposed, expected.matrix.view(), expected.pivots.data(),
                          x.view());
        Dense<T> x_gpu = b.to(this->gpu);
        lu::substitute<T>(backend, workspace, transposed, on_gpu.view(), nullptr, x_gpu.view());
        const Dense<T> result = x_gpu.to(Device());
        double largest = 0;
        for (std::int64_t e = 0; e < n * columns; ++e) {
          largest = std::max(largest, std::abs(static_cast<double>(x[e])));
        }
        const double tolerance = 100 * static_cast<double>(n) * largest * std::numeric_limits<T>::epsilon();
        for (std::int64_t e = 0; e < n * columns; ++e) ASSERT_NEAR(result[e], x[e], tolerance) << e;
      }
    }
  }
}

}  // namespace
}  // namespace echelon::test
