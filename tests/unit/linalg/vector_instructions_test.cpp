// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/blas/vector_instructions.hpp"

#include <echelon/linalg/blas.hpp>

#include <gtest/gtest.h>

#include <string>

namespace echelon::blas {
namespace {

using enum VectorInstructions;

TEST(VectorInstructions, KernelsBelowTheProcessor_AreNamedWithTheRemedy) {
  const std::string haswell = describe_slow_kernels("Haswell", avx512);
  EXPECT_NE(haswell.find("Haswell with AVX2"), std::string::npos) << haswell;
  EXPECT_NE(haswell.find("OPENBLAS_CORETYPE=SkylakeX"), std::string::npos) << haswell;
  EXPECT_NE(describe_slow_kernels("Zen", avx512), "");
  EXPECT_NE(describe_slow_kernels("Sandybridge", avx2).find("OPENBLAS_CORETYPE=Haswell"), std::string::npos);
  EXPECT_NE(describe_slow_kernels("Prescott", avx).find("OPENBLAS_CORETYPE=Sandybridge"), std::string::npos);
}

TEST(VectorInstructions, KernelsThatUseAllOrAreUnknown_AreNot) {
  for (const char* kernels : {"SkylakeX", "Cooperlake", "SapphireRapids", "", "armv8", "Unheard"}) {
    for (const VectorInstructions processor : {sse, avx, avx2, avx512}) {
      EXPECT_EQ(describe_slow_kernels(kernels, processor), "") << kernels;
    }
  }
  EXPECT_EQ(describe_slow_kernels("Haswell", avx2), "");
  EXPECT_EQ(describe_slow_kernels("Zen", avx), "");
  EXPECT_EQ(describe_slow_kernels("Prescott", sse), "");
}

TEST(VectorInstructions, OpenBlas_DescribedWithItsKernels) {
  EXPECT_EQ(describe_openblas("OpenBLAS 0.3.21 DYNAMIC_ARCH Haswell  ", "Haswell"),
            "OpenBLAS 0.3.21 DYNAMIC_ARCH Haswell");
  EXPECT_EQ(describe_openblas("OpenBLAS 0.3.21 ", "Zen"), "OpenBLAS 0.3.21, kernels Zen");
  const HostBlas blas = host_blas();
  EXPECT_EQ(blas.description.empty(), blas.kernels.empty());
  EXPECT_NE(blas.description.find(blas.kernels), std::string::npos);
}

TEST(VectorInstructions, HostBlas_AgreesWithTheProcessor) {
  const HostBlas blas = host_blas();
  EXPECT_EQ(blas.warning, describe_slow_kernels(blas.kernels, vector_instructions()));
  EXPECT_EQ(slow_kernels_warning(100), "");
  EXPECT_EQ(slow_kernels_warning(1000), blas.warning);
}

}  // namespace
}  // namespace echelon::blas
