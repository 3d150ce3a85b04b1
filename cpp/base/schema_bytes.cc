#include "base/schema_bytes.h"

#include <utility>
#include <vector>

namespace flint {
namespace {

constexpr int kDepthMax = 128;

Status Damaged() { return Status::Corruption("the bytes of a schema are damaged"); }

void AppendExported(const ArrowSchema& schema, std::string* out) {
  AppendString(schema.format, out);
  AppendString(schema.name, out);
  AppendVarint(static_cast<uint64_t>(schema.flags & ARROW_FLAG_NULLABLE), out);
  AppendVarint(static_cast<uint64_t>(schema.n_children), out);
  for (int64_t i = 0; i < schema.n_children; ++i) AppendExported(*schema.children[i], out);
}

// One node of Arrow's C form, with the children that were read already left out.
ArrowSchema Node(const std::string& format, const std::string& name, uint64_t flags) {
  ArrowSchema node{};
  node.format = format.c_str();
  node.name = name.c_str();
  node.flags = static_cast<int64_t>(flags);
  return node;
}

}  // namespace

void AppendVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}

void AppendString(std::string_view text, std::string* out) {
  AppendVarint(text.size(), out);
  out->append(text);
}

void AppendField(const Field& field, std::string* out) {
  OwnedSchema exported;
  Field plain{field.name, field.type.Plain(), field.nullable};
  ExportField(plain, exported.get());
  AppendExported(*exported, out);
}

Result<uint64_t> ByteReader::Varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
    auto byte = static_cast<uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    value |= uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return value;
  }
  return Damaged();
}

Result<std::string_view> ByteReader::String() {
  FLINT_ASSIGN_OR_RETURN(uint64_t size, Varint());
  if (size > rest_.size()) return Damaged();
  std::string_view text = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return text;
}

Result<Field> ByteReader::TakeField() { return TakeField(0); }

Result<Field> ByteReader::TakeField(int depth) {
  FLINT_ASSIGN_OR_RETURN(std::string_view format, String());
  FLINT_ASSIGN_OR_RETURN(std::string_view name, String());
  FLINT_ASSIGN_OR_RETURN(uint64_t flags, Varint());
  FLINT_ASSIGN_OR_RETURN(uint64_t count, Varint());
  if (depth > kDepthMax || count > rest_.size()) return Damaged();
  std::vector<OwnedSchema> children(count);
  std::vector<ArrowSchema*> pointers;
  for (OwnedSchema& child : children) {
    FLINT_ASSIGN_OR_RETURN(Field field, TakeField(depth + 1));
    ExportField(field, child.get());
    pointers.push_back(child.get());
  }
  std::string format_text(format), name_text(name);
  ArrowSchema node = Node(format_text, name_text, flags);
  node.n_children = static_cast<int64_t>(count);
  node.children = pointers.data();
  return Field::FromArrow(node);
}

}  // namespace flint
