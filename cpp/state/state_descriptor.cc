#include "state/state_descriptor.h"

#include <iterator>

#include "base/schema_bytes.h"

namespace flint {
namespace {

constexpr char kFormat = 1;

void AppendSchema(const Schema& schema, std::string* out) {
  AppendVarint(schema.size(), out);
  for (const Field& field : schema.fields) AppendField(field, out);
}

Status TakeSchema(ByteReader* in, Schema* out) {
  FLINT_ASSIGN_OR_RETURN(uint64_t columns, in->Varint());
  for (uint64_t k = 0; k < columns; ++k) {
    FLINT_ASSIGN_OR_RETURN(out->fields.emplace_back(), in->TakeField());
  }
  return {};
}

Status TakeText(ByteReader* in, std::string* out) {
  FLINT_ASSIGN_OR_RETURN(std::string_view text, in->String());
  *out = text;
  return {};
}

Status TakeAll(ByteReader* in, StateDescriptor* state) {
  FLINT_RETURN_IF_ERROR(TakeText(in, &state->name));
  for (Schema* schema : {&state->value, &state->user_key, &state->space}) {
    FLINT_RETURN_IF_ERROR(TakeSchema(in, schema));
  }
  for (std::string* text : {&state->function, &state->value_codec, &state->key_codec}) {
    FLINT_RETURN_IF_ERROR(TakeText(in, text));
  }
  while (!in->empty()) FLINT_RETURN_IF_ERROR(TakeText(in, &state->descending.emplace_back()));
  return {};
}

bool HasItsColumns(const StateDescriptor& state) {
  size_t values = state.kind == StateKind::kTimers ? 0 : 1;
  size_t keys = state.user_key.size();
  bool keyed =
      state.kind == StateKind::kMap || state.kind == StateKind::kSorted ? keys > 0 : keys == 0;
  bool reduced = state.function.empty() || state.kind == StateKind::kReducing;
  return state.value.size() == values && keyed && reduced && state.space.size() <= 1;
}

// The type, where there is one column; all of them, where there are more.
std::string TypeName(const Schema& schema, const std::string& codec) {
  std::string type = schema.size() == 1 ? schema[0].type.ToString() : schema.ToString();
  return codec.empty() ? type : "codec '" + codec + "' over " + type;
}

}  // namespace

std::string_view KindName(StateKind kind) {
  constexpr std::string_view kNames[] = {"?",        "value",       "list",   "map",
                                         "reducing", "aggregating", "sorted", "timers"};
  auto index = static_cast<size_t>(kind);
  return index < std::size(kNames) ? kNames[index] : kNames[0];
}

std::string StateDescriptor::Serialize() const {
  std::string out = {kFormat, static_cast<char>(kind)};
  AppendString(name, &out);
  AppendSchema(value, &out);
  AppendSchema(user_key, &out);
  AppendSchema(space, &out);
  AppendString(function, &out);
  AppendString(value_codec, &out);
  AppendString(key_codec, &out);
  for (const std::string& column : descending) AppendString(column, &out);
  return out;
}

Result<StateDescriptor> StateDescriptor::Parse(std::string_view bytes) {
  StateDescriptor state;
  if (bytes.size() < 2 || bytes[0] != kFormat) {
    return Status::Corruption("a state's catalogue entry is damaged or of a newer format");
  }
  state.kind = static_cast<StateKind>(bytes[1]);
  if (KindName(state.kind) == "?") {
    return Status::Corruption("a state's catalogue entry names a kind that there is not");
  }
  ByteReader reader(bytes.substr(2));
  Status status = TakeAll(&reader, &state);
  if (!status.ok()) return status.WithContext("a state's catalogue entry");
  if (HasItsColumns(state)) return state;
  return Status::Corruption("a state's catalogue entry has other columns than a " +
                            std::string(KindName(state.kind)) + " state");
}

std::string StateDescriptor::ToString() const {
  std::string text = std::string(KindName(kind)) + " state '" + name + "' of ";
  if (user_key.size() > 0) text += TypeName(user_key, key_codec) + " to ";
  text += TypeName(value, value_codec);
  for (const std::string& column : descending) text += ", " + column + " descending";
  if (!function.empty()) text += ", by " + function;
  if (space.size() > 0) text += ", namespace " + TypeName(space, {});
  return text;
}

Status StateDescriptor::CheckSame(const StateDescriptor& wanted) const {
  if (Serialize() == wanted.Serialize()) return {};
  return Status::Invalid("there is a " + ToString() + "; it can't be opened as a " +
                         wanted.ToString());
}

}  // namespace flint
