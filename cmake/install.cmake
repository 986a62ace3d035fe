# Installs the libraries, their headers, the program and a package file: find_package(diml) then diml::match.

include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY DIML_LIBRARIES)
install(TARGETS ${libraries} EXPORT diml-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/diml ${PROJECT_BINARY_DIR}/include/diml DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT diml-targets NAMESPACE diml:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/diml)
if(TARGET diml_torch)
  install(TARGETS diml_torch LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/diml)
endif()
if(DIML_WITH_CLI)
  install(TARGETS diml_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  # Manual pages and shell completion are made by the program itself, from its own options.
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
    execute_process(COMMAND \"$<TARGET_FILE:diml_cli>\" man \"\${prefix}/${CMAKE_INSTALL_MANDIR}/man1\"
      RESULT_VARIABLE failed)
    if(failed)
      message(FATAL_ERROR \"the manual pages cannot be made\")
    endif()")
endif()

configure_package_config_file(cmake/diml-config.cmake.in ${PROJECT_BINARY_DIR}/diml-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/diml)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/diml-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/diml-config.cmake ${PROJECT_BINARY_DIR}/diml-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/diml)
