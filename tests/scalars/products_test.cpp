// SPDX-License-Identifier: BSD-3-Clause
/// Products, vector operations and conversions of complex matrices.
#include "scalars/complex_systems.hpp"

namespace echelon::test {
namespace {

template <class T>
class ComplexProducts : public ComplexSystems<T> {};
TYPED_TEST_SUITE(ComplexProducts, ComplexTypes);

TYPED_TEST(ComplexProducts, ProductsOfEachOperation) {
  using T = TypeParam;
  const T alpha = {2, -1};
  const T beta = {-1, 3};
  const Exact exact_alpha(2, -1);
  const Exact exact_beta(-1, 3);
  for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {7, 12}, {300, 290}}) {
    const Entries entries = random_entries(m, n, 5);
    const Csr<T> A = sparse<T>(entries);
    const Dense<T> D = dense<T>(entries);
    const DenseView<const T> by_row = transposed(DenseView<const T>(D));  // of the transpose
    for (const Operation operation : {Operation::none, Operation::transpose, Operation::adjoint}) {
      const Entries op = operate(operation, entries);
      for (const std::int64_t columns : {1, 3}) {
        std::vector<Vector> x;
        std::vector<Vector> y;
        Random random(9);
        for (std::int64_t c = 0; c < columns; ++c) {
          x.push_back(random.vector(op.columns));
          y.push_back(random.vector(op.rows));
        }
        const Dense<T> X = matrix_of<T>(x);
        const Dense<T> Y = matrix_of<T>(y);
        Dense<T> of_sparse = Y;
        Dense<T> of_dense = Y;
        Dense<T> of_rows = Y;
        multiply<T>(operation, alpha, A, X, beta, of_sparse);
        multiply<T>(operation, alpha, MatrixRef<T>(D.view()), X, beta, of_dense);
        if (operation == Operation::none) multiply<T>(Operation::transpose, alpha, by_row, X, beta, of_rows);
        if (operation == Operation::transpose) multiply<T>(Operation::none, alpha, by_row, X, beta, of_rows);
        for (std::int64_t c = 0; c < columns; ++c) {
          Vector expected = product(op, x[static_cast<std::size_t>(c)]);
          for (std::size_t i = 0; i < expected.size(); ++i)
            expected[i] = exact_alpha * expected[i] + exact_beta * y[static_cast<std::size_t>(c)][i];
          const double limit = 20 * epsilon<T>;
          EXPECT_LT(relative_error(of_sparse.view().column(c), expected), limit);
          EXPECT_LT(relative_error(of_dense.view().column(c), expected), limit);
          if (operation == Operation::adjoint) continue;
          EXPECT_LT(relative_error(of_rows.view().column(c), expected), limit);
        }
      }
    }
  }
}

TYPED_TEST(ComplexProducts, DotConjugatesItsFirstArgument) {
  for (const std::int64_t n : {0, 1, 31, 5000}) expect_reductions<TypeParam>(n, Device());
}

TYPED_TEST(ComplexProducts, MatricesConvertAndSumDuplicates) {
  using T = TypeParam;
  const Csr<T> A = Csr<T>::from_triplets(2, 3, {{0, 1, T{1, 2}}, {1, 2, T{0, -1}}, {0, 1, T{3, 4}}});
  const Dense<T> D = to_dense<T>(A);
  EXPECT_EQ(D(0, 1), (T{4, 6}));
  EXPECT_EQ(to_dense<T>(transpose(A))(2, 1), (T{0, -1}));
  EXPECT_EQ(to_csr<T>(MatrixRef<T>(D.view())).nonzeros(), 2);
  EXPECT_EQ(to_csr<T>(to_coo<T>(A)).values()[0], (T{4, 6}));
}

}  // namespace
}  // namespace echelon::test
