# Writes the commit that is being built to OUTPUT, where it changed. Called with -P before every build: who commits and
# builds must not have to configure anew.
file(READ ${SOURCE}/cmake/archived_commit.txt commit)
string(STRIP "${commit}" commit)
if(commit MATCHES "Format") # no archive: git fills it in there
  set(commit "unknown")
  execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=40 --exclude=*
    OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(failed EQUAL 0)
    set(commit ${described})
  endif()
endif()
set(text "#pragma once\n\nnamespace diml {\n\nconstexpr const char* kCommit = \"${commit}\";\n\n}  // namespace diml\n")
set(before "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} before)
endif()
if(NOT before STREQUAL text)
  file(WRITE ${OUTPUT} "${text}")
endif()
