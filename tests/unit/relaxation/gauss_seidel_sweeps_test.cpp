// SPDX-License-Identifier: BSD-3-Clause
#include "backend/host/host.hpp"
#include "relaxation/gauss_seidel/host/slabs.hpp"
#include "relaxation/gauss_seidel/sweep.hpp"
#include "support/problems.hpp"
#include "support/test_data.hpp"
#include "unit/relaxation/sweep_oracle.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>
#include <omp.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace echelon {
namespace {

using test::convection_diffusion;
using test::expect_same_bits;
using test::kinds;
using test::parallel_sweeps;
using test::plain_sweeps;
using test::random_dense;
using test::RealMatrices;
using test::sweeps_over;
using test::within_a_minute;

template <class T>
void check(const Csr<T>& A, std::int64_t columns, double omega, std::array<int, 2> teams = {2, 5}) {
  const Dense<T> b = random_dense<T>(A.rows(), columns, 3);
  const Dense<T> x = random_dense<T>(A.rows(), columns, 4);
  for (const SweepKind kind : kinds) {
    SCOPED_TRACE(to_string(kind));
    const SweepOptions options{.kind = kind, .sweeps = 2, .omega = omega};
    const Dense<T> expected = plain_sweeps(A, b, x, options);
    Dense<T> serial = x;
    GaussSeidelSweep<T>(Device::serial()).sweep(A, b, serial, options);
    expect_same_bits(serial, expected);
    for (const int threads : teams) {
      SCOPED_TRACE(threads);
      expect_same_bits(parallel_sweeps(threads, A, b, x, options), expected);
    }
  }
}

void check_both(const std::vector<Triplet<double>>& elements, std::int64_t n, std::int64_t columns = 1) {
  test::Problem problem;
  problem.n = n;
  problem.elements = elements;
  SCOPED_TRACE(n);
  check(problem.csr<double>(), columns, 1);
  check(problem.csr<float>(), columns, 1.3);
}

double random_value(std::mt19937& random) {
  return std::uniform_real_distribution<double>(-1, 1)(random);
}

/// Diagonal of 2, and `count` elements per row at random places.
std::vector<Triplet<double>> scattered(std::int64_t n, int count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Triplet<double>> elements;
  for (std::int32_t i = 0; i < n; ++i) {
    elements.push_back({i, i, 2});
    for (int k = 0; k < count; ++k) {
      const auto j = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(n));
      if (j != i) elements.push_back({i, j, random_value(random) / count});
    }
  }
  return elements;
}

/// Elements with -below <= j - i <= above.
std::vector<Triplet<double>> band(std::int32_t n, std::int32_t below, std::int32_t above) {
  std::mt19937 random(1);
  std::vector<Triplet<double>> elements;
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int32_t j = std::max(0, i - below); j <= std::min(n - 1, i + above); ++j) {
      elements.push_back({i, j, i == j ? 2 : random_value(random) / (below + above)});
    }
  }
  return elements;
}

TEST(GaussSeidelSweeps, SizesAndRowLengths_OracleBits) {
  for (const std::int64_t n : {0, 1, 2, 31, 32, 33, 1023, 1025}) {
    check_both(scattered(n, 4, 5), n);
    check_both(scattered(n, 0, 5), n);
  }
  check_both(scattered(300, 66, 6), 300);
  check_both(scattered(200, 300, 7), 200);  // parts of more than a hundred elements
}

TEST(GaussSeidelSweeps, Bands_OracleBits) {
  for (const std::int32_t n : {33, 5000}) {
    check_both(band(n, 1, 1), n);
    check_both(band(n, 1, 0), n);
    check_both(band(n, 0, 1), n);
    check_both(band(n, 0, 3), n);
    check_both(band(n, 40, 2), n);
  }
}

