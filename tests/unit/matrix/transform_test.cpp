// SPDX-License-Identifier: BSD-3-Clause
#include "support/transform_cases.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace echelon::test {
namespace {

TEST(Transform, AwkwardShapes_Double) {
  for (const EntryList& list : awkward_lists(1'003, 1)) check_transforms<double>(list, Device::serial());
  for (const EntryList& list : awkward_lists(4'003, 1)) check_transforms<double>(list, Device::openmp(3));
}

TEST(Transform, AwkwardShapes_Float) {
  for (const EntryList& list : awkward_lists(1'003, 2)) check_transforms<float>(list, Device::openmp(2));
}

/// The message of the error that f throws.
template <class Exception, class F>
std::string complaint(F f) {
  try {
    static_cast<void>(f());
  } catch (const Exception& error) {
    return error.what();
  }
  return "none";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(TransformErrors, InvalidLists_Throw) {
  const Csr<double> a(2, 3, {0, 1, 2}, {1, 2}, {5.0, 6.0});
  const Array<std::int32_t> good = {1, 0};
  const Array<std::int32_t> columns = {2, 0, 1};
  EXPECT_TRUE(contains(complaint<DimensionMismatch>([&] { return permute_rows(a, columns); }),
                       "permutation of 3 rows"));
  EXPECT_TRUE(contains(complaint<DimensionMismatch>([&] { return permute(a, good, good); }), "2 by 3"));
  EXPECT_TRUE(contains(complaint<InvalidMatrix>([&] {
                         return permute_rows(a, {1, 1});
                       }),
                       "row 1 occurs twice"));
  EXPECT_TRUE(contains(complaint<InvalidMatrix>([&] { return permute_columns(a, {0, 3, 1}); }), "place 1"));
  EXPECT_TRUE(contains(complaint<InvalidMatrix>([&] { return permute_columns(a, {0, 3, 1}); }), "column 3"));
  EXPECT_TRUE(contains(complaint<InvalidMatrix>([&] {
                         return submatrix(a, {0, 0, -1}, columns);
                       }),
                       "place 2"));
  EXPECT_EQ(submatrix(a, {1, 1, 1}, columns).nonzeros(), 3);
}

TEST(TransformErrors, InvalidRanges_Throw) {
  const Csr<double> a(2, 3, {0, 1, 2}, {1, 2}, {5.0, 6.0});
  EXPECT_TRUE(contains(complaint<InvalidMatrix>([&] { return submatrix(a, 0, 3, 0, 3); }), "rows [0, 3)"));
  EXPECT_TRUE(
      contains(complaint<InvalidMatrix>([&] { return submatrix(a, 0, 2, -1, 3); }), "columns [-1, 3)"));
  EXPECT_THROW(static_cast<void>(submatrix(a, 2, 1, 0, 3)), InvalidMatrix);
  EXPECT_THROW(static_cast<void>(block_diagonal(a, 0)), InvalidMatrix);
  EXPECT_TRUE(contains(complaint<DimensionMismatch>([&] { return symmetrize(a); }), "2 by 3"));
}

TEST(TransformErrors, HugeCounts_Throw) {
  const Csr<double> a(2, 2, {0, 1, 2}, {0, 1}, {5.0, 6.0});
  EXPECT_THROW(static_cast<void>(block_diagonal(a, std::int64_t{1} << 40)), InvalidMatrix);
  const auto tall = Csr<double>::unchecked(std::int64_t{1} << 31, 1, {0}, {}, {});
  EXPECT_TRUE(
      contains(complaint<InvalidMatrix>([&] { return permute_columns(tall, {0}); }), "2147483648 rows"));
}

TEST(Transform, AlgebraicIdentities) {
  for (const EntryList& list : awkward_lists(2'003, 3)) {
    SCOPED_TRACE(list.name);
    const Csr<double> a = csr_of(list.rows, list.columns, elements_of<double>(list));
    EXPECT_TRUE(equal_bits(transpose(transpose(a)), a));
    EXPECT_TRUE(equal_bits(transpose(lower_triangle(a, -2)), upper_triangle(transpose(a), 2)));
    EXPECT_EQ(lower_triangle(a, -1).nonzeros() + upper_triangle(a).nonzeros(), a.nonzeros());
    if (a.rows() != a.columns()) continue;
    const Csr<double> s = symmetrize(a);
    EXPECT_TRUE(equal_bits(transpose(s), s));
    EXPECT_TRUE(equal_bits(symmetrize(s), s));
  }
}

}  // namespace
}  // namespace echelon::test
