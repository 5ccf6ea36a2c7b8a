// SPDX-License-Identifier: BSD-3-Clause
#include <echelon/error.hpp>

#include <gtest/gtest.h>

namespace echelon::test {
namespace {

TEST(BadOption, Message_EndsWithSuggestion) {
  const BadOption with("preconditioner.weigth", "there is no option 'weigth'", "weight");
  EXPECT_STREQ(with.what(), "there is no option 'weigth'; did you mean 'weight'?");
  EXPECT_EQ(with.path(), "preconditioner.weigth");
  EXPECT_EQ(with.did_you_mean(), "weight");
  EXPECT_STREQ(BadOption("x", "there is no option 'x'").what(), "there is no option 'x'");
}

TEST(BadOption, NearestName) {
  EXPECT_EQ(nearest_name("jacbi", {"cg", "jacobi", "gmres"}), "jacobi");
  EXPECT_EQ(nearest_name("cg", {"cg", "jacobi"}), "cg");
  EXPECT_EQ(nearest_name("bicg", {"cg", "bicgstab"}), "cg");
  EXPECT_EQ(nearest_name("gc", {"cg", "jacobi"}), "cg");
  EXPECT_EQ(nearest_name("gmers", {"gears", "gmres"}), "gmres");
  EXPECT_EQ(nearest_name("jaocbi", {"jacobi", "cg"}), "jacobi");
  EXPECT_EQ(nearest_name("ab", {"ba"}), "ba");
  EXPECT_EQ(nearest_name("abcd", {"badc", "xbxd"}), "badc");  // two exchanges, and two substitutions
  EXPECT_EQ(nearest_name("zzzzzz", {"cg", "jacobi"}), "");
  EXPECT_EQ(nearest_name("", {"jacobi"}), "");
  EXPECT_EQ(nearest_name("jacobi", {}), "");
}

}  // namespace
}  // namespace echelon::test
