// SPDX-License-Identifier: BSD-3-Clause
/// PETSc objects for the tests of the plug-in.
#pragma once

#include <gtest/gtest.h>
#include <petscksp.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace petsc_test {

/// Expects that a call of PETSc succeeds.
#define EXPECT_PETSC(call) EXPECT_EQ((call), PetscErrorCode{})

/// A PETSc object that is destroyed with its owner.
template <class Handle, PetscErrorCode (*release)(Handle*)>
class Owned {
 public:
  Owned() = default;
  explicit Owned(Handle handle) : handle_(handle) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() { EXPECT_PETSC(release(&handle_)); }
  operator Handle() const { return handle_; }  // NOLINT(google-explicit-constructor)
  [[nodiscard]] Handle* address() { return &handle_; }

 private:
  Handle handle_ = nullptr;
};
using Matrix = Owned<Mat, MatDestroy>;
using Vector = Owned<Vec, VecDestroy>;
using Krylov = Owned<KSP, KSPDestroy>;

/// Options in PETSc's database, removed in the destructor.
class GivenOptions {
 public:
  explicit GivenOptions(std::initializer_list<std::pair<const char*, const char*>> options) {
    for (const auto& [name, value] : options) {
      EXPECT_PETSC(PetscOptionsSetValue(nullptr, name, value));
      names_.emplace_back(name);
    }
  }
  GivenOptions(const GivenOptions&) = delete;
  GivenOptions& operator=(const GivenOptions&) = delete;
  ~GivenOptions() {
    for (const std::string& name : names_) EXPECT_PETSC(PetscOptionsClearValue(nullptr, name.c_str()));
  }

 private:
  std::vector<std::string> names_;
};

/// Turns errors of PETSc into their codes, and keeps the first message.
class CaughtErrors {
 public:
  CaughtErrors() { EXPECT_PETSC(PetscPushErrorHandler(record, this)); }
  CaughtErrors(const CaughtErrors&) = delete;
  CaughtErrors& operator=(const CaughtErrors&) = delete;
  ~CaughtErrors() { EXPECT_PETSC(PetscPopErrorHandler()); }
  [[nodiscard]] const std::string& message() const { return message_; }

 private:
  static PetscErrorCode record(MPI_Comm, int, const char*, const char*, PetscErrorCode code, PetscErrorType,
                               const char* text, void* context) {
    std::string& message = static_cast<CaughtErrors*>(context)->message_;
    if (message.empty() && text != nullptr) message = text;
    return code;
  }
  std::string message_;
};

/// Matrix of the given type on one process; element(i, j) is stored if it is not zero.
inline Matrix make_matrix(const char* type, PetscInt rows, PetscInt columns,
                          const std::function<double(PetscInt, PetscInt)>& element) {
  Matrix A;
  EXPECT_PETSC(MatCreate(PETSC_COMM_SELF, A.address()));
  EXPECT_PETSC(MatSetSizes(A, rows, columns, rows, columns));
  EXPECT_PETSC(MatSetType(A, type));
  EXPECT_PETSC(MatSetUp(A));
  EXPECT_PETSC(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  const bool triangle = std::string_view(type) == MATSEQSBAIJ;
  for (PetscInt i = 0; i < rows; ++i) {
    for (PetscInt j = 0; j < columns; ++j) {
      if (element(i, j) == 0 || (triangle && j < i)) continue;
      EXPECT_PETSC(MatSetValue(A, i, j, element(i, j), INSERT_VALUES));
    }
  }
  EXPECT_PETSC(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  EXPECT_PETSC(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  return A;
}

/// Five-point Laplacian of an m by m grid, plus `shift` times the identity.
inline std::function<double(PetscInt, PetscInt)> laplacian(PetscInt m, double shift = 0) {
  return [m, shift](PetscInt i, PetscInt j) {
    if (i == j) return 4 + shift;
    const PetscInt low = std::min(i, j);
    const PetscInt high = std::max(i, j);
    const bool neighbours = high == low + m || (high == low + 1 && high % m != 0);
    return neighbours ? -1.0 : 0.0;
  };
}

/// Laplacian with convection: not symmetric.
inline std::function<double(PetscInt, PetscInt)> convection(PetscInt m) {
  return [diffusion = laplacian(m)](PetscInt i, PetscInt j) {
    return diffusion(i, j) * (j == i + 1 ? 1.4 : j == i - 1 ? 0.6 : 1);
  };
}

/// Vector with the elements f(i).
inline Vector make_vector(PetscInt n, const std::function<double(PetscInt)>& f) {
  Vector x;
  EXPECT_PETSC(VecCreateSeq(PETSC_COMM_SELF, n, x.address()));
  for (PetscInt i = 0; i < n; ++i) EXPECT_PETSC(VecSetValue(x, i, f(i), INSERT_VALUES));
  EXPECT_PETSC(VecAssemblyBegin(x));
  EXPECT_PETSC(VecAssemblyEnd(x));
  return x;
}

/// A vector without structure.
inline Vector make_solution(PetscInt n) {
  return make_vector(n, [](PetscInt i) { return 1 + std::sin(1.7 * static_cast<double>(i)); });
}

/// ||x - y|| / ||y|| in the Euclidean norm; the norm of x for y = 0.
inline double relative_distance(Vec x, Vec y) {
  Vector difference;
  double distance = 0;
  double norm = 0;
  EXPECT_PETSC(VecDuplicate(x, difference.address()));
  EXPECT_PETSC(VecWAXPY(difference, -1, y, x));
  EXPECT_PETSC(VecNorm(difference, NORM_2, &distance));
  EXPECT_PETSC(VecNorm(y, NORM_2, &norm));
  return norm > 0 ? distance / norm : distance;
}

}  // namespace petsc_test
