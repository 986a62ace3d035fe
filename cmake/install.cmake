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
endif()

configure_package_config_file(cmake/diml-config.cmake.in ${PROJECT_BINARY_DIR}/diml-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/diml)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/diml-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/diml-config.cmake ${PROJECT_BINARY_DIR}/diml-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/diml)
