// SPDX-License-Identifier: BSD-3-Clause
// The memory that a sparse factorisation says it will take, and takes.
#include "support/sparse_direct/process_memory.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <variant>

namespace echelon {
namespace {

using test::process_bytes;
using test::reset_peak;

double predicted_bytes(const Report& report) {
  return static_cast<double>(std::get<std::int64_t>(report.find_statistic("predicted_bytes")->value));
}

class SparseFactorMemory : public testing::TestWithParam<const char*> {};

TEST_P(SparseFactorMemory, OneThread_WithinTenPercentOfThePrediction) {
  if (test::allocates_for_a_sanitizer()) GTEST_SKIP() << "the address sanitizer takes memory of its own";
  const auto A =
      std::get<Csr<double>>(make_matrix<double>("poisson-3d", {{"nx", 40}, {"ny", 40}, {"nz", 40}}));
  Solver<double> solver = make_solver<double>(GetParam(), Device::serial(), {{"condition", false}});
  ASSERT_TRUE(solver.analyze(A).ready());
  if (!reset_peak()) GTEST_SKIP() << "the largest size of a process cannot be measured";
  const double before = process_bytes("VmRSS");
  const Report report = solver.factor(A);
  const double taken = process_bytes("VmHWM") - before;
  ASSERT_TRUE(report.ready());
  EXPECT_NEAR(taken / predicted_bytes(report), 1, 0.1);
}

INSTANTIATE_TEST_SUITE_P(Methods, SparseFactorMemory,
                         testing::Values("sparse-cholesky", "sparse-ldlt", "sparse-lu"),
                         [](const auto& method) {
                           std::string name = method.param;
                           name.erase(name.find('-'), 1);
                           return name;
                         });

TEST(SparseFactorMemory, MoreThreads_PredictMore) {
  const auto A =
      std::get<Csr<double>>(make_matrix<double>("poisson-3d", {{"nx", 24}, {"ny", 24}, {"nz", 24}}));
  double last = 0;
  for (const int threads : {1, 2, 4, 8}) {
    const Device device = threads == 1 ? Device::serial() : Device::openmp(threads);
    Solver<double> solver = make_solver<double>("sparse-cholesky", device, {{"condition", false}});
    const double predicted = predicted_bytes(solver.factor(A));
    EXPECT_GE(predicted, last) << threads;
    last = predicted;
  }
}

}  // namespace
}  // namespace echelon
