# SPDX-License-Identifier: BSD-3-Clause
# One ctest test for each GoogleTest suite of a program: starting a process (on a GPU, making a context: 0.7 s) takes
# longer than most tests. The types of a typed suite count as one suite. Works like GoogleTest's own gtest_discover_tests:
# the suites are listed when the program has been linked.

if(CMAKE_SCRIPT_MODE_FILE)
  # cmake -D program=... -D output=... -D properties=... -D serial=... -D slow=... -D environment=...
  #   -P discover_suites.cmake
  execute_process(COMMAND ${program} --gtest_list_tests OUTPUT_VARIABLE listing COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" lines "${listing}")
  foreach(line IN LISTS lines)
    # "Suite.", "Instance/Suite." or "Suite/3.  # TypeParam = ..."; tests are indented.
    if(line MATCHES "^([^ ]+)\\.($| )")
      set(listed ${CMAKE_MATCH_1})
      string(REGEX REPLACE "/[0-9]+$" "" suite ${listed})
      list(APPEND suites ${suite})
      string(APPEND filter_${suite} ":${listed}.*")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES suites)
  set(script "")
  foreach(suite IN LISTS suites)
    string(SUBSTRING ${filter_${suite}} 1 -1 filter)
    set(tests ${prefix}${suite})
    if(slow AND suite MATCHES "^(${slow})$")
      # Parts, which run at the same time.
      list(TRANSFORM tests REPLACE "(.+)" "\\1.1;\\1.2;\\1.3;\\1.4")
    endif()
    list(LENGTH tests count)
    set(shard 0)
    foreach(test IN LISTS tests)
      string(APPEND script
        "add_test([==[${test}]==] [==[${CMAKE_COMMAND}]==] -E env ${environment} GTEST_TOTAL_SHARDS=${count} "
        "GTEST_SHARD_INDEX=${shard} [==[${program}]==] [==[--gtest_filter=${filter}]==])\n"
        "set_tests_properties([==[${test}]==] PROPERTIES ${properties})\n")
      if(serial AND suite MATCHES "^(${serial})$")
        string(APPEND script "set_tests_properties([==[${test}]==] PROPERTIES RUN_SERIAL ON)\n")
      endif()
      if(count GREATER 1)
        string(APPEND script "set_tests_properties([==[${test}]==] PROPERTIES COST 1000)\n")
      endif()
      math(EXPR shard "${shard} + 1")
    endforeach()
  endforeach()
  file(WRITE ${output} "${script}")
  return()
endif()

# echelon_discover_suites(TARGET PREFIX SERIAL SLOW ENVIRONMENT PROPERTY VALUE ...): registers the suites as PREFIX<suite>,
# to run with the variables of the text ENVIRONMENT, "NAME=value NAME=value". No other test runs beside a suite whose name
# matches the regular expression SERIAL. Suites that match SLOW are divided into four parts, Suite.1 to Suite.4, and start
# first: one that starts last would run on alone.
function(echelon_discover_suites target prefix serial slow environment)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${target}_suites.cmake)
  list(JOIN ARGN " " properties)
  add_custom_command(TARGET ${target} POST_BUILD VERBATIM BYPRODUCTS ${output}
    COMMAND ${CMAKE_COMMAND} -D program=$<TARGET_FILE:${target}> -D output=${output} -D prefix=${prefix}
            -D "properties=${properties}" -D "serial=${serial}" -D "slow=${slow}" -D "environment=${environment}"
            -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE})
  set(included ${CMAKE_CURRENT_BINARY_DIR}/${target}_include.cmake)
  file(WRITE ${included} "if(EXISTS \"${output}\")\n  include(\"${output}\")\nelse()\n"
                         "  add_test(${target}_NOT_BUILT ${target}_NOT_BUILT)\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${included})
endfunction()
