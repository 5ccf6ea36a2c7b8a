// SPDX-License-Identifier: BSD-3-Clause
// Complex band matrices on a GPU, compared with those of the host and with residuals in long double.
#include "gpu/complex/backward_error.hpp"
#include "gpu/gpu_fixture.hpp"

#include <numeric>

namespace echelon::test {
namespace {

using T = std::complex<double>;

/// Random elements on these diagonals, in rows and columns numbered by `order`; empty: the identity. Bands
/// that are wider on one side, whose condition grows with their order, have a larger diagonal.
Csr<T> random_band(std::int64_t n, std::int64_t lower, std::int64_t upper, unsigned seed,
                   const std::vector<std::int32_t>& order = {}) {
  Random random(seed);
  const auto place = [&](std::int64_t i) {
    return order.empty() ? static_cast<std::int32_t>(i) : order[static_cast<std::size_t>(i)];
  };
  const Exact shift = lower == upper ? Exact() : Exact(1 + static_cast<long double>(lower + upper) / 2);
  std::vector<Triplet<T>> triplets;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = std::max<std::int64_t>(0, i - lower); j <= std::min(n - 1, i + upper); ++j)
      triplets.push_back({place(i), place(j), rounded<T>(i == j ? random() + shift : random())});
  }
  return Csr<T>::from_triplets(n, n, triplets);
}

struct BandSizes {
  std::int64_t n, lower, upper;
};
/// Single partitions and many, windows in registers, in shared memory and in global memory.
const std::vector<BandSizes> sizes = {{1, 0, 0},      {2, 1, 1},      {33, 1, 1},     {5000, 1, 1},
                                      {1000, 0, 3},   {1000, 4, 0},   {20000, 2, 3},  {3000, 9, 9},
                                      {4000, 20, 30}, {2500, 40, 40}, {700, 300, 200}};

class GpuComplexBand : public GpuTest {
 protected:
  void expect_solutions(const Csr<T>& A, const Options& options = {}) const {
    const Csr<T> there = A.to(gpu);
    Solver<T> solver = make_solver<T>("banded-lu", gpu, options);
    const Report setup = solver.setup(there);
    ASSERT_TRUE(setup.ready()) << setup.message;
    expect_on_gpu(setup.warnings);
    const std::int64_t n = A.rows();
    const std::int64_t columns = 11;
    Dense<T> B(Device(), n, columns);
    Random random(4);
    for (std::int64_t k = 0; k < n * columns; ++k) B[k] = rounded<T>(random());
    for (const Operation operation : {Operation::none, Operation::transpose, Operation::adjoint}) {
      Dense<T> X(gpu, n, columns);
      const Report report = solver.solve(B.to(gpu), X, {.operation = operation});
      EXPECT_TRUE(report.solved()) << report.message;
      const Dense<T> x = X.to(Device());
      for (const std::int64_t c : {0, 7, 8, 10})
        EXPECT_LT(backward_error(A, operation, B.view().column(c), x.view().column(c)), 1e-13) << c;
    }
  }
};

TEST_F(GpuComplexBand, AnyWidth_Solves) {
  for (const auto& [n, lower, upper] : sizes) {
    SCOPED_TRACE(std::to_string(n) + " rows, " + std::to_string(lower) + " and " + std::to_string(upper));
    expect_solutions(random_band(n, lower, upper, static_cast<unsigned>(n)));
  }
}

TEST_F(GpuComplexBand, Renumbered_Solves) {
  std::vector<std::int32_t> order(900);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(3));
  const Csr<T> A = random_band(900, 2, 2, 5, order);
  expect_solutions(A, {{"ordering", "rcm"}});
  expect_solutions(A);
}

TEST_F(GpuComplexBand, UnevenRows_AreScaled) {
  Csr<T> A = random_band(600, 3, 2, 6);
  for (std::int64_t i = 0; i < 600; ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k)
      A.values()[k] *= std::ldexp(1.0, static_cast<int>(i % 90) - 45);
  }
  expect_solutions(A);
}

TEST_F(GpuComplexBand, DeterminantAndCondition_AreThoseOfTheHost) {
  for (const auto& [n, lower, upper] : {BandSizes{40, 2, 1}, {500, 1, 1}, {300, 20, 25}}) {
    const Csr<T> A = random_band(n, lower, upper, 7);
    const Csr<T> there = A.to(gpu);
    Solver<T> here = make_solver<T>("banded-lu", Device());
    Solver<T> solver = make_solver<T>("banded-lu", gpu);
    const Report expected = here.setup(A);
    const Report found = solver.setup(there);
    ASSERT_TRUE(expected.reciprocal_condition && found.reciprocal_condition);
    EXPECT_NEAR(*found.reciprocal_condition / *expected.reciprocal_condition, 1, 0.5);
    const Determinant of_host = here.determinant();
    const Determinant of_gpu = solver.determinant();
    EXPECT_NEAR(of_gpu.log_abs(), of_host.log_abs(), 1e-8 * std::abs(of_host.log_abs()) + 1e-9);
    const T host_phase = static_cast<double>(of_host.sign) * of_host.phase;
    EXPECT_LT(std::abs(static_cast<double>(of_gpu.sign) * of_gpu.phase - host_phase), 1e-9);
  }
}

TEST_F(GpuComplexBand, UnsuitableMatrices_AreNamedAsOnTheHost) {
  Csr<T> zero_row = random_band(50, 1, 1, 8);
  for (std::int64_t k = zero_row.row_offsets()[20]; k < zero_row.row_offsets()[21]; ++k)
    zero_row.values()[k] = T{};
  Csr<T> bad = random_band(50, 1, 1, 8);
  bad.values()[30] = {0, std::numeric_limits<double>::quiet_NaN()};
  Csr<T> dependent = random_band(50, 1, 1, 8);  // whose first two rows are equal
  dependent.values()[0] = dependent.values()[1] = dependent.values()[2] = T{1, 1};
  dependent.values()[3] = T{1, 1};
  dependent.values()[4] = T{};
  for (const Csr<T>& A : {zero_row, bad}) {
    const Csr<T> there = A.to(gpu);
    const Report expected = make_solver<T>("banded-lu", Device()).setup(A);
    const Report found = make_solver<T>("banded-lu", gpu).setup(there);
    EXPECT_EQ(found.status, expected.status) << found.message << "; " << expected.message;
    EXPECT_EQ(found.row, expected.row) << found.message;
  }
  const Csr<T> there = dependent.to(gpu);
  EXPECT_EQ(make_solver<T>("banded-lu", gpu).setup(there).status, Status::singular);
}

}  // namespace
}  // namespace echelon::test
