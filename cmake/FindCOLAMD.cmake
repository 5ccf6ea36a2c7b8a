# SPDX-License-Identifier: BSD-3-Clause
# SuiteSparse's column ordering for unsymmetric matrices: the target COLAMD::COLAMD.
find_path(COLAMD_INCLUDE_DIR NAMES colamd.h PATH_SUFFIXES suitesparse)
find_library(COLAMD_LIBRARY NAMES colamd)
find_library(SUITESPARSECONFIG_LIBRARY NAMES suitesparseconfig)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(COLAMD
  REQUIRED_VARS COLAMD_LIBRARY SUITESPARSECONFIG_LIBRARY COLAMD_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "Install SuiteSparse's COLAMD (Debian: libsuitesparse-dev), or name its place with
      -DCMAKE_PREFIX_PATH=.")

if(COLAMD_FOUND AND NOT TARGET COLAMD::COLAMD)
  add_library(COLAMD::COLAMD INTERFACE IMPORTED)
  target_include_directories(COLAMD::COLAMD INTERFACE ${COLAMD_INCLUDE_DIR})
  target_link_libraries(COLAMD::COLAMD INTERFACE ${COLAMD_LIBRARY} ${SUITESPARSECONFIG_LIBRARY})
endif()
mark_as_advanced(COLAMD_INCLUDE_DIR COLAMD_LIBRARY SUITESPARSECONFIG_LIBRARY)
