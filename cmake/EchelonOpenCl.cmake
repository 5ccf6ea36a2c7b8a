# SPDX-License-Identifier: BSD-3-Clause
# Tools for the compilation for OpenCL, of one version of LLVM. Other versions than 15 are not tested.
set(ECHELON_OPENCL_LLVM 15 CACHE STRING "Version of Clang, LLVM and its translator to SPIR-V")
# At -O0 the host's code, which takes longer to compile than the kernels, compiles in less than half the time.
set(ECHELON_OPENCL_HOST_OPTIMIZATION -O2 CACHE STRING "Optimisation of the host's code for OpenCL, but not of the kernels")
mark_as_advanced(ECHELON_OPENCL_HOST_OPTIMIZATION)
set(packages "Debian: scripts/install-packages opencl")
function(find_opencl_tool variable)
  find_program(${variable} NAMES ${ARGN})
  mark_as_advanced(${variable})
  if(NOT ${variable})
    message(FATAL_ERROR "ECHELON_OPENCL is ON and there is no ${ARGV1} (${packages})")
  endif()
endfunction()
find_opencl_tool(ECHELON_OPENCL_CLANG clang++-${ECHELON_OPENCL_LLVM})
find_opencl_tool(ECHELON_OPENCL_TRANSLATOR llvm-spirv-${ECHELON_OPENCL_LLVM})
find_opencl_tool(ECHELON_OPENCL_ASSEMBLER llvm-as-${ECHELON_OPENCL_LLVM})
find_opencl_tool(ECHELON_OPENCL_DISASSEMBLER llvm-dis-${ECHELON_OPENCL_LLVM})
find_opencl_tool(ECHELON_OPENCL_PYTHON python3)
find_package(OpenCL REQUIRED)

# Sets RESULT to objects for `target`: the sources, united by folder, are compiled for OpenCL, which makes a program of each
# object.
function(compile_for_opencl result target)
  set(script ${PROJECT_SOURCE_DIR}/cmake/compile_opencl.py)
  set(builtins ${PROJECT_SOURCE_DIR}/src/backend/opencl/builtins.hpp)
  foreach(source IN LISTS ARGN)
    string(REGEX MATCH "^(dense|sparse_direct|studies|graph_laplacian|domain_decomposition|multigrid/coarsening)/[^/]+|^(multigrid/structured|matrix/stencil)|^[^/]+"
           group ${source})
    if(source IN_LIST sources_that_dispatch)
      # Beside a caller, Clang would instantiate its functions for the other targets as well.
      set(group ${source})
    endif()
    string(MAKE_C_IDENTIFIER ${group} group)
    list(APPEND groups ${group})
    string(APPEND includes_${group} "#include \"${source}\"\n")
  endforeach()
  list(REMOVE_DUPLICATES groups)
  set(visibility)
  if(NOT ECHELON_EXPORT_INTERNALS)
    set(visibility -fvisibility=hidden -fvisibility-inlines-hidden)
  endif()
  foreach(group IN LISTS groups)
    set(file ${CMAKE_CURRENT_BINARY_DIR}/generated/opencl/${group}.cpp)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/opencl/${group}.o)
    file(CONFIGURE OUTPUT ${file} @ONLY CONTENT "${includes_${group}}")
    add_custom_command(
      OUTPUT ${object}
      COMMAND ${ECHELON_OPENCL_PYTHON} ${script} ${file} ${object}
              --clang ${ECHELON_OPENCL_CLANG} --translator ${ECHELON_OPENCL_TRANSLATOR}
              --assembler ${ECHELON_OPENCL_ASSEMBLER} --disassembler ${ECHELON_OPENCL_DISASSEMBLER}
              --builtins ${builtins} --objcopy ${CMAKE_OBJCOPY}
              --host-optimization=${ECHELON_OPENCL_HOST_OPTIMIZATION}
              -- -std=c++20 -O2 -DNDEBUG -fPIC ${visibility}
              "-I$<JOIN:$<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>,;-I>"
      DEPENDS ${file} ${script} ${builtins}
      DEPFILE ${object}.d
      COMMENT "Compiling ${group} for OpenCL"
      COMMAND_EXPAND_LISTS VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  set(${result} ${objects} PARENT_SCOPE)
endfunction()
