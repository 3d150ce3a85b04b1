#include "state/row_overlay.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace flint {
namespace {

// A page that would grow past these is split.
constexpr size_t kPageRowsMax = 128;
constexpr size_t kPageBytesMax = 8u << 10;

}  // namespace

size_t RowOverlay::FindPage(std::string_view suffix) const {
  if (pages_.size() <= 1) return 0;
  int order = suffix.substr(0, common_).compare(FirstOf(0).substr(0, common_));
  if (order != 0) return order < 0 ? 0 : pages_.size() - 1;
  uint64_t head = HeadOf(suffix, common_);
  auto begins_below = [&](const Entry& entry) {
    return entry.head != head ? entry.head < head : entry.page->suffix(0) <= suffix;
  };
  if (begins_below(pages_.back())) return pages_.size() - 1;
  auto behind = std::partition_point(pages_.begin(), pages_.end(), begins_below);
  return behind == pages_.begin() ? 0 : static_cast<size_t>(behind - pages_.begin()) - 1;
}

RowOverlay::Place RowOverlay::LowerBound(std::string_view suffix) const {
  if (pages_.empty()) return end();
  size_t page = FindPage(suffix);
  size_t row = pages_[page].page->LowerBound(suffix);
  return row < pages_[page].page->size() ? Place{page, row} : Place{page + 1, 0};
}

RowOverlay::Place RowOverlay::Find(std::string_view suffix) const {
  Place at = LowerBound(suffix);
  return at != end() && this->suffix(at) == suffix ? at : end();
}

RowPage& RowOverlay::Own(size_t page) {
  std::shared_ptr<RowPage>& held = pages_[page].page;
  if (held.use_count() == 1) {
    // Whoever shared it and let go has read it before.
    std::atomic_thread_fence(std::memory_order_acquire);
    return *held;
  }
  memory_ -= held->memory();
  held = std::make_shared<RowPage>(*held);
  memory_ += held->memory();
  return *held;
}

void RowOverlay::FirstChanged(size_t page) {
  std::string_view first = FirstOf(page);
  if (pages_.size() == 1) {
    common_ = first.size();
  } else {
    size_t common = CommonBytes(first, FirstOf(page == 0 ? 1 : 0));
    if (common < common_) {
      common_ = common;
      for (Entry& entry : pages_) entry.head = HeadOf(entry.page->suffix(0), common_);
      return;
    }
  }
  pages_[page].head = HeadOf(first, common_);
}

void RowOverlay::AddPage(size_t at, RowPage page, bool dirty) {
  memory_ += sizeof(Entry) + page.memory();
  pages_.insert(pages_.begin() + static_cast<ptrdiff_t>(at),
                {0, std::make_shared<RowPage>(std::move(page)), dirty});
  if (pages_[at].page->size() > 0) FirstChanged(at);
}

void RowOverlay::DropPages(size_t begin, size_t end) {
  for (size_t page = begin; page < end; ++page) {
    memory_ -= sizeof(Entry) + pages_[page].page->memory();
    size_ -= pages_[page].page->size();
  }
  pages_.erase(pages_.begin() + static_cast<ptrdiff_t>(begin),
               pages_.begin() + static_cast<ptrdiff_t>(end));
}

RowOverlay::Place RowOverlay::MakeRoom(Place at, size_t bytes) {
  if (pages_.empty()) {
    AddPage(0, RowPage(), false);
    return {0, 0};
  }
  // Before the first row of a page is behind the last one of the page before it.
  if (at.row == 0 && at.page > 0) at = {at.page - 1, pages_[at.page - 1].page->size()};
  size_t rows = pages_[at.page].page->size();
  bool full = rows >= kPageRowsMax || pages_[at.page].page->used_bytes() + bytes > kPageBytesMax;
  if (!full) return at;
  bool last = at.page + 1 == pages_.size() && at.row == rows;
  if (last || rows == 1) {
    size_t page = at.row == 0 ? at.page : at.page + 1;
    AddPage(page, RowPage(), false);
    return {page, 0};
  }
  RowPage& first = Own(at.page);
  memory_ -= first.memory();
  RowPage tail = first.SplitAt(rows / 2);
  memory_ += first.memory();
  AddPage(at.page + 1, std::move(tail), pages_[at.page].dirty);
  return at.row <= rows / 2 ? at : Place{at.page + 1, at.row - rows / 2};
}

void RowOverlay::Insert(Place at, std::string_view suffix, std::string_view stored,
                        RowFlags flags) {
  at = MakeRoom(at, suffix.size() + stored.size());
  RowPage& page = Own(at.page);
  memory_ -= page.memory();
  page.Insert(at.row, suffix, stored, flags);
  memory_ += page.memory();
  pages_[at.page].dirty |= flags.dirty;
  ++size_;
  if (at.row == 0) FirstChanged(at.page);
}

void RowOverlay::Set(Place at, std::string_view stored, RowFlags flags) {
  RowPage& page = Own(at.page);
  memory_ -= page.memory();
  page.SetStored(at.row, stored);
  page.SetFlags(at.row, flags);
  memory_ += page.memory();
  pages_[at.page].dirty |= flags.dirty;
}

void RowOverlay::EraseRows(size_t page, size_t begin, size_t end) {
  if (begin == end) return;
  if (end - begin == pages_[page].page->size()) return DropPages(page, page + 1);
  RowPage& rows = Own(page);
  memory_ -= rows.memory();
  rows.Erase(begin, end);
  memory_ += rows.memory();
  size_ -= end - begin;
  if (begin == 0) FirstChanged(page);
}

void RowOverlay::Erase(Place at) { EraseRows(at.page, at.row, at.row + 1); }

void RowOverlay::Erase(Place from, Place to) {
  if (from.page == to.page) return EraseRows(from.page, from.row, to.row);
  // From behind, so that places before it stay.
  if (to.row > 0) EraseRows(to.page, 0, to.row);
  DropPages(from.page + 1, to.page);
  EraseRows(from.page, from.row, pages_[from.page].page->size());
}

void RowOverlay::Clear() { *this = RowOverlay(); }

void RowOverlay::Drain(
    const std::function<void(std::string_view, std::string_view, RowFlags)>& visit) {
  for (size_t p = 0; p < pages_.size();) {
    if (!std::exchange(pages_[p].dirty, false)) {
      ++p;
      continue;
    }
    RowPage& page = Own(p);
    for (size_t row = 0; row < page.size(); ++row) {
      RowFlags flags = page.flags(row);
      if (flags.dirty) visit(page.suffix(row), page.stored(row), flags);
      page.SetFlags(row, {flags.present, false, true});
    }
    size_t before = page.size();
    memory_ -= page.memory();
    page.EraseAbsent();
    memory_ += page.memory();
    size_ -= before - page.size();
    if (page.size() == 0) {
      DropPages(p, p + 1);
    } else {
      FirstChanged(p++);
    }
  }
}

RowOverlay RowOverlay::Share(Place from, Place to) const {
  RowOverlay shared;
  size_t end = std::min(to.row == 0 ? to.page : to.page + 1, pages_.size());
  if (from.page >= end) return shared;
  shared.pages_.assign(pages_.begin() + static_cast<ptrdiff_t>(from.page),
                       pages_.begin() + static_cast<ptrdiff_t>(end));
  for (const Entry& entry : shared.pages_) {
    shared.size_ += entry.page->size();
    shared.memory_ += sizeof(Entry) + entry.page->memory();
  }
  shared.common_ = common_;
  return shared;
}

}  // namespace flint
