# SPDX-License-Identifier: BSD-3-Clause
# Orderings of SuiteSparse: a target SuiteSparse::NAME for each of the components AMD, CAMD and COLAMD. All have a BSD
# licence.
include(FindPackageHandleStandardArgs)
find_library(SUITESPARSECONFIG_LIBRARY NAMES suitesparseconfig)
mark_as_advanced(SUITESPARSECONFIG_LIBRARY)
foreach(component IN LISTS SuiteSparse_FIND_COMPONENTS)
  string(TOLOWER ${component} name)
  find_path(${component}_INCLUDE_DIR NAMES ${name}.h PATH_SUFFIXES suitesparse)
  find_library(${component}_LIBRARY NAMES ${name})
  mark_as_advanced(${component}_INCLUDE_DIR ${component}_LIBRARY)
  if(${component}_INCLUDE_DIR AND ${component}_LIBRARY)
    set(SuiteSparse_${component}_FOUND TRUE)
  endif()
endforeach()

find_package_handle_standard_args(SuiteSparse
  REQUIRED_VARS SUITESPARSECONFIG_LIBRARY
  HANDLE_COMPONENTS
  REASON_FAILURE_MESSAGE "Install SuiteSparse (Debian: libsuitesparse-dev), or name its place with
      -DCMAKE_PREFIX_PATH=.")

foreach(component IN LISTS SuiteSparse_FIND_COMPONENTS)
  if(SuiteSparse_FOUND AND NOT TARGET SuiteSparse::${component})
    add_library(SuiteSparse::${component} INTERFACE IMPORTED)
    target_include_directories(SuiteSparse::${component} INTERFACE ${${component}_INCLUDE_DIR})
    target_link_libraries(SuiteSparse::${component} INTERFACE ${${component}_LIBRARY} ${SUITESPARSECONFIG_LIBRARY})
  endif()
endforeach()
