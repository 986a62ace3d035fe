#include "numbers.h"

#include <cmath>
#include <sstream>

#include "base/nearest_name.h"

namespace diml::learn {

std::string no_such_name(std::string_view noun, std::string_view name,
                         const std::vector<std::string>& known) {
  return "there is no " + std::string(noun) + " '" + std::string(name) + "': did you mean " +
         nearest_name(name, known) + "?";
}

Numbers with_defaults(const Numbers& given, const Numbers& defaults, const std::string& owner) {
  Numbers numbers = defaults;
  for (const auto& [name, value] : given) {
    const auto known = numbers.find(name);
    if (known == numbers.end()) {
      std::vector<std::string> names;
      for (const auto& entry : defaults) names.push_back(entry.first);
      throw Error(names.empty() ? owner + " has no numbers: leave out '" + name + "'"
                                : no_such_name("number of " + owner, name, names));
    }
    if (!std::isfinite(value)) {
      throw Error(name + " of " + owner + " is not a finite number: give one");
    }
    known->second = value;
  }
  return numbers;
}

double number_between(const Numbers& numbers, const char* name, double low, double high,
                      const std::string& owner) {
  const double value = numbers.at(name);
  if (value >= low && value <= high) return value;
  std::ostringstream line;
  line << name << " of " << owner << " is " << value << ": give one from " << low << " to " << high;
  throw Error(line.str());
}

}  // namespace diml::learn
