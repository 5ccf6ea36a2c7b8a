// SPDX-License-Identifier: BSD-3-Clause
/// Files of complex matrices.
#include "scalars/complex_systems.hpp"

namespace echelon::test {
namespace {

template <class T>
class ComplexFiles : public ComplexSystems<T> {};
TYPED_TEST_SUITE(ComplexFiles, ComplexTypes);

template <class T>
std::vector<T> elements(const Dense<T>& A) {
  return {A.data(), A.data() + A.rows() * A.columns()};
}

TYPED_TEST(ComplexFiles, FilesHoldComplexMatrices) {
  using T = TypeParam;
  const Csr<T> A = sparse<T>(random_sparse(12, 3, 71));
  const Dense<T> D = dense<T>(random_entries(5, 3, 72));
  for (const char* ending : {"mtx", "npz", "npy", "mtx.gz"}) {
    const std::string path = testing::TempDir() + "complex_test." + ending;
    write_matrix<T>(path, A);
    const MatrixFile<T> back = read_matrix_file<T>(path);
    EXPECT_EQ(back.info.field, "complex") << ending;
    EXPECT_EQ(elements(to_dense(MatrixRef<T>(back.matrix))), elements(to_dense<T>(A))) << ending;
    write_matrix<T>(path, MatrixRef<T>(D.view()));
    const Matrix<T> again = read_matrix<T>(path);
    EXPECT_EQ(elements(to_dense(MatrixRef<T>(again))), elements(D)) << ending;
    EXPECT_THROW(static_cast<void>(read_matrix<double>(path)), ParseError) << ending;
    EXPECT_EQ(read_any_matrix_file(path).index(), 1U) << ending;
  }
  EXPECT_THROW(write_matrix<T>(testing::TempDir() + "complex_test.txt", A), InvalidMatrix);
}

}  // namespace
}  // namespace echelon::test