TEST(GaussSeidelSweeps, ArrowsAndStars_OracleBits) {
  constexpr std::int32_t n = 2050;
  for (const std::int32_t centre : {0, n / 2, n - 1}) {
    std::vector<Triplet<double>> star;
    std::vector<Triplet<double>> half;
    for (std::int32_t i = 0; i < n; ++i) {
      star.push_back({i, i, 2});
      half.push_back({i, i, 2});
      if (i == centre) continue;
      star.push_back({i, centre, 0.5});
      star.push_back({centre, i, 0.3 / n});
      half.push_back({centre, i, 0.3 / n});
    }
    check_both(star, n);
    check_both(half, n);
  }
}

TEST(GaussSeidelSweeps, Grids_OracleBits) {
  check(generate::poisson_2d<double>(70, 45), 1, 1);
  check(generate::poisson_2d<float>(129, 33), 1, 1.7);
  check(generate::poisson_3d<double>(33, 9, 11), 1, 1.2);
  check(generate::poisson_3d<double>(40, 9, 8, 27), 1, 1);
  check(generate::published_triangle<double>(20'000), 1, 1);
  check(generate::published_triangle<float>(10'000), 2, 1);
}

/// Grid in which some rows lack neighbours or have distant ones, so that the pattern is not symmetric, and
/// whose first and last lines form chains. The rows around n / 4, n / 2 and 3 n / 4, from which grids are
/// detected, are unchanged.
Csr<double> torn_grid(const Csr<double>& grid, std::int64_t line, unsigned every) {
  std::mt19937 random(5);
  test::Problem problem;
  problem.n = grid.rows();
  const std::int64_t n = problem.n;
  for (std::int32_t i = 0; i < n; ++i) {
    const std::int64_t in_quarter = i % std::max<std::int64_t>(n / 4, 1);
    const bool torn = in_quarter > n / 16 && in_quarter < n / 16 * 3 && random() % every == 0;
    for (std::int64_t k = grid.row_offsets()[i]; k < grid.row_offsets()[i + 1]; ++k) {
      const std::int32_t j = grid.column_indices()[k];
      if (j == i || !torn || random() % 2 == 0) problem.elements.push_back({i, j, grid.values()[k]});
    }
    if (torn) {
      const auto j = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(n));
      problem.elements.push_back({i, j, random_value(random)});
    }
    if (i > 0 && i % line == 0 && i < n / 8) problem.elements.push_back({i, i - 1, random_value(random)});
    if (i + 1 < n && (i + 1) % line == 0 && i > n / 8 * 7)
      problem.elements.push_back({i, i + 1, random_value(random)});
  }
  return problem.csr<double>();
}

/// Slabs are used although rows have other dependencies.
TEST(GaussSeidelSweeps, TornGrids_SlabsAndOracleBits) {
  struct Case {
    Csr<double> grid;
    std::int64_t line;
  };
  const std::array<Case, 4> cases = {{{generate::poisson_2d<double>(2050, 10), 2050},
                                      {generate::poisson_3d<double>(16, 10, 41), 16},
                                      {generate::poisson_3d<double>(20, 9, 23), 20},
                                      {generate::poisson_3d<double>(20, 9, 23, 27), 20}}};
  for (const Case& one : cases) {
    for (const unsigned every : {1'000'000U, 30U, 2U}) {
      SCOPED_TRACE(every);
      const Csr<double> A = torn_grid(one.grid, one.line, every);
      const Dense<double> b(Device(), A.rows(), 1);
      Dense<double> x(Device(), A.rows(), 1);
      const auto half = gauss_seidel::half_sweep(sweeps_over(A, b, x, {}), 0);
      EXPECT_EQ(gauss_seidel::plan_slabs<gauss_seidel::SweepDirection::forward>(half, 4).threads, 4);
      EXPECT_EQ(gauss_seidel::plan_slabs<gauss_seidel::SweepDirection::backward>(half, 4).threads, 4);
      check(A, every == 30 ? 2 : 1, every == 2 ? 1.2 : 1, {2, 4});
    }
  }
}

/// Lower triangle with rows of 1 to 40 elements, mostly few.
Csr<double> ragged_triangle(std::int32_t n) {
  std::mt19937 random(2);
  test::Problem problem;
  problem.n = n;
  for (std::int32_t i = 0; i < n; ++i) {
    problem.elements.push_back({i, i, 2});
    const auto most = static_cast<std::int32_t>(random() % 50 == 0 ? 40 : random() % 4);
    for (std::int32_t k = 1; k <= std::min(i, most); ++k) {
      if (random() % 4 != 0)
        problem.elements.push_back({i, i - k * std::max(i / 64, 1), random_value(random)});
    }
  }
  return problem.csr<double>();
}

/// Rows that end at their diagonal compute two products unconditionally, which must not change the sums.
TEST(GaussSeidelSweeps, LowerTriangles_OracleBits) {
  for (const std::int32_t n : {1, 31, 33, 1025, 3000}) {
    SCOPED_TRACE(n);
    const Csr<double> A = ragged_triangle(n);
    check(A, 1, 1);
    check(A, 2, 1.3);
  }
  Csr<double> A = ragged_triangle(1025);
  const auto diagonal = [&](std::int64_t i) -> double& { return A.values()[A.row_offsets()[i + 1] - 1]; };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  diagonal(200) = 0;
  diagonal(1000) = -0.0;
  diagonal(600) = 1e-310;  // its reciprocal is infinite
  diagonal(700) = infinity;
  diagonal(800) = nan;
  const Dense<double> b = random_dense<double>(A.rows(), 1, 1);
  Dense<double> x = random_dense<double>(A.rows(), 1, 2);
  for (const double bad : {nan, -infinity}) {
    for (std::int64_t i = 900; i < 920; i += 3) x(i, 0) = bad;  // not read by a forward sweep with omega = 1
    for (const double omega : {1.0, 1.5}) {
      for (const SweepKind kind : kinds) {
        const SweepOptions options{.kind = kind, .sweeps = 1, .omega = omega};
        const Dense<double> expected = plain_sweeps(A, b, x, options);
        Dense<double> serial = x;
        const SweepReport report = GaussSeidelSweep<double>(Device::serial()).sweep(A, b, serial, options);
        EXPECT_EQ(report.skipped_rows, 2);
        EXPECT_EQ(report.first_skipped_row, 200);
        expect_same_bits(serial, expected);
        expect_same_bits(parallel_sweeps(3, A, b, x, options), expected);
      }
    }
  }
}

TEST(GaussSeidelSweeps, ManyRightHandSides_OracleBits) {
  for (const std::int64_t columns : {0, 2, 7, 8, 9, 64}) check_both(scattered(257, 4, 8), 257, columns);
  check(generate::poisson_2d<double>(50, 20), 9, 1);
}

TEST(GaussSeidelSweeps, RowMajorViewsAndGaps_OracleBits) {
  const Csr<double> A = convection_diffusion(20, 0.3).csr<double>();
  const Dense<double> b = random_dense<double>(400, 3, 1);
  const Dense<double> x = random_dense<double>(400, 3, 2);
  const SweepOptions options{.kind = SweepKind::symmetric, .sweeps = 1, .omega = 1.4};
  const Dense<double> expected = plain_sweeps(A, b, x, options);
  for (const Layout layout : {Layout::column_major, Layout::row_major}) {
    const bool by_column = layout == Layout::column_major;
    const std::int64_t leading = by_column ? 411 : 5;
    std::vector<double> b_memory(411 * 5, -1);
    std::vector<double> x_memory(411 * 5, -1);
    const DenseView<double> B(b_memory.data(), 400, 3, leading, Device(), layout);
    const DenseView<double> X(x_memory.data(), 400, 3, leading, Device(), layout);
    for (std::int64_t i = 0; i < 400; ++i) {
      for (std::int64_t c = 0; c < 3; ++c) {
        B(i, c) = b(i, c);
        X(i, c) = x(i, c);
      }
    }
    GaussSeidelSweep<double>(Device::openmp(2)).sweep(A, B, X, options);
    Dense<double> got = x;
    for (std::int64_t i = 0; i < 400; ++i) {
      for (std::int64_t c = 0; c < 3; ++c) got(i, c) = X(i, c);
    }
    expect_same_bits(got, expected);
    EXPECT_EQ(std::count(x_memory.begin(), x_memory.end(), -1.0), 411 * 5 - 1200);
  }
}

TEST(GaussSeidelSweeps, Repeated_OracleBits) {
  GaussSeidelSweep<double> sweeper(Device::openmp(4));
  Csr<double> A = generate::poisson_3d<double>(32, 30, 25);  // enough nonzeros for several threads
  ASSERT_GE(A.nonzeros(), 100'000);
  const Dense<double> b = random_dense<double>(A.rows(), 2, 1);
  Dense<double> x = random_dense<double>(A.rows(), 2, 2);
  Dense<double> expected = x;
  for (int repetition = 0; repetition < 20; ++repetition) {
    const SweepOptions options{.kind = kinds[static_cast<std::size_t>(repetition % 3)], .omega = 1.1};
    A.values()[repetition] *= 1.5;  // values must not be cached
    expected = plain_sweeps(A, b, expected, options);
    within_a_minute([&] { sweeper.sweep(A, b, x, options); });
    expect_same_bits(x, expected);
  }
  EXPECT_LT(sweeper.bytes(), x.bytes()) << "less than a second vector";
}

/// Inside a parallel region OpenMP provides one thread instead of several.
TEST(GaussSeidelSweeps, InsideParallelRegion_OracleBits) {
  const Csr<double> A = generate::poisson_2d<double>(2050, 8);
  const Dense<double> b = random_dense<double>(A.rows(), 1, 1);
  const Dense<double> x = random_dense<double>(A.rows(), 1, 2);
  const SweepOptions options{.kind = SweepKind::symmetric};
  const Dense<double> expected = plain_sweeps(A, b, x, options);
  std::array<Dense<double>, 2> got;
#pragma omp parallel for num_threads(2)
  for (int t = 0; t < 2; ++t) got[static_cast<std::size_t>(t)] = parallel_sweeps(4, A, b, x, options);
  for (const Dense<double>& one : got) expect_same_bits(one, expected);
}

TEST(GaussSeidelSweeps, NanAndInf_OracleBits) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  // Several NaNs, since one of them marks values that are not ready.
  for (const double bad : {infinity, -infinity, nan, -nan, std::nan("1"), std::nan("2"), 1e308}) {
    SCOPED_TRACE(bad);
    for (const int place : {0, 1, 2}) {
      Csr<double> A = generate::poisson_2d<double>(40, 12);
      Dense<double> b = random_dense<double>(A.rows(), 2, 1);
      Dense<double> x = random_dense<double>(A.rows(), 2, 2);
      if (place == 0) A.values()[700] = bad;
      if (place == 1) b(100, 1) = bad;
      if (place == 2) x(300, 0) = bad;
      for (const SweepKind kind : kinds) {
        const SweepOptions options{.kind = kind, .sweeps = 2, .omega = 1.5};
        const Dense<double> expected = plain_sweeps(A, b, x, options);
        Dense<double> serial = x;
        GaussSeidelSweep<double>(Device::serial()).sweep(A, b, serial, options);
        expect_same_bits(serial, expected);
        expect_same_bits(parallel_sweeps(3, A, b, x, options), expected);
      }
    }
  }
}

/// Old values with the bits that mark values that are not ready, near and far.
TEST(GaussSeidelSweeps, OldValuesEqualToMark_OracleBits) {
  test::Problem problem;
  problem.n = 3000;
  problem.elements = scattered(problem.n, 1, 10);
  const Csr<double> A = problem.csr<double>();
  const Dense<double> b = random_dense<double>(A.rows(), 2, 1);
  Dense<double> x = random_dense<double>(A.rows(), 2, 2);
  for (std::int64_t i = 5; i < A.rows(); i += 400) x(i, i % 2) = std::nan("1");
  for (const SweepKind kind : kinds) {
    const SweepOptions options{.kind = kind, .sweeps = 1, .omega = 1};
    const Dense<double> expected = plain_sweeps(A, b, x, options);
    EXPECT_GT(std::count_if(expected.data(), expected.data() + 6000, [](double v) { return v == v; }), 500);
    for (const int threads : {2, 3}) {
      expect_same_bits(parallel_sweeps(threads, A, b, x, options), expected);
    }
  }
}

TEST(GaussSeidelSweeps, MissingDiagonal_KeepsX) {
  std::vector<Triplet<double>> elements = scattered(300, 3, 9);
  std::erase_if(elements, [](const auto& e) { return e.row == e.column && (e.row == 7 || e.row == 299); });
  elements.push_back({120, 120, -2});  // gives a stored zero
  test::Problem problem;
  problem.n = 300;
  problem.elements = elements;
  const Csr<double> A = problem.csr<double>();
  Dense<double> b = random_dense<double>(300, 2, 1);
  const Dense<double> x = random_dense<double>(300, 2, 2);
  check(A, 2, 1.2);
  for (const SweepKind kind : kinds) {
    for (const Device& device : {Device::serial(), Device::openmp(3)}) {
      Dense<double> got = x;
      const SweepReport report =
          GaussSeidelSweep<double>(device).sweep(A, b, got, {.kind = kind, .sweeps = 3});
      EXPECT_EQ(report.skipped_rows, 3);
      EXPECT_EQ(report.first_skipped_row, 7);
      for (const std::int64_t row : {7, 120, 299}) EXPECT_EQ(got(row, 1), x(row, 1));
      EXPECT_NE(got(8, 0), x(8, 0));
    }
  }
  Dense<double> got = x;
  EXPECT_EQ(GaussSeidelSweep<double>().sweep(A, b, got, {.sweeps = 0}).first_skipped_row, std::nullopt);
  expect_same_bits(got, x);
}

TEST(GaussSeidelSweeps, Misuse_Throws) {
  GaussSeidelSweep<double> sweeper;
  const Csr<double> A = convection_diffusion(3, 0).csr<double>();
  const Csr<double> wide = Csr<double>::from_triplets(2, 3, {});
  Dense<double> x(Device(), 9, 1);
  Dense<double> two(Device(), 9, 2);
  Dense<double> small(Device(), 2, 1);
  EXPECT_THROW(sweeper.sweep(wide, small, small), DimensionMismatch);
  EXPECT_THROW(sweeper.sweep(A, small, x), DimensionMismatch);
  EXPECT_THROW(sweeper.sweep(A, x, two), DimensionMismatch);
  for (const double omega : {0.0, 2.0, -1.0, std::nan("")}) {
    EXPECT_THROW(sweeper.sweep(A, x, x, {.omega = omega}), BadOption);
  }
  EXPECT_THROW(sweeper.sweep(A, x, x, {.sweeps = -1}), BadOption);
  EXPECT_ANY_THROW(GaussSeidelSweep<double>{Device::cuda()});
  EXPECT_THROW(static_cast<void>(make_solver<double>("gauss-seidel", Device::cuda())), NotBuilt);
}

TEST_F(RealMatrices, GaussSeidel_OracleBits) {
  const std::string folder = test::real_matrices().string();
  int found = 0;
  for (const char* name : {"/spd_fem/", "/unsym_cfd/", "/unsym_circuit/", "/indefinite/"}) {
    if (!std::filesystem::exists(folder + name)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(folder + name)) {
      if (entry.path().string().find(".mtx.gz") == std::string::npos || entry.file_size() > 400'000) continue;
      SCOPED_TRACE(entry.path());
      const Csr<double> A = read_matrix_market<double>(entry.path().string());
      if (A.rows() != A.columns()) continue;
      check(A, 1, 1);
      ++found;
    }
  }
  EXPECT_GT(found, 0);
}

}  // namespace
}  // namespace echelon
