# diml_embed(target file...): the bytes of files in the program. apps/web/match_view.js becomes
#   #include "embedded/match_view.js.h"    diml::embedded::match_view_js, a std::string_view
# As a script (cmake -DIN= -DOUT= -DNAME= -P embed.cmake) it writes one such header.

if(CMAKE_SCRIPT_MODE_FILE)
  file(READ ${IN} bytes HEX)
  string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
  file(WRITE ${OUT} "// Made from a file of the same name.
#pragma once

#include <string_view>

namespace diml::embedded {

inline constexpr char ${NAME}_bytes[] = {
${bytes}'\\0'};
inline constexpr std::string_view ${NAME}{${NAME}_bytes, sizeof(${NAME}_bytes) - 1};

}  // namespace diml::embedded
")
  return()
endif()

set(DIML_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})
function(diml_embed TARGET)
  set(folder ${PROJECT_BINARY_DIR}/embedded_files)
  foreach(file IN LISTS ARGN)
    get_filename_component(path ${file} ABSOLUTE BASE_DIR ${PROJECT_SOURCE_DIR})
    get_filename_component(leaf ${path} NAME)
    string(MAKE_C_IDENTIFIER ${leaf} name)
    set(header ${folder}/${TARGET}/embedded/${leaf}.h)
    add_custom_command(OUTPUT ${header}
      COMMAND ${CMAKE_COMMAND} -DIN=${path} -DOUT=${header} -DNAME=${name} -P ${DIML_EMBED_SCRIPT}
      DEPENDS ${path} ${DIML_EMBED_SCRIPT} VERBATIM)
    target_sources(${TARGET} PRIVATE ${header})
  endforeach()
  target_include_directories(${TARGET} PRIVATE ${folder}/${TARGET})
endfunction()
