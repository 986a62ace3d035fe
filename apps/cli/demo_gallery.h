#pragma once

#include <cstddef>
#include <string>

namespace diml::cli {

// The results of the tour on disk: a gallery of the critters of the test split, embedded by the
// trained model, and a page that explains why the images numbered source and target of that split
// match. Prints the command that opens the gallery's page.
void leave_gallery(const std::string& folder, const std::string& model, const std::string& pictures,
                   std::size_t source, std::size_t target);

}  // namespace diml::cli
