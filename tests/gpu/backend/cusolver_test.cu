// SPDX-License-Identifier: BSD-3-Clause
/// Needs the toolkit's libraries and no GPU.
#include "backend/cuda/cusolver.cuh"

#include <echelon/error.hpp>

#include <gtest/gtest.h>

#include <string>

namespace echelon {
namespace {

TEST(CusolverLibrary, HasEveryFunction) {
  const CusolverFunctions& functions = cusolver();
  EXPECT_NE(functions.DnCreate, nullptr);
  EXPECT_NE(functions.DnDormqr, nullptr);
  EXPECT_EQ(&cusolver(), &functions);
}

TEST(CusolverLibrary, Missing_ErrorExplains) {
  try {
    static_cast<void>(load_cusolver("libcusolver.so.0"));
    FAIL() << "no exception";
  } catch (const CudaError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("libcusolver.so.0"), std::string::npos) << message;
    EXPECT_NE(message.find("LD_LIBRARY_PATH"), std::string::npos) << message;
  }
}

TEST(CusolverLibrary, OtherLibrary_ErrorNamesTheFunction) {
  try {
    static_cast<void>(load_cusolver("libc.so.6"));
    FAIL() << "no exception";
  } catch (const CudaError& error) {
    EXPECT_NE(std::string(error.what()).find("cusolverDnCreate"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace echelon
