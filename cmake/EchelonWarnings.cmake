# SPDX-License-Identifier: BSD-3-Clause
# Warnings, sanitizers and hardening for the project's own targets. Warnings are private: they do not reach programs that link the
# library. With NOT_SANITIZED the target is linked with the sanitizers but compiled without them.
function(echelon_warnings target)
  set(warnings -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual
               -Wunused)
  set(c_warnings -Wall -Wextra -Wpedantic -Wshadow -Wunused)
  # clang reports loops marked as simd that it does not vectorize, which depends on its version and the optimisation.
  set(clang_warnings -Wno-pass-failed)
  # nvcc passes generated code to the host compiler, which would fail -Wpedantic.
  set(cuda_warnings -Wall,-Wextra)
  if(ECHELON_WERROR)
    list(APPEND warnings -Werror)
    list(APPEND c_warnings -Werror)
    set(cuda_warnings ${cuda_warnings},-Werror)
    # A call of a host function in device code is only a warning unless told otherwise, and its result is undefined.
    set(nvcc_warnings --Werror=all-warnings)
  endif()
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:${warnings}>
    $<$<COMPILE_LANGUAGE:C>:${c_warnings}>
    $<$<COMPILE_LANG_AND_ID:CXX,Clang>:${clang_warnings}>
    "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${cuda_warnings};${nvcc_warnings}>")
  if(ECHELON_SANITIZE)
    if(NOT "NOT_SANITIZED" IN_LIST ARGN)
      # -O3 would take several times as long to compile, and lose the lines of faults.
      target_compile_options(${target} PRIVATE
        $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${ECHELON_SANITIZE} -fno-sanitize-recover=all
        -fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS $<$<CONFIG:Release>:-O1 -g1>>)
    endif()
    target_link_options(${target} PUBLIC -fsanitize=${ECHELON_SANITIZE})
  endif()
endfunction()

# Checks at run time of code that reads files of strangers: canaries on the stack, bounds of buffers that the C library
# writes to. Numerical kernels are compiled without them.
set(ECHELON_HARDENING)
if(NOT ECHELON_SANITIZE)
  set(ECHELON_HARDENING $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-fstack-protector-strong$<SEMICOLON>-U_FORTIFY_SOURCE$<SEMICOLON>-D_FORTIFY_SOURCE=2>)
endif()

# Binds all symbols when a program starts or a library is loaded, so that their table is read-only afterwards.
function(echelon_bind_now target)
  target_link_options(${target} PRIVATE $<$<CONFIG:Release>:LINKER:-z,now>)
endfunction()
