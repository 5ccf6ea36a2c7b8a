// SPDX-License-Identifier: BSD-3-Clause
#include "support/sparse_algebra.hpp"

#include <echelon/error.hpp>
#include <echelon/linalg/sparse_sum.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace echelon::test {
namespace {

const std::vector<Device> devices = {Device::serial(), Device::openmp(1), Device::openmp(3)};

template <class T>
class SparseSumTest : public testing::Test {};
using Values = testing::Types<float, double>;
TYPED_TEST_SUITE(SparseSumTest, Values);

TYPED_TEST(SparseSumTest, AgreesWithPlainLoops) {
  using T = TypeParam;
  for (const auto& [name, A, B] : summand_pairs<T>()) {
    for (const T alpha : {T{1}, T{-0.5}, T{0}}) {
      for (const Device& device : devices) {
        SCOPED_TRACE(name + " on " + device.name());
        const T beta = T{3} - alpha;
        const Csr<T> expected = plain_sum(alpha, A, beta, B);
        const Csr<T> a = A.to(device);
        const Csr<T> b = B.to(device);
        expect_identical(add(alpha, a, beta, b), expected);
        const SparseSum<T> sum(a, b);
        EXPECT_EQ(sum.nonzeros(), expected.nonzeros());
        Csr<T> C = sum.compute(alpha, a, beta, b);
        EXPECT_EQ(C.device(), device);
        expect_identical(C, expected);
        const Csr<T> b2 = with_new_values(b, 79);
        sum.update(beta, a, alpha, b2, C);
        expect_identical(C, plain_sum(beta, A, alpha, b2));
      }
    }
  }
}

TYPED_TEST(SparseSumTest, AddThenSubtract_GivesOriginalValues) {
  using T = TypeParam;
  const Csr<T> A = random_matrix<T>(301, 200, 5, 1);
  MapRows<T> whole = to_rows(random_matrix<T>(301, 200, 5, 2));
  MapRows<T> rows = to_rows(A);
  for (auto* side : {&whole, &rows}) {
    for (auto& row : *side) {
      for (auto& element : row) element.second = std::round(element.second * 100);
    }
  }
  const Csr<T> a = from_rows(200, rows);
  const Csr<T> b = from_rows(200, whole);
  MapRows<T> back = to_rows(add(T{1}, add(T{1}, a, T{1}, b), T{-1}, b));
  std::size_t zeros = 0;
  for (std::size_t i = 0; i < back.size(); ++i) {
    for (const auto& [j, value] : back[i]) {
      const auto place = rows[i].find(j);
      EXPECT_EQ(value, place == rows[i].end() ? T{0} : place->second);
      zeros += place == rows[i].end() ? 1 : 0;
    }
    for (const auto& element : rows[i]) EXPECT_TRUE(back[i].contains(element.first));
  }
  EXPECT_GT(zeros, 0U) << "places of b alone stay stored";
}

TYPED_TEST(SparseSumTest, Zeros_AreKept_NaNPropagates) {
  using T = TypeParam;
  const T inf = std::numeric_limits<T>::infinity();
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const Csr<T> A(2, 3, {0, 2, 3}, {0, 2, 1}, {T{1}, inf, nan});
  for (const Device& device : devices) {
    const Csr<T> a = A.to(device);
    const Csr<T> C = add(T{1}, a, T{-1}, a);
    EXPECT_EQ(C.column_indices().to_vector(), A.column_indices().to_vector());
    EXPECT_EQ(C.values()[0], 0);
    EXPECT_TRUE(std::isnan(C.values()[1]));
    EXPECT_TRUE(std::isnan(C.values()[2]));
    EXPECT_TRUE(std::isnan(add(T{0}, a, T{0}, a).values()[1])) << "0 * infinity";
  }
}

TYPED_TEST(SparseSumTest, InvalidOperands_Throw) {
  using T = TypeParam;
  const Csr<T> A = random_matrix<T>(20, 30, 4, 1);
  const Csr<T> B = random_matrix<T>(20, 30, 4, 2);
  EXPECT_THROW(static_cast<void>(add(T{1}, A, T{1}, random_matrix<T>(20, 31, 4, 1))), DimensionMismatch);
  EXPECT_THROW(static_cast<void>(add(T{1}, A, T{1}, random_matrix<T>(21, 30, 4, 1))), DimensionMismatch);
  const SparseSum<T> sum(A, B);
  Csr<T> C = sum.compute(T{1}, A, T{1}, B);
  EXPECT_THROW(sum.update(T{1}, A, T{1}, A, C), DimensionMismatch);
  Csr<T> other = A;
  EXPECT_THROW(sum.update(T{1}, A, T{1}, B, other), DimensionMismatch);
}

TYPED_TEST(SparseSumTest, OtherPattern_Throws) {
  using T = TypeParam;
  const Csr<T> A(2, 3, {0, 1, 2}, {0, 1}, {T{1}, T{2}});
  const Csr<T> B(2, 3, {0, 1, 2}, {0, 2}, {T{1}, T{2}});
  const Csr<T> shorter(2, 3, {0, 1, 2}, {0, 1}, {T{1}, T{2}});
  const Csr<T> longer(2, 3, {0, 1, 2}, {1, 2}, {T{1}, T{2}});
  const Csr<T> elsewhere(2, 3, {0, 1, 2}, {0, 0}, {T{1}, T{2}});
  for (const Device& device : devices) {
    const SparseSum<T> sum(A.to(device), B.to(device));
    Csr<T> C = sum.compute(T{1}, A.to(device), T{1}, B.to(device));
    for (const Csr<T>& other : {shorter, longer, elsewhere}) {
      EXPECT_THROW(sum.update(T{1}, A.to(device), T{1}, other.to(device), C), InvalidMatrix);
    }
  }
}

}  // namespace
}  // namespace echelon::test
