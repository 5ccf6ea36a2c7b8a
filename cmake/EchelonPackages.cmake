# SPDX-License-Identifier: BSD-3-Clause
# Debian packages by CPack, see scripts/packages: the library with its C and Fortran interfaces, what programs are compiled
# with, the tool, and the Python package. They are made of a shared library without internal names.
if(NOT BUILD_SHARED_LIBS OR ECHELON_EXPORT_INTERNALS)
  return()
endif()
get_target_property(interface_version echelon SOVERSION)
set(library_package libechelon${interface_version})
set(this_version "(= ${PROJECT_VERSION}-1)")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME echelon)
set(CPACK_PACKAGE_CONTACT "Echelon contributors")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/src ${PROJECT_BINARY_DIR}/fortran)

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME ${library_package})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "Solves linear systems, and says how well (shared library)")
if(OPENBLAS_LIBRARY)
  # The library's threads are OpenMP's; the other variants of OpenBLAS would compete with them.
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS libopenblas0-openmp)
endif()

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libechelon-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${library_package} ${this_version}")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Solves linear systems, and says how well (headers)")

if(TARGET echelon_tool)
  list(APPEND CPACK_COMPONENTS_ALL tool)
  set(CPACK_DEBIAN_TOOL_PACKAGE_NAME echelon)
  set(CPACK_DEBIAN_TOOL_PACKAGE_SECTION math)
  set(CPACK_DEBIAN_TOOL_PACKAGE_DEPENDS "${library_package} ${this_version}")
  set(CPACK_COMPONENT_TOOL_DESCRIPTION "Solves linear systems, and says how well (command-line tool)")
endif()

if(TARGET echelon_python)
  list(APPEND CPACK_COMPONENTS_ALL python3)
  math(EXPR next_minor "${Python_VERSION_MINOR} + 1")
  set(CPACK_DEBIAN_PYTHON3_PACKAGE_NAME python3-echelon)
  set(CPACK_DEBIAN_PYTHON3_PACKAGE_SECTION python)
  # nanobind's run-time part is that of one minor version of Python.
  set(CPACK_DEBIAN_PYTHON3_PACKAGE_DEPENDS "${library_package} ${this_version}, python3-numpy, \
python3 (>= 3.${Python_VERSION_MINOR}), python3 (<< 3.${next_minor})")
  set(CPACK_DEBIAN_PYTHON3_PACKAGE_RECOMMENDS python3-scipy)
  set(CPACK_COMPONENT_PYTHON3_DESCRIPTION "Solves linear systems, and says how well (Python package)")
endif()

# Debian's packages have their licences in a file of this name.
file(READ ${PROJECT_SOURCE_DIR}/LICENSE licence)
file(READ ${PROJECT_SOURCE_DIR}/NOTICE notice)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/copyright CONTENT "${licence}\n${notice}" @ONLY)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} name)
  install(FILES ${PROJECT_BINARY_DIR}/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${CPACK_DEBIAN_${name}_PACKAGE_NAME}
          COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()
include(CPack)
