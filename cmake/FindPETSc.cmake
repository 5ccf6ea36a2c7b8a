# SPDX-License-Identifier: BSD-3-Clause
# PETSc with real numbers in double precision, and the MPI that it was built with: the target PETSc::PETSc.
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_search_module(PETSC QUIET IMPORTED_TARGET PETSc petsc)
endif()
find_package(MPI QUIET COMPONENTS CXX)

set(PETSC_SCALARS_FIT FALSE)
if(PETSC_FOUND)
  find_file(PETSC_CONFIGURATION petscconf.h PATHS ${PETSC_INCLUDE_DIRS} NO_DEFAULT_PATH)
  find_path(PETSC_PRIVATE_INCLUDE_DIR petsc/private/matimpl.h PATHS ${PETSC_INCLUDE_DIRS} NO_DEFAULT_PATH)
  mark_as_advanced(PETSC_CONFIGURATION PETSC_PRIVATE_INCLUDE_DIR)
  if(PETSC_CONFIGURATION)
    file(STRINGS ${PETSC_CONFIGURATION} real_double REGEX "define PETSC_USE_REAL_DOUBLE 1")
    file(STRINGS ${PETSC_CONFIGURATION} complex REGEX "define PETSC_USE_COMPLEX 1")
    if(real_double AND NOT complex)
      set(PETSC_SCALARS_FIT TRUE)
    endif()
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(PETSc
  REQUIRED_VARS PETSC_LINK_LIBRARIES PETSC_PRIVATE_INCLUDE_DIR PETSC_SCALARS_FIT MPI_CXX_FOUND
  VERSION_VAR PETSC_VERSION
  REASON_FAILURE_MESSAGE "Install PETSc with real numbers in double precision (Debian: libpetsc-real-dev), or name its \
pkg-config files by PKG_CONFIG_PATH.")

if(PETSc_FOUND AND NOT TARGET PETSc::PETSc)
  add_library(PETSc::PETSc INTERFACE IMPORTED)
  target_include_directories(PETSc::PETSc SYSTEM INTERFACE ${PETSC_INCLUDE_DIRS})
  target_link_libraries(PETSc::PETSc INTERFACE ${PETSC_LINK_LIBRARIES} MPI::MPI_CXX)
endif()
