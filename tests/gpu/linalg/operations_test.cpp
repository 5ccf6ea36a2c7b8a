// SPDX-License-Identifier: BSD-3-Clause
// The public operations on the GPU, in every layout, with a context of one's own.
#include "gpu/gpu_fixture.hpp"
#include "support/linalg_checks.hpp"

#include <gtest/gtest.h>

namespace echelon::test {
namespace {

class GpuOperations : public GpuTest {};

TEST_F(GpuOperations, DenseProducts) {
  check_gemm<float>(gpu);
  check_gemm<double>(gpu);
}

TEST_F(GpuOperations, DenseProduct_Vector) {
  check_gemv<float>(gpu);
  check_gemv<double>(gpu);
}

/// Rows of 3000 nonzeros do not fit into a block, and one of 200 among short ones is left to a warp.
template <class T>
Csr<T> with_long_rows() {
  std::vector<Triplet<T>> elements;
  for (std::int32_t i = 0; i < 4000; ++i) {
    const std::int32_t length = i == 7 || i == 3999 ? 3000 : (i == 100 ? 200 : i % 4);
    for (std::int32_t j = 0; j < length; ++j) {
      elements.push_back({i, (i + j) % 4000, static_cast<T>(1 + (i + 3 * j) % 11) / T{7}});
    }
  }
  return Csr<T>::from_triplets(4000, 4000, elements);
}

template <class T>
void check_all_sparse(const Device& gpu) {
  for (const Csr<T>& A : {random_sparse<T>(1025, 33, 7, true, 1), random_sparse<T>(31, 1025, 5, true, 2),
                          with_long_rows<T>(), Csr<T>(5, 0, {0, 0, 0, 0, 0, 0}, {}, {}), Csr<T>()}) {
    check_several_columns(gpu, A);
    check_transposed(gpu, A);
  }
}

TEST_F(GpuOperations, SparseProducts_Float) {
  check_all_sparse<float>(gpu);
}
TEST_F(GpuOperations, SparseProducts_Double) {
  check_all_sparse<double>(gpu);
}

TEST_F(GpuOperations, Sums) {
  check_add<float>(gpu);
  check_add<double>(gpu);
}

TEST_F(GpuOperations, Reductions) {
  check_reductions<float>(gpu);
  check_reductions<double>(gpu);
  check_extreme_norms(gpu);
}

TEST_F(GpuOperations, ContextOnOtherDevice_Throws) {
  Context host{Device()};
  const Dense<double> x = Dense<double>(std::vector<double>(5, 1.0)).to(gpu);
  EXPECT_THROW((void)dot<double>(host, x, x), DeviceMismatch);
}

}  // namespace
}  // namespace echelon::test
