# SPDX-License-Identifier: BSD-3-Clause
# SuiteSparse's approximate minimum degree ordering: the target AMD::AMD.
find_path(AMD_INCLUDE_DIR NAMES amd.h PATH_SUFFIXES suitesparse)
find_library(AMD_LIBRARY NAMES amd)
find_library(SUITESPARSECONFIG_LIBRARY NAMES suitesparseconfig)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(AMD
  REQUIRED_VARS AMD_LIBRARY SUITESPARSECONFIG_LIBRARY AMD_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "Install SuiteSparse's AMD (Debian: libsuitesparse-dev), or name its place with
      -DCMAKE_PREFIX_PATH=.")

if(AMD_FOUND AND NOT TARGET AMD::AMD)
  add_library(AMD::AMD INTERFACE IMPORTED)
  target_include_directories(AMD::AMD INTERFACE ${AMD_INCLUDE_DIR})
  target_link_libraries(AMD::AMD INTERFACE ${AMD_LIBRARY} ${SUITESPARSECONFIG_LIBRARY})
endif()
mark_as_advanced(AMD_INCLUDE_DIR AMD_LIBRARY SUITESPARSECONFIG_LIBRARY)
