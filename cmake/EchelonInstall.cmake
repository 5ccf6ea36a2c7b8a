# SPDX-License-Identifier: BSD-3-Clause
# Files of `cmake --install`: library, headers, tool, CMake package and pkg-config file. Components are what packages are made
# of: runtime, development, tool (apps/echelon), plug-in (petsc) and python3 (python, in packages only).
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/echelon)

install(TARGETS echelon EXPORT echelonTargets LIBRARY COMPONENT runtime NAMELINK_COMPONENT development
        ARCHIVE COMPONENT development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/echelon ${PROJECT_BINARY_DIR}/include/echelon TYPE INCLUDE
        COMPONENT development FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
install(EXPORT echelonTargets NAMESPACE echelon:: DESTINATION ${package_dir} COMPONENT development)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE ${PROJECT_SOURCE_DIR}/SECURITY.md TYPE DOC
        COMPONENT runtime)

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/echelonConfig.cmake.in
  ${PROJECT_BINARY_DIR}/echelonConfig.cmake INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may break the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/echelonConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/echelonConfig.cmake ${PROJECT_BINARY_DIR}/echelonConfigVersion.cmake
              ${CMAKE_CURRENT_LIST_DIR}/FindLAPACKE.cmake ${CMAKE_CURRENT_LIST_DIR}/FindSuiteSparse.cmake
              ${CMAKE_CURRENT_LIST_DIR}/FindMETIS.cmake
        DESTINATION ${package_dir} COMPONENT development)

if(NOT TARGET uninstall)
  add_custom_target(uninstall VERBATIM
    COMMAND ${CMAKE_COMMAND} -D manifest=${CMAKE_BINARY_DIR}/install_manifest.txt -P ${CMAKE_CURRENT_LIST_DIR}/uninstall.cmake)
endif()

# A static library does not record its dependencies: the pkg-config file names them.
set(pc_requires)
set(pc_libraries)
if(NOT BUILD_SHARED_LIBS)
  list(TRANSFORM OpenMP_CXX_LIB_NAMES PREPEND -l OUTPUT_VARIABLE pc_openmp)
  set(pc_libraries -lamd -lcamd -lcolamd -lsuitesparseconfig -lmetis ${pc_openmp} -pthread)
  if(ECHELON_CUDA)
    list(APPEND pc_libraries -L${CUDAToolkit_LIBRARY_DIR} -lcublas -lcudart)
  endif()
  if(ECHELON_OPENCL)
    list(APPEND pc_libraries -lOpenCL)
  endif()
  set(pc_requires "fmt zlib lapacke")
  if(OPENBLAS_LIBRARY)
    string(APPEND pc_requires " openblas")
  else()
    list(APPEND pc_libraries ${LAPACK_LIBRARIES} ${BLAS_LIBRARIES})
  endif()
  list(JOIN pc_libraries " " pc_libraries)
  string(PREPEND pc_libraries " ")
endif()
file(RELATIVE_PATH pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" pc_prefix ${pc_prefix})
# echelon for programs in C++, echelon-c for those in C.
set(pc_name echelon)
set(pc_flags "-std=c++20 ")
configure_file(${CMAKE_CURRENT_LIST_DIR}/echelon.pc.in ${PROJECT_BINARY_DIR}/echelon.pc @ONLY)
set(pc_name echelon-c)
set(pc_flags)
if(NOT BUILD_SHARED_LIBS)
  string(APPEND pc_libraries " -lstdc++ -lm")
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/echelon.pc.in ${PROJECT_BINARY_DIR}/echelon-c.pc @ONLY)
set(pc_files ${PROJECT_BINARY_DIR}/echelon.pc ${PROJECT_BINARY_DIR}/echelon-c.pc)
if(TARGET echelon_fortran)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/echelon-fortran.pc.in ${PROJECT_BINARY_DIR}/echelon-fortran.pc @ONLY)
  list(APPEND pc_files ${PROJECT_BINARY_DIR}/echelon-fortran.pc)
endif()
install(FILES ${pc_files} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
