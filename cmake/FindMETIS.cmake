# SPDX-License-Identifier: BSD-3-Clause
# METIS, graph partitioning and nested dissection: the target METIS::METIS.
find_path(METIS_INCLUDE_DIR NAMES metis.h)
find_library(METIS_LIBRARY NAMES metis)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(METIS
  REQUIRED_VARS METIS_LIBRARY METIS_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "Install METIS (Debian: libmetis-dev), or name its place with -DCMAKE_PREFIX_PATH=.")

if(METIS_FOUND AND NOT TARGET METIS::METIS)
  add_library(METIS::METIS INTERFACE IMPORTED)
  target_include_directories(METIS::METIS INTERFACE ${METIS_INCLUDE_DIR})
  target_link_libraries(METIS::METIS INTERFACE ${METIS_LIBRARY})
endif()
mark_as_advanced(METIS_INCLUDE_DIR METIS_LIBRARY)
