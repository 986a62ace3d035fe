# diml_probe(NAME CODE "#include <x.h> ..." [PACKAGE name [CONFIG]] [LIBRARIES ...] [INCLUDES ...] [DEFINITIONS ...])
#
# Says whether a program with this dependency builds: DIML_NAME_WORKS. Where the dependency is there but a program with it does
# not build, DIML_NAME_BROKEN is the reason, in one line.
#
# The probe is a CMake run of its own. A package file may ask for packages that are not there and end the run with an error,
# which nothing can catch; so it ends the probe's run, and this one goes on without the feature.

set(DIML_PROBE_PROJECT ${CMAKE_CURRENT_LIST_DIR}/probe)

function(diml_probe NAME)
  # The code has semicolons.
  cmake_parse_arguments(PARSE_ARGV 1 ARG "CONFIG" "CODE;PACKAGE" "LIBRARIES;INCLUDES;DEFINITIONS")
  set(folder ${PROJECT_BINARY_DIR}/probes/${NAME})
  string(SHA1 question "${ARGN};${CMAKE_PREFIX_PATH};${CMAKE_CXX_FLAGS};${CMAKE_CXX_COMPILER}")
  # Only a dependency that works is remembered: who installs what is missing configures again and has it.
  if(NOT DIML_${NAME}_PROBED STREQUAL question)
    file(REMOVE_RECURSE ${folder})
    file(WRITE ${folder}/probe.cpp "${ARG_CODE}\n")
    set(mode "")
    if(ARG_CONFIG)
      set(mode CONFIG)
    endif()
    # Lists go through a file: a command line would split them.
    file(WRITE ${folder}/cache.cmake "
      set(CMAKE_CXX_COMPILER [==[${CMAKE_CXX_COMPILER}]==] CACHE FILEPATH \"\")
      set(CMAKE_CXX_FLAGS [==[${CMAKE_CXX_FLAGS}]==] CACHE STRING \"\")
      set(CMAKE_PREFIX_PATH [==[${CMAKE_PREFIX_PATH}]==] CACHE STRING \"\")
      set(CMAKE_MODULE_PATH [==[${CMAKE_MODULE_PATH}]==] CACHE STRING \"\")
      set(PROBE_PACKAGE [==[${ARG_PACKAGE}]==] CACHE STRING \"\")
      set(PROBE_MODE [==[${mode}]==] CACHE STRING \"\")
      set(PROBE_SOURCE [==[${folder}/probe.cpp]==] CACHE STRING \"\")
      set(PROBE_LIBRARIES [==[${ARG_LIBRARIES}]==] CACHE STRING \"\")
      set(PROBE_INCLUDES [==[${ARG_INCLUDES}]==] CACHE STRING \"\")
      set(PROBE_DEFINITIONS [==[${ARG_DEFINITIONS}]==] CACHE STRING \"\")\n")
    execute_process(COMMAND ${CMAKE_COMMAND} -S ${DIML_PROBE_PROJECT} -B ${folder}/build -G ${CMAKE_GENERATOR}
        -C ${folder}/cache.cmake
      RESULT_VARIABLE failed OUTPUT_VARIABLE log ERROR_VARIABLE log)
    if(NOT failed AND EXISTS ${folder}/build/absent)
      return()
    endif()
    if(NOT failed)
      execute_process(COMMAND ${CMAKE_COMMAND} --build ${folder}/build
        RESULT_VARIABLE failed OUTPUT_VARIABLE log ERROR_VARIABLE log)
    endif()
    if(failed)
      file(WRITE ${folder}/log.txt "${log}")
      set(reason "see ${folder}/log.txt")
      foreach(pattern "Could NOT find [A-Za-z0-9_]+" "(fatal error|error|undefined reference)[^\n]*"
          "The link interface of target[^\n]*\n[^\n]*")
        if("${log}" MATCHES "${pattern}")
          set(reason "${CMAKE_MATCH_0}; ${reason}")
          break()
        endif()
      endforeach()
      set(DIML_${NAME}_BROKEN "${reason}" PARENT_SCOPE)
      return()
    endif()
    set(DIML_${NAME}_PROBED ${question} CACHE INTERNAL "")
  endif()
  set(DIML_${NAME}_WORKS ON PARENT_SCOPE)
endfunction()
