# SPDX-License-Identifier: BSD-3-Clause
# Installs `build` beside `prefix`, moves it there, and searches for paths that exist only on the build machine.
set(elsewhere ${prefix}-before-the-move)
file(REMOVE_RECURSE ${prefix} ${elsewhere})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${build} --prefix ${elsewhere}
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(RENAME ${elsewhere} ${prefix})

file(GLOB_RECURSE texts ${prefix}/*.cmake ${prefix}/*.pc ${prefix}/*.hpp ${prefix}/*.h)
foreach(text IN LISTS texts)
  file(READ ${text} content)
  foreach(path ${source} ${elsewhere})
    string(FIND "${content}" "${path}" place)
    if(NOT place EQUAL -1)
      message(SEND_ERROR "${text} names ${path}")
    endif()
  endforeach()
endforeach()
