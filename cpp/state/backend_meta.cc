#include "state/backend_meta.h"

#include <charconv>

#include "base/schema_bytes.h"
#include "state/row_key.h"

namespace flint {
namespace {

constexpr std::string_view kFamilyPrefix = "state.";
constexpr char kFormat = 1;
constexpr uint64_t kElementsMax = uint64_t{1} << 62;
constexpr size_t kHeadSize = 7;  // format, max_parallelism, first group, last group

void PutUint16(int number, std::string* out) {
  out->push_back(static_cast<char>(number));
  out->push_back(static_cast<char>(number >> 8));
}

uint16_t TakeUint16(std::string_view bytes, size_t at) {
  return static_cast<uint16_t>(static_cast<uint8_t>(bytes[at]) | static_cast<uint8_t>(bytes[at + 1])
                                                                     << 8);
}

}  // namespace

std::string FamilyName(uint32_t state_id) {
  return std::string(kFamilyPrefix) + std::to_string(state_id);
}

std::optional<uint32_t> StateIdOf(std::string_view family) {
  if (!family.starts_with(kFamilyPrefix)) return std::nullopt;
  family.remove_prefix(kFamilyPrefix.size());
  uint32_t id = 0;
  auto [end, error] = std::from_chars(family.data(), family.data() + family.size(), id);
  bool whole = error == std::errc() && end == family.data() + family.size();
  return whole ? std::optional(id) : std::nullopt;
}

std::string CatalogueKey(uint32_t state_id) {
  std::string key = kCatalogueKeys;
  for (int shift = 24; shift >= 0; shift -= 8) key.push_back(static_cast<char>(state_id >> shift));
  return key;
}

std::optional<uint32_t> CatalogueIdOf(std::string_view key) {
  std::string_view prefix = kCatalogueKeys;
  if (!key.starts_with(prefix) || key.size() != prefix.size() + 4) return std::nullopt;
  uint32_t id = 0;
  for (char byte : key.substr(prefix.size())) id = id << 8 | static_cast<uint8_t>(byte);
  return id;
}

Result<uint64_t> ParseNextElement(std::string_view bytes) {
  uint64_t number = bytes.size() == 8 ? LoadBigEndian(bytes.data()) : 0;
  if (number > 0 && number <= kElementsMax) return number;
  return Status::Corruption("the number of the next element is damaged");
}

std::string BackendIdentity::Serialize() const {
  std::string out = {kFormat};
  PutUint16(max_parallelism, &out);
  PutUint16(first_group, &out);
  PutUint16(last_group, &out);
  for (const Field& field : key.fields) AppendField(field, &out);
  return out;
}

Result<BackendIdentity> BackendIdentity::Parse(std::string_view bytes) {
  if (bytes.size() < kHeadSize || bytes[0] != kFormat) {
    return Status::Corruption(
        "what the directory is the state of is damaged, or of a newer format");
  }
  BackendIdentity identity;
  identity.max_parallelism = TakeUint16(bytes, 1);
  identity.first_group = TakeUint16(bytes, 3);
  identity.last_group = TakeUint16(bytes, 5);
  ByteReader reader(bytes.substr(kHeadSize));
  while (!reader.empty()) {
    FLINT_ASSIGN_OR_RETURN(identity.key.fields.emplace_back(), reader.TakeField());
  }
  return identity;
}

std::string BackendIdentity::ToString() const {
  return "key (" + key.ToString() + "), key groups " + std::to_string(first_group) + " to " +
         std::to_string(last_group) + " of max_parallelism " + std::to_string(max_parallelism);
}

Status BackendIdentity::CheckSame(const BackendIdentity& wanted) const {
  if (Serialize() == wanted.Serialize()) return {};
  return Status::Invalid("there is state with " + ToString() + "; it can't be opened with " +
                         wanted.ToString());
}

}  // namespace flint
