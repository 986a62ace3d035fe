#pragma once

#include <string>
#include <string_view>

namespace diml::server {

// Of letters, digits and -._ alone, so that it cannot forge a line of a log or a header.
bool is_request_id(std::string_view text);

// 32 digits that no other request has.
std::string make_request_id();

}  // namespace diml::server
