# Each dependency is a feature: on where a program with it builds (AUTO), required (ON) or left out (OFF).
# A dependency that is there but broken turns its feature off, with a line that names the remedy; it never ends the configuration.
# `diml doctor` prints the list that ends up in DIML_FEATURES.

find_package(OpenMP REQUIRED COMPONENTS CXX)
include(${CMAKE_CURRENT_LIST_DIR}/probe.cmake)

set(DIML_FEATURES "")
set(DIML_OFF "")
# diml_feature(NAME "what it is for" "Debian package" <how to look for it>...)
# To look sets DIML_WITH_NAME; where that stays off, DIML_NAME_BROKEN may say that what is there does not work.
macro(diml_feature NAME PURPOSE PACKAGE)
  set(DIML_${NAME} AUTO CACHE STRING "${PURPOSE} (AUTO, ON, OFF)")
  set_property(CACHE DIML_${NAME} PROPERTY STRINGS AUTO ON OFF)
  set(DIML_WITH_${NAME} OFF)
  foreach(state WORKS BROKEN)
    set(DIML_${NAME}_${state} "")
  endforeach()
  if(NOT DIML_${NAME} STREQUAL "OFF")
    cmake_language(CALL diml_look_for_${NAME})
    if(DIML_${NAME} STREQUAL "ON" AND NOT DIML_WITH_${NAME})
      message(FATAL_ERROR "DIML_${NAME}=ON needs ${PACKAGE}: install it, or use -DDIML_${NAME}=AUTO")
    endif()
  endif()
  if(DIML_WITH_${NAME})
    set(state built_in)
    set(why "")
  elseif(DIML_${NAME}_BROKEN)
    set(state broken)
    # It becomes a part of a list.
    string(REPLACE ";" "," why "${DIML_${NAME}_BROKEN}")
    message(NOTICE "diml ${NAME} (${PURPOSE}) is off: ${PACKAGE} is there but does not work (${why}). "
      "Install ${PACKAGE} and what it needs, and configure again.")
  else()
    set(state missing)
    set(why "")
    list(APPEND DIML_OFF "${NAME} (${PURPOSE}: ${PACKAGE})")
  endif()
  list(APPEND DIML_FEATURES "${NAME}|${state}|${PURPOSE}|${PACKAGE}|${why}")
  message(STATUS "diml ${NAME}: ${DIML_WITH_${NAME}} (${PURPOSE}; ${PACKAGE})")
endmacro()

macro(diml_look_for_SIMD)
  diml_probe(SIMD PACKAGE hwy CONFIG LIBRARIES hwy::hwy CODE "#include <hwy/targets.h>\nint main() { return hwy::SupportedTargets() == 0; }")
  if(DIML_SIMD_WORKS)
    find_package(hwy CONFIG QUIET)
    set(DIML_WITH_SIMD ON)
  endif()
endmacro()

macro(diml_look_for_CUDA)
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    # What most cards in use are; newer ones compile from the last one's intermediate code.
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 80-real 90)
    endif()
    enable_language(CUDA)
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")  # older CMakes do not know that nvcc can
    endif()
    # Linked by name where it is needed: the static one.
    set(CMAKE_CUDA_RUNTIME_LIBRARY None)
    find_package(CUDAToolkit QUIET)
    set(DIML_WITH_CUDA ${CUDAToolkit_FOUND})
  endif()
endmacro()

# diml_look_for_library(NAME PREFIX header library "code"): a library that is found by its header and its file.
macro(diml_look_for_library NAME PREFIX HEADER LIBRARY SUFFIXES CODE)
  find_path(DIML_${PREFIX}_INCLUDE ${HEADER} PATH_SUFFIXES ${SUFFIXES})
  find_library(DIML_${PREFIX}_LIBRARY NAMES ${LIBRARY})
  if(DIML_${PREFIX}_INCLUDE AND DIML_${PREFIX}_LIBRARY)
    diml_probe(${NAME} LIBRARIES ${DIML_${PREFIX}_LIBRARY} INCLUDES ${DIML_${PREFIX}_INCLUDE} CODE "${CODE}")
  endif()
endmacro()

macro(diml_look_for_EXACT)
  diml_look_for_library(EXACT LEMON lemon/network_simplex.h "lemon;emon" ""
    "#include <lemon/network_simplex.h>\n#include <lemon/list_graph.h>\nint main() { lemon::ListDigraph g; return lemon::countNodes(g); }")
  set(DIML_WITH_EXACT ${DIML_EXACT_WORKS})
endmacro()

