#include "state/ordered_scope.h"

#include <algorithm>

namespace flint {
namespace {

bool EndsBefore(const SuffixRanges::End& end, std::string_view suffix) {
  return end && *end < suffix;
}

}  // namespace

void SuffixRanges::Add(std::string_view from, const End& to) {
  if (to && *to <= from) return;
  std::string begin(from);
  End end = to;
  auto at = ranges_.upper_bound(from);
  if (at != ranges_.begin() && !EndsBefore(std::prev(at)->second, from)) --at;
  while (at != ranges_.end() && (!end || at->first <= *end)) {
    begin = std::min(begin, at->first);
    if (!at->second || (end && *at->second > *end)) end = at->second;
    at = ranges_.erase(at);
  }
  ranges_.emplace(std::move(begin), std::move(end));
}

std::map<std::string, SuffixRanges::End, std::less<>>::const_iterator SuffixRanges::Find(
    std::string_view suffix) const {
  auto at = ranges_.upper_bound(suffix);
  if (at == ranges_.begin()) return ranges_.end();
  --at;
  return !at->second || suffix < *at->second ? at : ranges_.end();
}

const SuffixRanges::End* SuffixRanges::Holding(std::string_view suffix) const {
  auto found = Find(suffix);
  return found == ranges_.end() ? nullptr : &found->second;
}

std::string_view SuffixRanges::BeginHolding(std::string_view suffix) const {
  return Find(suffix)->first;
}

}  // namespace flint
