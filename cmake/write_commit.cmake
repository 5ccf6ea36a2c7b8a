# SPDX-License-Identifier: BSD-3-Clause
# Writes the source file `output` with the commit of the folder `source`, if it has changed. `given`: the commit where
# there is no repository, as in a package.
cmake_minimum_required(VERSION 3.25)
set(commit "${given}")
if(NOT commit)
  execute_process(COMMAND git -C ${source} rev-parse --show-toplevel
                  OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  # A copy inside of another project has no commit of its own.
  if(NOT failed AND top STREQUAL source)
    execute_process(COMMAND git -C ${source} describe --always --dirty --abbrev=12 --exclude=*
                    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
endif()
if(NOT commit)
  set(commit unknown)
endif()
file(CONFIGURE OUTPUT ${output} @ONLY CONTENT
"// SPDX-License-Identifier: BSD-3-Clause
// Generated.
#include \"version.hpp\"

const char* echelon::tool::source_commit() {
  return \"@commit@\";
}
")
