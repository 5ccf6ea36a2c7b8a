// SPDX-License-Identifier: BSD-3-Clause
#include "failure.hpp"

#include "../guard.hpp"
#include "problem.hpp"

#include <echelon/error.hpp>

#include <fcntl.h>
#include <petscblaslapack.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <string_view>

namespace echelon::petsc {

namespace {

/// Arguments of the error handler, which has no other state.
std::string error_file;

std::string_view kind_of(PetscErrorCode code) {
  switch (code) {
    case PETSC_ERR_MEM:
      return "out_of_memory";
    case PETSC_ERR_MAT_LU_ZRPVT:
    case PETSC_ERR_MAT_CH_ZRPVT:
    case PETSC_ERR_NOT_CONVERGED:
    case PETSC_ERR_FP:
      return "breakdown";
    case PETSC_ERR_USER_INPUT:
      return "option";
    default:
      return "error";
  }
}

[[noreturn]] void abort_with(std::string_view kind, const std::string& message) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::string text = std::to_string(rank) + "\n" + std::string(kind) + "\n" + message + "\n";
  // A file that exists is that of the process that failed first.
  const int file = ::open(error_file.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (file >= 0) {
    if (::write(file, text.data(), text.size()) < 0) error_file.clear();
    ::close(file);
  }
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

PetscErrorCode on_petsc_error(MPI_Comm /*comm*/, int /*line*/, const char* function, const char* /*file*/,
                              PetscErrorCode code, PetscErrorType type, const char* message,
                              void* /*context*/) {
  if (type != PETSC_ERROR_INITIAL) return code;
  // PETSc 3.18 passes a line number in place of the code when its allocation fails.
  const std::string_view place = function != nullptr ? function : "";
  if (place == "PetscMallocAlign" || place == "PetscReallocAlign")
    abort_with("out_of_memory", "out of memory on the host");
  const char* general = nullptr;
  if (PetscErrorMessage(code, &general, nullptr) != success) general = nullptr;
  std::string text = general != nullptr ? general : "error " + std::to_string(static_cast<int>(code));
  // Numerical failures and options have messages of Echelon's own.
  const bool own = kind_of(code) == "breakdown" || kind_of(code) == "option";
  const bool given = message != nullptr && *message != '\0';
  if (given) text = own ? message : text + ": " + message;
  if (!own && !place.empty()) text += " (in " + std::string(place) + ")";
  abort_with(kind_of(code), text);
}

}  // namespace

PetscErrorCode install_failure_handler(const std::string& folder) {
  error_file = std::filesystem::path(folder) / exchange::error;
  return PetscPushErrorHandler(on_petsc_error, nullptr);
}

void reserve_blas_buffer() {
  constexpr std::size_t enough = std::size_t{256} << 20;
  void* const memory = std::malloc(enough);
  if (memory == nullptr) abort_with("out_of_memory", "out of memory on the host");
  std::free(memory);
  const PetscBLASInt one = 1;
  const double factor = 1;
  const double L = 1;
  double x = 1;
  BLAStrsm_("L", "L", "N", "N", &one, &one, &factor, &L, &one, &x, &one);
}

void end_all(const std::exception& error) {
  const bool plain = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
  abort_with(kind_of(error_code(error)), plain ? "out of memory on the host" : error.what());
}

}  // namespace echelon::petsc
