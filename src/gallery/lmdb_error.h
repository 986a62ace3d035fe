#pragma once

#include <string>

#include "diml/error.h"
#include "diml/grid_store.h"

namespace diml::gallery {

// what: the name of the file or folder, and its fault. For damage that only another gallery mends:
// a backup, or one of what is whole.
Error damaged_error(const std::string& what);

// code: one of LMDB's, or an errno. is_open: whether opening has ended well.
Error lmdb_error(int code, const std::string& folder, StoreAccess access, bool is_open);

// The folder does not hold the file any more that this process has opened. Whoever can opens the
// gallery again; the parameter "reopen" says so.
Error replaced_error(const std::string& folder);

// A write into LMDB's own pages failed: it answers nothing more until all who use it in this
// process have closed it. The parameter is "reopen", too.
Error failed_error(const std::string& folder);

constexpr unsigned kMostReaders = 1022;

}  // namespace diml::gallery
