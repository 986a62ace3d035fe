#pragma once

#include <functional>
#include <vector>

#include "cli/program.h"

namespace diml::test {

// Settings that run the program as one of several processes.
using RunWith = std::function<ProgramResult(const ProgramSettings&)>;

// Two processes of one call, as torchrun would start them, to their ends. meanwhile: called beside
// each of them with its rank and its process.
std::vector<ProgramResult> run_two(
    const RunWith& first, const RunWith& second,
    const std::function<void(std::size_t rank, int process)>& meanwhile = {});

}  // namespace diml::test
