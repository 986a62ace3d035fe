#pragma once

namespace diml {

// Whether the CPU says that it has AMX and does not say how large its tiles are. Some hypervisors
// pass the first on and hide the second; oneDNN looks at the first alone, sets tiles up without a
// size and ends by an illegal instruction.
bool amx_is_broken();

// Where it is, tells oneDNN, ours and LibTorch's, to do without: call before the first network.
// What the user set in ONEDNN_MAX_CPU_ISA stays.
void avoid_broken_amx();

}  // namespace diml
