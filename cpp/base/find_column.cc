#include "base/find_column.h"

#include <algorithm>
#include <string>

namespace flint {

Result<int> FindColumn(const Schema& given, std::string_view name) {
  const auto same = [&](const Field& field) { return field.name == name; };
  if (std::count_if(given.fields.begin(), given.fields.end(), same) > 1) {
    return Status::Invalid("two columns have the name '" + std::string(name) + "' (" +
                           given.ToString() + "): leave one out, or rename it");
  }
  return given.IndexOf(name);
}

}  // namespace flint
