#pragma once

#include <optional>
#include <string>

namespace diml {

// Bytes of this machine's memory that a process can still allocate: MemAvailable of the kernel, or
// less where a control group (a container, a job of a batch system) sets a limit. nullopt where
// it is unknown.
std::optional<double> free_memory();

// "1.6 GB", "290 MB": powers of ten, two digits or three.
std::string bytes_text(double bytes);

}  // namespace diml
