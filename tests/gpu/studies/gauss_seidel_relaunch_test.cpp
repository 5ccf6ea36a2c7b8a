// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/gpu_fixture.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace echelon {
namespace {

class GpuRelaunch : public test::GpuTest {};

TEST_F(GpuRelaunch, BlocksAndPasses_BitsOfGaussSeidel) {
  const Csr<double> A = generate::poisson_2d<double>(37, 41).to(gpu);
  const std::vector<double> ones(static_cast<std::size_t>(A.rows()), 1.0);
  const Dense<double> b(gpu, std::span<const double>(ones));
  const auto sweep_once = [&](const std::string& method, Options options) {
    options.set("max_iterations", 1);
    Solver<double> solver = make_solver<double>(method, gpu, options);
    EXPECT_TRUE(solver.setup(A).ready());
    Dense<double> x(gpu, A.rows(), 1);
    EXPECT_GE(solver.solve(b, x).iterations, 1);
    return x.to_vector();
  };
  for (const std::string sweep : {"forward", "backward", "symmetric"}) {
    const std::vector<double> expected = sweep_once("gauss-seidel", {{"sweep", sweep}});
    for (const std::int64_t threads : {1, 32, 100, 256, 1024}) {
      for (const std::int64_t passes : {1, 2}) {
        EXPECT_EQ(sweep_once("gauss-seidel-relaunch",
                             {{"sweep", sweep}, {"threads_per_block", threads}, {"row_passes", passes}}),
                  expected)
            << sweep << " " << threads << " " << passes;
      }
    }
  }
}

}  // namespace
}  // namespace echelon
