# SPDX-License-Identifier: BSD-3-Clause
# A static OpenBLAS inside the library `echelon`, for wheels: without gfortran's run time, and without the kernels of
# processors that have become rare. Each of them takes 1 MB of the library, 13 of them nearly a third.
target_sources(echelon PRIVATE ${PROJECT_SOURCE_DIR}/src/linalg/blas/concat_string.c)
# A function of Fortran's run time that is missing is an error of the linker. host_blas() takes what OpenBLAS says of itself
# where it is linked, which the library does not demand of any BLAS.
target_link_options(echelon PRIVATE LINKER:--no-undefined,-u,openblas_get_config)

# OpenBLAS's choice of kernels, dynamic.o, is linked with other kernels that these processors have the instructions for.
set(replaced_kernels CORE2=PRESCOTT PENRYN=PRESCOTT DUNNINGTON=PRESCOTT ATOM=PRESCOTT NANO=PRESCOTT OPTERON_SSE3=PRESCOTT
    BARCELONA=PRESCOTT BOBCAT=PRESCOTT BULLDOZER=SANDYBRIDGE PILEDRIVER=SANDYBRIDGE STEAMROLLER=SANDYBRIDGE
    EXCAVATOR=SANDYBRIDGE COOPERLAKE=SKYLAKEX)
list(TRANSFORM replaced_kernels REPLACE "(.+)=(.+)" "gotoblas_\\1=gotoblas_\\2")
set(folder ${PROJECT_BINARY_DIR}/openblas)
file(MAKE_DIRECTORY ${folder})
set(replacements)
foreach(names IN LISTS replaced_kernels)
  # objcopy takes one old name for each new one.
  list(APPEND replacements COMMAND ${CMAKE_OBJCOPY} --redefine-sym ${names} dynamic.o)
endforeach()
add_custom_command(OUTPUT ${folder}/dynamic.o WORKING_DIRECTORY ${folder} VERBATIM DEPENDS ${OPENBLAS_STATIC_LIBRARY}
  COMMAND ${CMAKE_AR} x ${OPENBLAS_STATIC_LIBRARY} dynamic.o
  COMMAND ${CMAKE_COMMAND} -E touch dynamic.o
  ${replacements})
set_source_files_properties(${folder}/dynamic.o PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
target_sources(echelon PRIVATE ${folder}/dynamic.o)