macro(diml_look_for_IMAGES)
  find_package(JPEG QUIET)
  find_package(PNG QUIET)
  if(JPEG_FOUND AND PNG_FOUND)
    diml_probe(IMAGES LIBRARIES ${JPEG_LIBRARIES} ${PNG_LIBRARIES} INCLUDES ${JPEG_INCLUDE_DIRS} ${PNG_INCLUDE_DIRS}
      CODE "#include <cstdio>\n#include <jpeglib.h>\n#include <png.h>\nint main() { jpeg_error_mgr e; return jpeg_std_error(&e) == nullptr || png_access_version_number() == 0; }")
  endif()
  set(DIML_WITH_IMAGES ${DIML_IMAGES_WORKS})
endmacro()

macro(diml_look_for_WEBP)
  diml_look_for_library(WEBP WEBP webp/decode.h webp ""
    "#include <webp/decode.h>\nint main() { return WebPGetDecoderVersion() == 0; }")
  if(DIML_WITH_IMAGES)
    set(DIML_WITH_WEBP ${DIML_WEBP_WORKS})
  endif()
endmacro()

macro(diml_look_for_TIFF)
  # From 4.5 on the library lets its caller bound what it allocates.
  diml_look_for_library(TIFF TIFF tiffio.h tiff ""
    "#include <tiffio.h>\nint main() { TIFFOpenOptionsFree(TIFFOpenOptionsAlloc()); }")
  if(DIML_WITH_IMAGES)
    set(DIML_WITH_TIFF ${DIML_TIFF_WORKS})
  endif()
endmacro()

macro(diml_look_for_HEIF)
  diml_look_for_library(HEIF HEIF libheif/heif.h heif ""
    "#include <libheif/heif.h>\nint main() { heif_init(nullptr); heif_decoding_options_alloc()->strict_decoding = 1; }")
  if(DIML_WITH_IMAGES)
    set(DIML_WITH_HEIF ${DIML_HEIF_WORKS})
  endif()
endmacro()

macro(diml_look_for_MAT)
  diml_look_for_library(MAT MATIO matio.h matio ""
    "#include <matio.h>\nint main() { return Mat_Open(\"\", MAT_ACC_RDONLY) != nullptr; }")
  set(DIML_WITH_MAT ${DIML_MAT_WORKS})
endmacro()

macro(diml_look_for_DRAWING)
  diml_look_for_library(DRAWING CAIRO cairo.h cairo cairo
    "#include <cairo.h>\nint main() { return cairo_version() == 0; }")
  if(DIML_WITH_IMAGES)
    set(DIML_WITH_DRAWING ${DIML_DRAWING_WORKS})
  endif()
endmacro()

macro(diml_look_for_JSON)
  diml_probe(JSON PACKAGE nlohmann_json CONFIG LIBRARIES nlohmann_json::nlohmann_json
    CODE "#include <nlohmann/json.hpp>\nint main() { return nlohmann::json::parse(\"0\").get<int>(); }")
  if(DIML_JSON_WORKS)
    find_package(nlohmann_json CONFIG QUIET)
    set(DIML_WITH_JSON ON)
  endif()
endmacro()

macro(diml_look_for_ONEDNN)
  # By header and library: the package file of some versions asks for OpenCL, which nothing here uses.
  diml_look_for_library(ONEDNN DNNL oneapi/dnnl/dnnl.hpp dnnl ""
    "#include <oneapi/dnnl/dnnl.hpp>\nint main() { return dnnl::version()->major < 2; }")
  if(DIML_ONEDNN_WORKS AND DIML_WITH_JSON)
    set(DIML_WITH_ONEDNN ON)
  endif()
endmacro()

macro(diml_look_for_YAML)
  diml_probe(YAML PACKAGE yaml-cpp CONFIG LIBRARIES yaml-cpp
    CODE "#include <yaml-cpp/yaml.h>\nint main() { return YAML::Load(\"0\").as<int>(); }")
  if(DIML_YAML_WORKS)
    find_package(yaml-cpp CONFIG QUIET)
    set(DIML_WITH_YAML ON)
  endif()
endmacro()

