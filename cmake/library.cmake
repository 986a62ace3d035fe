# diml_library(name [STATIC] SOURCES ... DEPENDS ...): one layer of the library, diml::name.
# Public headers are in include/, private ones below the layer's own folder. -DBUILD_SHARED_LIBS=ON makes shared libraries, as the
# Debian packages have them, but for the layers that say STATIC.

add_library(diml_warnings INTERFACE)
target_compile_options(diml_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion>)
# g++ 12 warns of overlapping copies inside std::string's own operator+ (its bug 105651); g++ 13 does not.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(diml_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
option(DIML_WERROR "Warnings are errors" OFF)
if(DIML_WERROR)
  target_compile_options(diml_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()

# What `./run fuzz` builds with: clang's coverage and sanitizers in everything.
option(DIML_FUZZ "The programs in tests/fuzz are fuzzers" OFF)
if(DIML_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
endif()

configure_file(${CMAKE_CURRENT_LIST_DIR}/version.h.in ${PROJECT_BINARY_DIR}/include/diml/version.h @ONLY)

# diml_sources_of(folder out EXCEPT ...): its .cpp files, looked for again when a build starts. For folders that
# grow by one file at a time: a new loss, data set, store or first stage.
function(diml_sources_of FOLDER OUT)
  cmake_parse_arguments(ARG "" "" "EXCEPT" ${ARGN})
  file(GLOB found CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${FOLDER}/*.cpp)
  if(ARG_EXCEPT)
    list(REMOVE_ITEM found ${ARG_EXCEPT})
  endif()
  set(${OUT} ${found} PARENT_SCOPE)
endfunction()

function(diml_library NAME)
  cmake_parse_arguments(ARG "STATIC" "" "SOURCES;DEPENDS" ${ARGN})
  set(kind "")
  if(ARG_STATIC)
    set(kind STATIC)
  endif()
  add_library(diml_${NAME} ${kind} ${ARG_SOURCES})
  add_library(diml::${NAME} ALIAS diml_${NAME})
  # The same objects for both kinds: no definition of its own for a shared library.
  set_target_properties(diml_${NAME} PROPERTIES EXPORT_NAME ${NAME} DEFINE_SYMBOL ""
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
  target_compile_features(diml_${NAME} PUBLIC cxx_std_20)
  target_include_directories(diml_${NAME}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${PROJECT_SOURCE_DIR}/src/${NAME} ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(diml_${NAME} PUBLIC ${ARG_DEPENDS} PRIVATE $<BUILD_INTERFACE:diml_warnings>)
  set_property(GLOBAL APPEND PROPERTY DIML_LIBRARIES diml_${NAME})
endfunction()
