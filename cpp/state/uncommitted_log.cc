#include "state/uncommitted_log.h"

#include <filesystem>
#include <utility>

#include "base/checksum.h"

namespace flint {

Status UncommittedLog::Append(const ChangeBatch& changes) {
  if (!file_) {
    FLINT_ASSIGN_OR_RETURN(AppendFile file, AppendFile::Create(path_));
    file_.emplace(std::move(file));
  }
  std::string_view bytes = changes.bytes();
  Piece piece{file_->size(), bytes.size(), Crc32c(bytes), changes.tables()};
  FLINT_RETURN_IF_ERROR(file_->Append(bytes));
  pieces_.push_back(std::move(piece));
  return {};
}

Status UncommittedLog::WriteTo(ChangeWriter* log) const {
  if (pieces_.empty()) return {};
  FLINT_ASSIGN_OR_RETURN(ReadFile file, ReadFile::Open(path_));
  std::string bytes;
  for (const Piece& piece : pieces_) {
    FLINT_RETURN_IF_ERROR(file.Read(piece.offset, piece.size, &bytes));
    if (bytes.size() != piece.size || Crc32c(bytes) != piece.checksum) {
      return Status::Corruption(path_ + ": what was spilled can't be read back");
    }
    ChangeBatch changes(group_bytes_, std::move(bytes), piece.tables);
    FLINT_RETURN_IF_ERROR(changes.Log(log));
    bytes.clear();
  }
  return {};
}

void UncommittedLog::Clear() {
  if (!file_) return;
  pieces_.clear();
  file_.reset();
  RemoveFile();
}

void UncommittedLog::RemoveFile() const {
  if (generation_ != ForkGeneration()) return;
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

}  // namespace flint
