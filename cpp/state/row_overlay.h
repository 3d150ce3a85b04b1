#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "state/row_page.h"

namespace flint {

// What the cache knows of the rows of a scope, in order: a list of pages, each with up to some
// hundred rows. A row is found by two searches of words that lie side by side; one that comes in
// order goes to the end of the last page without a search. Copies share the pages, and a page that
// is shared is copied when it is next changed: so a copy is cheap, and stays as it was.
//
// One thread at a time for all that share pages. A place is valid until the next change.
class RowOverlay {
 public:
  struct Place {
    size_t page = 0;
    size_t row = 0;
    bool operator==(const Place&) const = default;
  };

  bool empty() const { return pages_.empty(); }
  size_t size() const { return size_; }
  // What it takes up, as if no page were shared.
  size_t memory() const { return memory_; }

  Place begin() const { return {}; }
  Place end() const { return {pages_.size(), 0}; }
  Place Next(Place at) const {
    return at.row + 1 < pages_[at.page].page->size() ? Place{at.page, at.row + 1}
                                                     : Place{at.page + 1, 0};
  }
  // Requires at != begin().
  Place Before(Place at) const {
    return at.row > 0 ? Place{at.page, at.row - 1}
                      : Place{at.page - 1, pages_[at.page - 1].page->size() - 1};
  }
  // The first row whose suffix is not below `suffix`.
  Place LowerBound(std::string_view suffix) const;
  // end() where there is no such row.
  Place Find(std::string_view suffix) const;

  std::string_view suffix(Place at) const { return pages_[at.page].page->suffix(at.row); }
  std::string_view stored(Place at) const { return pages_[at.page].page->stored(at.row); }
  RowFlags flags(Place at) const { return pages_[at.page].page->flags(at.row); }

  // Nothing that is handed over may lie in the overlay itself. Insert requires
  // at == LowerBound(suffix), and that the row there, if any, is another one.
  void Insert(Place at, std::string_view suffix, std::string_view stored, RowFlags flags);
  void Append(std::string_view suffix, std::string_view stored, RowFlags flags) {
    Insert(end(), suffix, stored, flags);
  }
  void Set(Place at, std::string_view stored, RowFlags flags);
  void Erase(Place at);
  void Erase(Place from, Place to);
  void Clear();

  // Calls visit(suffix, stored, flags) for each dirty row, in order; then they are clean, and in
  // RocksDB, and those that are known to be none are dropped.
  void Drain(const std::function<void(std::string_view, std::string_view, RowFlags)>& visit);

  // The pages that hold the rows between two places, and others beside them perhaps, shared.
  RowOverlay Share(Place from, Place to) const;

 private:
  struct Entry {
    uint64_t head;  // of the page's first suffix, behind common_
    std::shared_ptr<RowPage> page;
    bool dirty = false;  // some row may be
  };

  std::string_view FirstOf(size_t page) const { return pages_[page].page->suffix(0); }
  size_t FindPage(std::string_view suffix) const;
  // The page, to be changed.
  RowPage& Own(size_t page);
  // A page that has room for so many bytes, at which the row is to be inserted.
  Place MakeRoom(Place at, size_t bytes);
  void AddPage(size_t at, RowPage page, bool dirty);
  void DropPages(size_t begin, size_t end);
  void FirstChanged(size_t page);
  void EraseRows(size_t page, size_t begin, size_t end);

  std::vector<Entry> pages_;  // none is empty
  size_t size_ = 0;
  size_t memory_ = 0;
  size_t common_ = 0;  // so many bytes at the beginning of all pages' first suffixes are the same
};

}  // namespace flint
