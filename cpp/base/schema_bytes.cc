#include "base/schema_bytes.h"

#include <utility>
#include <vector>

namespace flint {
namespace {

Status Damaged() { return Status::Corruption("the bytes of a schema are damaged"); }

void AppendExported(const ArrowSchema& schema, std::string* out) {
  AppendString(schema.format, out);
  AppendString(schema.name, out);
  AppendVarint(static_cast<uint64_t>(schema.flags & ARROW_FLAG_NULLABLE), out);
  AppendVarint(static_cast<uint64_t>(schema.n_children), out);
  for (int64_t i = 0; i < schema.n_children; ++i) AppendExported(*schema.children[i], out);
}

// One node of Arrow's C form and all below it.
struct SchemaNode {
  std::string format;
  std::string name;
  std::vector<SchemaNode> children;
  std::vector<ArrowSchema*> pointers;
  ArrowSchema arrow{};
};

Status TakeNode(ByteReader* in, int depth, SchemaNode* node) {
  FLINT_ASSIGN_OR_RETURN(node->format, in->String());
  FLINT_ASSIGN_OR_RETURN(node->name, in->String());
  FLINT_ASSIGN_OR_RETURN(uint64_t flags, in->Varint());
  FLINT_ASSIGN_OR_RETURN(uint64_t count, in->Varint());
  if (depth > kTypeDepthMax || count > in->size()) return Damaged();
  node->children.resize(count);
  for (SchemaNode& child : node->children) {
    FLINT_RETURN_IF_ERROR(TakeNode(in, depth + 1, &child));
    node->pointers.push_back(&child.arrow);
  }
  node->arrow.format = node->format.c_str();
  node->arrow.name = node->name.c_str();
  node->arrow.flags = static_cast<int64_t>(flags);
  node->arrow.n_children = static_cast<int64_t>(count);
  node->arrow.children = node->pointers.data();
  return {};
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

// What can't be a type was not written as one.
Result<Field> ByteReader::TakeField() {
  SchemaNode node;
  FLINT_RETURN_IF_ERROR(TakeNode(this, 1, &node));
  Result<Field> field = Field::FromArrow(node.arrow);
  return field.ok() ? field : Status::Corruption(field.status().message());
}

}  // namespace flint
