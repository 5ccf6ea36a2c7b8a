# SPDX-License-Identifier: BSD-3-Clause
# The Fortran language, where a compiler is found.
find_program(CMAKE_Fortran_COMPILER NAMES gfortran gfortran-12 ifx flang)
if(CMAKE_Fortran_COMPILER OR NOT ECHELON_FORTRAN STREQUAL AUTO)
  enable_language(Fortran)
  set(ECHELON_FORTRAN_WARNINGS)
  if(CMAKE_Fortran_COMPILER_ID STREQUAL GNU)
    # Functions that only ask an object need not be called where the result does not depend on them.
    set(ECHELON_FORTRAN_WARNINGS -std=f2018 -Wall -Wextra -Wpedantic -Wno-function-elimination)
    if(ECHELON_WERROR)
      list(APPEND ECHELON_FORTRAN_WARNINGS -Werror)
    endif()
  endif()
else()
  message(STATUS "The Fortran module is not built: it needs a Fortran compiler (Debian: gfortran)")
endif()