macro(diml_look_for_TORCH)
  # Not its largest header: that one alone costs 15 s.
  set(diml_torch_code "#include <ATen/ATen.h>\nint main() { return at::zeros({1}).item<int>(); }")
  diml_probe(TORCH PACKAGE Torch LIBRARIES torch CODE "${diml_torch_code}")
  if(NOT DIML_TORCH_WORKS AND NOT DIML_TORCH_BROKEN)
    # PyTorch's Python package carries LibTorch and knows where.
    execute_process(COMMAND python3 -c "import torch; print(torch.utils.cmake_prefix_path)"
      OUTPUT_VARIABLE diml_torch_prefix OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(diml_torch_prefix)
      list(APPEND CMAKE_PREFIX_PATH ${diml_torch_prefix})
      diml_probe(TORCH PACKAGE Torch LIBRARIES torch CODE "${diml_torch_code}")
    endif()
  endif()
  if(DIML_TORCH_WORKS AND DIML_WITH_JSON AND DIML_WITH_YAML)
    # Debian 13's package file warns of a profiler that nothing here uses.
    set(diml_log_level "${CMAKE_MESSAGE_LOG_LEVEL}")
    set(CMAKE_MESSAGE_LOG_LEVEL ERROR)
    find_package(Torch QUIET)
    set(CMAKE_MESSAGE_LOG_LEVEL "${diml_log_level}")
    set(DIML_WITH_TORCH ON)
  endif()
endmacro()

macro(diml_look_for_GALLERY)
  diml_look_for_library(GALLERY LMDB lmdb.h lmdb ""
    "#include <lmdb.h>\nint main() { return mdb_version(nullptr, nullptr, nullptr) == nullptr; }")
  if(DIML_WITH_JSON)
    set(DIML_WITH_GALLERY ${DIML_GALLERY_WORKS})
  endif()
endmacro()

macro(diml_look_for_POSTGRES)
  diml_look_for_library(POSTGRES PQ libpq-fe.h pq postgresql
    "#include <libpq-fe.h>\nint main() { return PQlibVersion() < 130000; }")
  if(DIML_WITH_GALLERY)
    set(DIML_WITH_POSTGRES ${DIML_POSTGRES_WORKS})
  endif()
endmacro()

macro(diml_look_for_SERVER)
  # Boost's headers alone: no library of it is linked.
  find_path(DIML_BOOST_INCLUDE boost/beast/http/parser.hpp)
  if(DIML_WITH_GALLERY AND DIML_WITH_IMAGES AND (DIML_WITH_ONEDNN OR DIML_WITH_TORCH) AND DIML_BOOST_INCLUDE)
    diml_probe(SERVER INCLUDES ${DIML_BOOST_INCLUDE}
      CODE "#include <boost/beast/http.hpp>\nint main() { return boost::beast::http::request_parser<boost::beast::http::string_body>().is_done(); }")
    set(DIML_WITH_SERVER ${DIML_SERVER_WORKS})
  endif()
endmacro()

macro(diml_look_for_FAISS)
  diml_probe(FAISS PACKAGE faiss CONFIG LIBRARIES faiss
    CODE "#include <faiss/IndexFlat.h>\nint main() { return static_cast<int>(faiss::IndexFlatIP(4).ntotal); }")
  if(DIML_FAISS_WORKS AND DIML_WITH_GALLERY)
    find_package(faiss CONFIG QUIET)
    set(DIML_WITH_FAISS ON)
  endif()
endmacro()

macro(diml_look_for_NCCL)
  # With PyTorch's Python package it lies beside it.
  find_path(DIML_NCCL_INCLUDE nccl.h HINTS ${TORCH_INSTALL_PREFIX}/../nvidia/nccl/include)
  find_library(DIML_NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${TORCH_INSTALL_PREFIX}/../nvidia/nccl/lib)
  if(DIML_WITH_TORCH AND TARGET torch_cuda AND DIML_NCCL_INCLUDE AND DIML_NCCL_LIBRARY)
    include(CheckCXXSourceCompiles)
    set(CMAKE_REQUIRED_FLAGS "-std=c++20")
    set(CMAKE_REQUIRED_DEFINITIONS -DUSE_C10D_NCCL)
    set(CMAKE_REQUIRED_INCLUDES ${TORCH_INCLUDE_DIRS} ${DIML_NCCL_INCLUDE} ${CUDAToolkit_INCLUDE_DIRS})
    # Compiled, not linked: PyTorch's targets name others that only its own package file knows.
    set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
    check_cxx_source_compiles("
      #include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
      int main() { return c10d::ProcessGroupNCCL::Options::create() ? 0 : 1; }" DIML_NCCL_COMPILES)
    unset(CMAKE_TRY_COMPILE_TARGET_TYPE)
    foreach(kind FLAGS DEFINITIONS INCLUDES)
      unset(CMAKE_REQUIRED_${kind})
    endforeach()
    set(DIML_WITH_NCCL ${DIML_NCCL_COMPILES})
  endif()
endmacro()

macro(diml_look_for_CLI)
  diml_probe(CLI PACKAGE CLI11 CONFIG LIBRARIES CLI11::CLI11
    CODE "#include <CLI/CLI.hpp>\nint main() { return CLI::App().count(); }")
  if(DIML_CLI_WORKS AND DIML_WITH_JSON)
    find_package(CLI11 CONFIG QUIET)
    set(DIML_WITH_CLI ON)
  endif()
endmacro()

macro(diml_look_for_PYTHON)
  # Debian's own interpreter where there is one: another python3 on the PATH lacks Debian's NumPy. pip names the one it runs in.
  find_program(DIML_PYTHON3 python3 HINTS /usr/bin DOC "The Python that the package is built for")
  set(DIML_PYTHON_FACTS "")
  if(DIML_PYTHON3)
    execute_process(COMMAND ${DIML_PYTHON3} -c
      "import numpy, sysconfig; print(sysconfig.get_paths()['include'], sysconfig.get_config_var('EXT_SUFFIX'), sysconfig.get_paths()['platlib'], sep=';')"
      OUTPUT_VARIABLE DIML_PYTHON_FACTS OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  find_path(DIML_PYBIND11_INCLUDE pybind11/pybind11.h)
  if(DIML_PYTHON_FACTS AND DIML_PYBIND11_INCLUDE)
    list(GET DIML_PYTHON_FACTS 0 DIML_PYTHON_INCLUDE)
    list(GET DIML_PYTHON_FACTS 1 DIML_PYTHON_SUFFIX)
    if(EXISTS ${DIML_PYTHON_INCLUDE}/Python.h)
      # A module's symbols of Python are found when Python loads it.
      diml_probe(PYTHON INCLUDES ${DIML_PYBIND11_INCLUDE} ${DIML_PYTHON_INCLUDE}
        LIBRARIES -Wl,--unresolved-symbols=ignore-all
        CODE "#include <pybind11/pybind11.h>\nint main() { return PYBIND11_VERSION_MAJOR < 2; }")
      set(DIML_WITH_PYTHON ${DIML_PYTHON_WORKS})
    endif()
  endif()
endmacro()

macro(diml_look_for_TESTS)
  diml_probe(TESTS PACKAGE GTest LIBRARIES GTest::gtest_main
    CODE "#include <gtest/gtest.h>\nTEST(Probe, Builds) {}")
  if(DIML_TESTS_WORKS)
    find_package(GTest QUIET)
    set(DIML_WITH_TESTS ON)
  endif()
endmacro()

macro(diml_look_for_BENCHMARKS)
  diml_probe(BENCHMARKS PACKAGE benchmark CONFIG LIBRARIES benchmark::benchmark
    CODE "#include <benchmark/benchmark.h>\nint main(int n, char** v) { benchmark::Initialize(&n, v); }")
  if(DIML_BENCHMARKS_WORKS)
    find_package(benchmark CONFIG QUIET)
    set(DIML_WITH_BENCHMARKS ON)
  endif()
endmacro()

diml_feature(SIMD "fast matching on the CPU" "libhwy-dev")
diml_feature(CUDA "matching, training and embedding on NVIDIA cards" "the CUDA toolkit")
diml_feature(EXACT "exact optimal transport" "liblemon-dev")
diml_feature(IMAGES "JPEG and PNG files" "libjpeg-dev libpng-dev")
diml_feature(WEBP "WebP files" "libwebp-dev")
diml_feature(TIFF "TIFF files" "libtiff-dev")
diml_feature(HEIF "HEIC and AVIF files" "libheif-dev")
diml_feature(MAT "the annotations of Cars196" "libmatio-dev")
diml_feature(DRAWING "the built-in data set, critters, and figures" "libcairo2-dev")
diml_feature(JSON "the weights of trained models" "nlohmann-json3-dev")
diml_feature(ONEDNN "networks at full speed on the CPU" "libdnnl-dev")
diml_feature(YAML "the settings of training runs, the tables of experiments" "libyaml-cpp-dev")
diml_feature(TORCH "training, TorchScript models" "libtorch-dev libyaml-cpp-dev")
diml_feature(NCCL "training on several GPUs" "NCCL")
diml_feature(GALLERY "galleries that are searched" "liblmdb-dev nlohmann-json3-dev")
diml_feature(POSTGRES "galleries in PostgreSQL" "libpq-dev")
diml_feature(FAISS "approximate search of large galleries" "libfaiss-dev")
diml_feature(SERVER "galleries over HTTP, and their page" "libboost-dev")
diml_feature(CLI "the diml program" "libcli11-dev nlohmann-json3-dev")
diml_feature(PYTHON "the Python package" "pybind11-dev python3-dev python3-numpy")
diml_feature(TESTS "the tests" "libgtest-dev")
diml_feature(BENCHMARKS "the benchmarks" "libbenchmark-dev")

# Photos to grids: images, weights, and something that runs networks.
set(DIML_WITH_NETWORKS OFF)
if(DIML_WITH_IMAGES AND (DIML_WITH_ONEDNN OR DIML_WITH_TORCH))
  set(DIML_WITH_NETWORKS ON)
endif()

# What a build lacks is said where it is built, not only to who asks.
if(DIML_OFF)
  string(REPLACE ";" ", " diml_off "${DIML_OFF}")
  message(NOTICE "diml is built without: ${diml_off}")
endif()
