# SPDX-License-Identifier: BSD-3-Clause
# LAPACKE and CBLAS of OpenBLAS: the target LAPACKE::LAPACKE; with ECHELON_STATIC_BLAS the static libraries of Debian.
find_path(LAPACKE_INCLUDE_DIR NAMES lapacke.h PATH_SUFFIXES openblas)
find_path(CBLAS_INCLUDE_DIR NAMES cblas.h PATH_SUFFIXES openblas x86_64-linux-gnu aarch64-linux-gnu)
if(ECHELON_STATIC_BLAS)
  find_library(LAPACKE_LIBRARY NAMES liblapacke.a REQUIRED)
  find_library(OPENBLAS_LIBRARY NAMES libopenblas.a PATH_SUFFIXES x86_64-linux-gnu/openblas-openmp aarch64-linux-gnu/openblas-openmp)
  find_library(GFORTRAN_LIBRARY NAMES libgfortran.so.5 REQUIRED)
  mark_as_advanced(GFORTRAN_LIBRARY)
else()
  find_library(LAPACKE_LIBRARY NAMES lapacke)
  find_library(OPENBLAS_LIBRARY NAMES openblas)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LAPACKE
  REQUIRED_VARS OPENBLAS_LIBRARY LAPACKE_INCLUDE_DIR CBLAS_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "Install OpenBLAS and LAPACKE (Debian: libopenblas-openmp-dev liblapacke-dev), or name
      their places with -DCMAKE_PREFIX_PATH=.")

if(LAPACKE_FOUND AND NOT TARGET LAPACKE::LAPACKE)
  add_library(LAPACKE::LAPACKE INTERFACE IMPORTED)
  target_include_directories(LAPACKE::LAPACKE INTERFACE ${LAPACKE_INCLUDE_DIR} ${CBLAS_INCLUDE_DIR})
  # OpenBLAS may contain LAPACKE; a separate library takes precedence.
  target_link_libraries(LAPACKE::LAPACKE INTERFACE $<$<BOOL:${LAPACKE_LIBRARY}>:${LAPACKE_LIBRARY}>
                                                   ${OPENBLAS_LIBRARY} ${GFORTRAN_LIBRARY})
endif()
mark_as_advanced(LAPACKE_INCLUDE_DIR CBLAS_INCLUDE_DIR LAPACKE_LIBRARY OPENBLAS_LIBRARY)
