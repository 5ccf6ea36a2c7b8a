// SPDX-License-Identifier: BSD-3-Clause
// Classical coarsening on the GPU against the host: bit for bit.
#include "support/classical_coarsening.hpp"

#include "gpu/gpu_fixture.hpp"
#include "support/sparse_algebra.hpp"

#include <gtest/gtest.h>

#include <string>

namespace echelon::test {
namespace {

class GpuClassicalCoarsening : public GpuTest {
 protected:
  template <class T>
  void check(const Csr<T>& A) {
    const Csr<T> a = A.to(gpu);
    for (const classical::CoarseningOptions& options : all_options()) {
      SCOPED_TRACE(name_of(options));
      std::string expected_reason;
      std::string reason;
      const Csr<T> expected = classical::make_coarsening<HostTarget, T>(Device::serial(), options)
                                  ->prolongation(A, 0, expected_reason);
      const Csr<T> P = classical::make_coarsening<CudaTarget, T>(gpu, options)->prolongation(a, 0, reason);
      EXPECT_EQ(P.device(), gpu);
      expect_identical(P, expected);
      EXPECT_EQ(reason, expected_reason);
    }
  }
};

TEST_F(GpuClassicalCoarsening, AgreesWithHost) {
  check(cube_laplacian<double>(20));
  check(cube_laplacian<float>(12, 27));
  check(random_connections<double>(1025, 8, 1, 0.1));
  check(random_connections<float>(1025, 40, 2, 0.1));
  check(random_connections<double>(33, 4, 3));
}

TEST_F(GpuClassicalCoarsening, Update_AgreesWithHost) {
  const auto A = cube_laplacian<double>(12);
  const auto B = cube_laplacian<double>(12, 7, 0.5);
  for (const classical::CoarseningOptions& options : all_options()) {
    SCOPED_TRACE(name_of(options));
    const auto on_host = classical::make_coarsening<HostTarget, double>(Device::serial(), options);
    const auto on_gpu = classical::make_coarsening<CudaTarget, double>(gpu, options);
    std::string reason;
    Csr<double> expected = on_host->prolongation(A, 0, reason);
    Csr<double> P = on_gpu->prolongation(A.to(gpu), 0, reason);
    on_host->update_values(B, 0, expected);
    on_gpu->update_values(B.to(gpu), 0, P);
    expect_identical(P, expected);
  }
}

TEST_F(GpuClassicalCoarsening, NoDependences_AgreesWithHost) {
  check(Csr<double>::from_triplets(0, 0, {}));
  check(Csr<double>::from_triplets(1, 1, {{0, 0, 2}}));
  check(Csr<double>::from_triplets(2, 2, {{0, 0, 1}, {0, 1, -1}, {1, 1, 1}}));
}

}  // namespace
}  // namespace echelon::test
