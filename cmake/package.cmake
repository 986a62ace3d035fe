# Debian packages, by `cpack` in the build folder: one for each component of install.cmake and of the Python package.
# `tools/packages` configures and builds them: -DCMAKE_INSTALL_PREFIX=/usr -DBUILD_SHARED_LIBS=ON.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "The diml authors <diml@packages.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/src)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL "")

# Debian's own form of a list of changes, with the date of the commit: two builds of one commit are the same.
execute_process(COMMAND git -C ${PROJECT_SOURCE_DIR} log -1 --format=%aD
  OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
find_program(DIML_GZIP gzip)
if(failed EQUAL 0 AND DIML_GZIP)
  file(WRITE ${PROJECT_BINARY_DIR}/changelog
    "diml (${PROJECT_VERSION}) unstable; urgency=medium\n\n  * CHANGELOG.md of the sources lists the changes.\n\n"
    " -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
  execute_process(COMMAND ${DIML_GZIP} -9nkf ${PROJECT_BINARY_DIR}/changelog)
endif()

# diml_package(component name section "summary" "description" [DEPENDS ...] [RECOMMENDS ...] [SUGGESTS ...])
macro(diml_package COMPONENT NAME SECTION SUMMARY DESCRIPTION)
  cmake_parse_arguments(PACKAGE "" "" "DEPENDS;RECOMMENDS;SUGGESTS" ${ARGN})
  list(APPEND CPACK_COMPONENTS_ALL ${COMPONENT})
  string(TOUPPER ${COMPONENT} component)
  set(CPACK_DEBIAN_${component}_PACKAGE_NAME ${NAME})
  set(CPACK_DEBIAN_${component}_PACKAGE_SECTION ${SECTION})
  foreach(kind DEPENDS RECOMMENDS SUGGESTS)
    list(JOIN PACKAGE_${kind} ", " CPACK_DEBIAN_${component}_PACKAGE_${kind})
  endforeach()
  set(CPACK_DEBIAN_${component}_DESCRIPTION "${SUMMARY}\n${DESCRIPTION}")
  # What Debian asks of each package: its licence, and what changed.
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${NAME} RENAME copyright COMPONENT ${COMPONENT})
  if(EXISTS ${PROJECT_BINARY_DIR}/changelog.gz)
    install(FILES ${PROJECT_BINARY_DIR}/changelog.gz DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${NAME} COMPONENT ${COMPONENT})
  endif()
endmacro()

# Packages of one build belong together.
set(same "(= ${PROJECT_VERSION})")
if(BUILD_SHARED_LIBS)
  diml_package(library libdiml0 libs "image similarity that can say why: shared libraries"
    "Compares photos by grids of local features, aligned by optimal transport:\nmatching, galleries, search, explanations, networks on CPUs."
    RECOMMENDS libopenblas0-openmp)
  set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/cmake/triggers)
  diml_package(development libdiml-dev libdevel "image similarity that can say why: headers"
    "Headers and files for CMake and pkg-config of libdiml0, and the layers on\nLibTorch as static libraries."
    DEPENDS "libdiml0 ${same}" SUGGESTS libtorch-dev)
  if(DIML_WITH_CLI)
    diml_package(program diml science "image similarity that can say why: the program"
      "Search, evaluation, explanations and a server for galleries of photos, by\nstructural matching: the score is a sum over pairs of parts."
      DEPENDS "libdiml0 ${same}" SUGGESTS "diml-torch ${same}" "python3-diml ${same}")
  endif()
  if(TARGET diml_torch)
    diml_package(torch diml-torch science "image similarity that can say why: training"
      "What diml needs LibTorch for: training, TorchScript models, networks on GPUs."
      DEPENDS "libdiml0 ${same}")
  endif()
endif()
if(DIML_WITH_PYTHON)
  # The extension is for one Python: its name says which.
  string(REGEX MATCH "cpython-3([0-9]+)" found "${DIML_PYTHON_SUFFIX}")
  math(EXPR next "${CMAKE_MATCH_1} + 1")
  set(depends "python3 (>= 3.${CMAKE_MATCH_1}~)" "python3 (<< 3.${next}~)" python3-numpy)
  if(BUILD_SHARED_LIBS)
    list(APPEND depends "libdiml0 ${same}")
  endif()
  diml_package(python python3-diml python "image similarity that can say why: Python package"
    "Matching, galleries and evaluation from Python, on NumPy arrays and tensors."
    DEPENDS ${depends} SUGGESTS python3-tqdm python3-torch python3-pandas)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA
    "${PROJECT_SOURCE_DIR}/python/debian/postinst;${PROJECT_SOURCE_DIR}/python/debian/prerm")
endif()

include(CPack)
