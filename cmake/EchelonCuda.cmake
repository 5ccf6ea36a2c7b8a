# SPDX-License-Identifier: BSD-3-Clause
# The CUDA language and toolkit, with the architectures to build for.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  # Machine code for Hopper; portable code that the driver compiles for Turing to Ada (75) and for the successors of
  # Hopper (90).
  set(CMAKE_CUDA_ARCHITECTURES 75-virtual 90 CACHE STRING "GPUs to build for")
endif()
# The shared run time: cuBLAS and the other libraries use it, and a static one would be a second copy.
set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)

if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  find_program(CMAKE_CUDA_COMPILER nvcc PATHS /usr/local/cuda/bin)
  if(NOT CMAKE_CUDA_COMPILER)
    message(FATAL_ERROR "ECHELON_CUDA is ON and there is no nvcc: put it on the PATH, set CUDACXX, or "
                        "configure with -DECHELON_CUDA=OFF")
  endif()
endif()
enable_language(CUDA)
# Set after enable_language, which resets the options of dialects. nvcc supports C++20 since 12.0; CMake 3.25 does not
# know that.
if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
find_package(CUDAToolkit REQUIRED)
