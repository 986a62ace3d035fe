# Debian packages, by `cpack` in the build folder: so far python3-diml, of the install component `python`.
# Configure with -DCMAKE_INSTALL_PREFIX=/usr: Debian's Python looks nowhere else for packages of the system.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "The diml authors <diml@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL "")

if(DIML_WITH_PYTHON)
  list(APPEND CPACK_COMPONENTS_ALL python)
  # The extension is for one Python: its name says which.
  string(REGEX MATCH "cpython-3([0-9]+)" found "${DIML_PYTHON_SUFFIX}")
  math(EXPR next "${CMAKE_MATCH_1} + 1")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-diml)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
    "python3 (>= 3.${CMAKE_MATCH_1}~), python3 (<< 3.${next}~), python3-numpy")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "python3-tqdm, python3-torch, python3-pandas")
  set(CPACK_COMPONENT_PYTHON_DESCRIPTION "Matching, galleries and evaluation from Python, on NumPy arrays")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA
    "${PROJECT_SOURCE_DIR}/python/debian/postinst;${PROJECT_SOURCE_DIR}/python/debian/prerm")
endif()

include(CPack)
