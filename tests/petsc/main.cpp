// SPDX-License-Identifier: BSD-3-Clause
// Initialises PETSc with the plug-in, and raises errors as codes, which the tests compare.
#include <echelon_petsc.h>
#include <gtest/gtest.h>
#include <petscsys.h>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  PetscErrorCode code = PetscInitialize(&argc, &argv, nullptr, nullptr);
  if (code == 0) code = EchelonPetscRegister();
  if (code != 0) return 2;
  const int failures = RUN_ALL_TESTS();
  return PetscFinalize() != 0 ? 2 : failures;
}
