# SPDX-License-Identifier: BSD-3-Clause
# Python and nanobind, which a Python package brings: that of the environment build/python, which
# scripts/python-environment makes, or else of the Python that is found first.
set(environment ${PROJECT_SOURCE_DIR}/build/python)
if(NOT Python_EXECUTABLE AND NOT SKBUILD AND EXISTS ${environment}/bin/python)
  set(Python_EXECUTABLE ${environment}/bin/python CACHE FILEPATH "Python for the package and its tests")
endif()
find_package(Python 3.10 QUIET COMPONENTS Interpreter Development.Module)
if(Python_FOUND)
  execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir OUTPUT_VARIABLE nanobind_ROOT
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  find_package(nanobind 3.1 QUIET CONFIG)
endif()
if(nanobind_FOUND)
  message(STATUS "The Python package is built for ${Python_EXECUTABLE}, nanobind ${nanobind_VERSION}")
elseif(ECHELON_PYTHON STREQUAL AUTO)
  message(STATUS "The Python package is not built: it needs nanobind 3.1, which scripts/python-environment installs")
else()
  message(FATAL_ERROR "The Python package needs the headers of Python 3.10 and nanobind 3.1 (scripts/python-environment)")
endif()
