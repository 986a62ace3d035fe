# Installs the libraries, their headers, the program and package files: find_package(diml) then diml::match, or pkg-config.
# The components are the Debian packages of package.cmake.

include(CMakePackageConfigHelpers)

# Shared libraries outside of the system's folders are found from where the program lies.
set(diml_rpath "")
if(BUILD_SHARED_LIBS AND NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  set(diml_rpath "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
endif()

get_property(libraries GLOBAL PROPERTY DIML_LIBRARIES)
set_target_properties(${libraries} PROPERTIES INSTALL_RPATH "${diml_rpath}")
install(TARGETS ${libraries} EXPORT diml-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(DIRECTORY include/diml ${PROJECT_BINARY_DIR}/include/diml DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT development)
install(EXPORT diml-targets NAMESPACE diml:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/diml COMPONENT development)
if(TARGET diml_torch)
  set_target_properties(diml_torch PROPERTIES INSTALL_RPATH "${diml_rpath}")
  install(TARGETS diml_torch LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/diml COMPONENT torch)
endif()
if(DIML_WITH_CLI)
  set_target_properties(diml_cli PROPERTIES INSTALL_RPATH "${diml_rpath}")
  install(TARGETS diml_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
  install(DIRECTORY recipes DESTINATION ${CMAKE_INSTALL_DATADIR}/diml COMPONENT program)
  install(DIRECTORY deploy/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/deploy COMPONENT program)
  # Manual pages and shell completion are made by the program itself, from its own options.
  find_program(DIML_GZIP gzip)
  install(CODE "
    set(prefix \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
    function(diml_made_by_program file)
      get_filename_component(folder \"\${file}\" DIRECTORY)
      file(MAKE_DIRECTORY \"\${folder}\")
      execute_process(COMMAND \"$<TARGET_FILE:diml_cli>\" \${ARGN} OUTPUT_FILE \"\${file}\" RESULT_VARIABLE failed)
      if(failed)
        message(FATAL_ERROR \"\${file} cannot be made\")
      endif()
      message(STATUS \"Installing: \${file}\")
    endfunction()
    diml_made_by_program(\"\${prefix}/${CMAKE_INSTALL_DATADIR}/bash-completion/completions/diml\" completion bash)
    diml_made_by_program(\"\${prefix}/${CMAKE_INSTALL_DATADIR}/zsh/site-functions/_diml\" completion zsh)
    diml_made_by_program(\"\${prefix}/${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d/diml.fish\" completion fish)
    set(pages \"\${prefix}/${CMAKE_INSTALL_MANDIR}/man1\")
    file(GLOB older \"\${pages}/diml.1*\" \"\${pages}/diml-*.1*\")
    if(older)
      file(REMOVE \${older})
    endif()
    execute_process(COMMAND \"$<TARGET_FILE:diml_cli>\" man \"\${pages}\" RESULT_VARIABLE failed)
    if(failed)
      message(FATAL_ERROR \"the manual pages cannot be made\")
    endif()
    file(GLOB made \"\${pages}/diml.1\" \"\${pages}/diml-*.1\")
    set(gzip \"${DIML_GZIP}\")
    if(gzip AND made)
      execute_process(COMMAND \"\${gzip}\" -9nf \${made})
    endif()" COMPONENT program)
endif()

configure_package_config_file(cmake/diml-config.cmake.in ${PROJECT_BINARY_DIR}/diml-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/diml)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/diml-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/diml-config.cmake ${PROJECT_BINARY_DIR}/diml-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/diml COMPONENT development)

# pkg-config knows shared libraries: static ones need the libraries below them, which CMake's package file finds.
if(BUILD_SHARED_LIBS)
  set(description "${PROJECT_DESCRIPTION}")
  set(links -ldiml_engine)
  foreach(layer server explain gallery search models images datasets metrics match base)
    if(TARGET diml_${layer})
      list(APPEND links -ldiml_${layer})
    endif()
  endforeach()
  list(JOIN links " " links)
  configure_file(cmake/diml.pc.in ${PROJECT_BINARY_DIR}/diml.pc @ONLY)
  set(description "${PROJECT_DESCRIPTION} (matching alone)")
  set(links "-ldiml_match -ldiml_base")
  configure_file(cmake/diml.pc.in ${PROJECT_BINARY_DIR}/diml-match.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/diml.pc ${PROJECT_BINARY_DIR}/diml-match.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endif()
