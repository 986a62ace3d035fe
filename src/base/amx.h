#pragma once

namespace diml {

// Whether the CPU reports AMX but not the size of its tiles. Some hypervisors pass the first flag
// on and hide the second; oneDNN reads only the first, configures tiles without a size and crashes
// with an illegal instruction.
bool amx_is_broken();

// In that case, disables AMX in oneDNN, ours and LibTorch's: call before the first network. A value
// of ONEDNN_MAX_CPU_ISA that the user has set stays.
void avoid_broken_amx();

}  // namespace diml
