# SPDX-License-Identifier: BSD-3-Clause
# Installs `build` in `prefix`, beside a file of another program, and removes it by `script`.
file(REMOVE_RECURSE ${prefix})
file(WRITE ${prefix}/lib/other.txt "of another program")
execute_process(COMMAND ${CMAKE_COMMAND} --install ${build} --prefix ${prefix}
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(GLOB_RECURSE installed LIST_DIRECTORIES true RELATIVE ${prefix} ${prefix}/*)
list(FILTER installed INCLUDE REGEX "echelon")
if(NOT installed)
  message(FATAL_ERROR "nothing was installed in ${prefix}")
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -D manifest=${build}/install_manifest.txt -P ${script}
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(GLOB_RECURSE rest RELATIVE ${prefix} ${prefix}/*)
if(NOT rest STREQUAL "lib/other.txt")
  message(SEND_ERROR "left in ${prefix}: ${rest}")
endif()
file(GLOB_RECURSE rest LIST_DIRECTORIES true RELATIVE ${prefix} ${prefix}/*)
list(FILTER rest INCLUDE REGEX "echelon")
if(rest)
  message(SEND_ERROR "folders left in ${prefix}: ${rest}")
endif()
