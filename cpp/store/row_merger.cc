#include "store/row_merger.h"

#include <cstring>
#include <utility>

#include "row/row_reader.h"
#include "row/row_writer.h"

namespace flint {
namespace {

struct Cell {
  bool null = true;
  std::string_view bytes;
};

bool Read(RowReader* reader, size_t column, Cell* cell) {
  return reader->Read(column, &cell->null, &cell->bytes).ok();
}

void Write(const MemberLayout& member, const Cell& cell, TupleWriter* tuple, std::string* out) {
  if (cell.null) {
    tuple->SetNull(member);
  } else if (member.value.fixed) {
    std::memcpy(out->data() + tuple->SlotAt(member), cell.bytes.data(), cell.bytes.size());
  } else {
    out->append(cell.bytes);
    tuple->End(member);
  }
}

}  // namespace

RowMerger::RowMerger(std::shared_ptr<const RowSchema> schema, std::vector<MergeFunction> functions)
    : schema_(std::move(schema)), functions_(std::move(functions)) {}

bool RowMerger::Merge(std::string_view older, std::string_view newer, std::string* out) const {
  RowReader olds(*schema_), news(*schema_);
  if (!olds.Open(older).ok() || !news.Open(newer).ok()) return false;
  out->clear();
  TupleWriter tuple = BeginRow(*schema_, out);
  const TupleLayout& layout = schema_->current().layout;
  std::string merged;
  for (size_t k = 0; k < functions_.size(); ++k) {
    const MemberLayout& member = layout.members[k];
    Cell was, is;
    if (!Read(&olds, k, &was) || !Read(&news, k, &is)) return false;
    if (functions_[k] == MergeFunction::kReplace || was.null) {
      Write(member, is, &tuple, out);
    } else if (is.null) {
      Write(member, was, &tuple, out);
    } else {
      if (!MergeValues(functions_[k], member.value, was.bytes, is.bytes, &merged)) return false;
      Write(member, {false, merged}, &tuple, out);
    }
  }
  return CheckRowSize(out->size()).ok();
}

}  // namespace flint
