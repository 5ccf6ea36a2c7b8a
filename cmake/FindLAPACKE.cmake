# SPDX-License-Identifier: BSD-3-Clause
# LAPACKE and CBLAS: the target LAPACKE::LAPACKE. OpenBLAS is preferred; BLA_VENDOR, or BLAS_LIBRARIES and LAPACK_LIBRARIES,
# as CMake's FindBLAS and FindLAPACK take them, choose another BLAS. ECHELON_STATIC_BLAS takes Debian's static OpenBLAS and
# LAPACKE, and the run time of OpenMP that these need; that of Fortran is in linalg/blas/concat_string.c.
if(ECHELON_STATIC_BLAS)
  find_library(OPENBLAS_STATIC_LIBRARY NAMES libopenblas.a REQUIRED
               PATH_SUFFIXES x86_64-linux-gnu/openblas-openmp aarch64-linux-gnu/openblas-openmp)
  find_library(LAPACKE_STATIC_LIBRARY NAMES liblapacke.a REQUIRED)
elseif(NOT BLA_VENDOR AND NOT BLAS_LIBRARIES)
  find_library(OPENBLAS_LIBRARY NAMES openblas)
endif()
mark_as_advanced(OPENBLAS_LIBRARY OPENBLAS_STATIC_LIBRARY LAPACKE_STATIC_LIBRARY)
if(ECHELON_STATIC_BLAS)
  set(BLAS_LIBRARIES ${OPENBLAS_STATIC_LIBRARY})
  set(LAPACK_LIBRARIES ${OPENBLAS_STATIC_LIBRARY})
elseif(OPENBLAS_LIBRARY)
  set(BLAS_LIBRARIES ${OPENBLAS_LIBRARY})
  set(LAPACK_LIBRARIES ${OPENBLAS_LIBRARY})
else()
  find_package(BLAS QUIET)
  find_package(LAPACK QUIET)
endif()
# BLAS and LAPACK may contain their C interfaces; separate libraries take precedence.
find_path(LAPACKE_INCLUDE_DIR NAMES lapacke.h PATH_SUFFIXES openblas)
find_path(CBLAS_INCLUDE_DIR NAMES cblas.h PATH_SUFFIXES openblas x86_64-linux-gnu aarch64-linux-gnu)
find_library(LAPACKE_LIBRARY NAMES lapacke)
find_library(CBLAS_LIBRARY NAMES cblas)
mark_as_advanced(LAPACKE_INCLUDE_DIR CBLAS_INCLUDE_DIR LAPACKE_LIBRARY CBLAS_LIBRARY)

if(ECHELON_STATIC_BLAS)
  set(lapacke_libraries ${LAPACKE_STATIC_LIBRARY} ${OPENBLAS_STATIC_LIBRARY} ${OpenMP_CXX_LIBRARIES} m)
else()
  set(lapacke_libraries)
  foreach(library ${LAPACKE_LIBRARY} ${LAPACK_LIBRARIES} ${CBLAS_LIBRARY} ${BLAS_LIBRARIES})
    if(NOT library MATCHES "NOTFOUND$")
      list(APPEND lapacke_libraries ${library})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES lapacke_libraries)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LAPACKE
  REQUIRED_VARS BLAS_LIBRARIES LAPACK_LIBRARIES LAPACKE_INCLUDE_DIR CBLAS_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "Install a BLAS and a LAPACK with their C interfaces CBLAS and LAPACKE (Debian:
      libopenblas-openmp-dev liblapacke-dev), name their places with -DCMAKE_PREFIX_PATH=, or choose libraries with
      -DBLA_VENDOR= or -DBLAS_LIBRARIES= -DLAPACK_LIBRARIES=.")

if(LAPACKE_FOUND)
  # Each C interface may be in a library of its own that was not found: this says so before the linker does.
  include(CheckFunctionExists)
  foreach(function cblas_dgemm LAPACKE_dgetrf_work)
    set(CMAKE_REQUIRED_LIBRARIES ${lapacke_libraries})
    check_function_exists(${function} ECHELON_HAS_${function})
    unset(CMAKE_REQUIRED_LIBRARIES)
    if(NOT ECHELON_HAS_${function})
      unset(ECHELON_HAS_${function} CACHE)
      set(LAPACKE_FOUND FALSE)
      set(LAPACKE_NOT_FOUND_MESSAGE "${function} is not in ${lapacke_libraries}: install the C interface of this library, \
or choose OpenBLAS and LAPACKE (Debian: libopenblas-openmp-dev liblapacke-dev)")
      if(LAPACKE_FIND_REQUIRED)
        message(FATAL_ERROR "${LAPACKE_NOT_FOUND_MESSAGE}")
      endif()
    endif()
  endforeach()
endif()

if(LAPACKE_FOUND AND NOT TARGET LAPACKE::LAPACKE)
  add_library(LAPACKE::LAPACKE INTERFACE IMPORTED)
  target_include_directories(LAPACKE::LAPACKE INTERFACE ${LAPACKE_INCLUDE_DIR} ${CBLAS_INCLUDE_DIR})
  target_link_libraries(LAPACKE::LAPACKE INTERFACE ${lapacke_libraries})
endif()
