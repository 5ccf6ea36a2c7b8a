// SPDX-License-Identifier: BSD-3-Clause
/// Results of amg in float that conjugate gradients read in place.
#include "solver/implementation.hpp"
#include "support/problems.hpp"

#include <echelon/generate.hpp>
#include <echelon/methods/amg.hpp>
#include <echelon/solver.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace echelon::test {
namespace {

/// The result of a cycle in float, as it is read in place, has the bits of the result in double, whether the
/// scale comes from the largest element or from the norm.
TEST(AmgInFloat, ResultInPlace_BitsOfStoredResult) {
  const Csr<double> A = generate::poisson_2d<double>(40, 31);
  for (const Device& device : {Device::serial(), Device::openmp(2)}) {
    Solver<double> solver =
        make_solver<double>("amg", device, {{"precision", "single"}, {"coarse_size", 30}});
    ASSERT_TRUE(solver.setup(A).ready());
    const SolverImplementation<double>& amg = SolverAccess<double>::implementation(solver);
    ASSERT_TRUE(amg.traits().leaves_floats);
    for (const double size : {1.0, 1e-200, 1e200}) {
      std::vector<double> r = random_dense<double>(A.rows(), 1, 5).to_vector();
      double squares = 0;
      for (double& value : r) {
        squares += value * value;
        value *= size;
      }
      const double norm = size * std::sqrt(squares);
      const auto workspace = amg.make_workspace();
      std::vector<double> z(r.size());
      const MultiVector<const double> right(r.data(), A.rows());
      amg.apply(*workspace, right, {z.data(), A.rows()});
      const WidenedVector<double> result = amg.apply_in_float(*workspace, right, {&norm, 1})[0];
      for (std::int64_t i = 0; i < A.rows(); ++i) ASSERT_EQ(result[i], z[static_cast<std::size_t>(i)]) << i;
    }
  }
}

/// Results in float are not left in place where they are not in float, or a null space is projected out.
TEST(AmgInFloat, WorkingPrecisionOrNullSpace_ResultStored) {
  const Csr<double> A = generate::poisson_2d<double>(20, 20);
  std::vector<Triplet<double>> entries;
  for (std::int32_t i = 0; i < 300; ++i) {
    entries.push_back({i, i, i == 0 || i == 299 ? 1.0 : 2.0});
    if (i > 0) entries.push_back({i, i - 1, -1});
    if (i < 299) entries.push_back({i, i + 1, -1});
  }
  const Csr<double> singular = Csr<double>::from_triplets(300, 300, entries);
  const auto leaves = [](const Csr<double>& matrix, const char* precision) {
    Solver<double> solver = make_solver<double>("amg", Device::serial(), {{"precision", precision}});
    EXPECT_TRUE(solver.setup(matrix).ready());
    return SolverAccess<double>::implementation(solver).traits().leaves_floats;
  };
  EXPECT_TRUE(leaves(A, "single"));
  EXPECT_FALSE(leaves(A, "working"));
  EXPECT_FALSE(leaves(singular, "single"));
}

}  // namespace
}  // namespace echelon::test
