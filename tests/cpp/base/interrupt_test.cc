#include "base/interrupt.h"

#include <gtest/gtest.h>

#include <thread>

namespace flint {
namespace {

class Scope : public InterruptScope {
 public:
  explicit Scope(int ends_after) : left_(ends_after) {}
  int asked() const { return asked_; }

 protected:
  bool Asked() override {
    ++asked_;
    return --left_ == 0;
  }

 private:
  int left_;
  int asked_ = 0;
};

void WorkUntilInterrupted() {
  while (CheckInterrupt().ok()) {
  }
}

TEST(InterruptTest, WithoutAScopeNobodyIsInterrupted) { EXPECT_TRUE(CheckInterrupt().ok()); }

TEST(InterruptTest, WorkGoesOnUntilTheScopeSaysSo) {
  Scope scope(2);
  WorkUntilInterrupted();
  EXPECT_EQ(scope.asked(), 2);
}

TEST(InterruptTest, WhatWasInterruptedStaysSoAndIsNotAskedAgain) {
  Scope scope(1);
  WorkUntilInterrupted();
  EXPECT_FALSE(CheckInterrupt().ok());
  EXPECT_EQ(scope.asked(), 1);
}

TEST(InterruptTest, ShortWorkIsNotAsked) {
  Scope scope(1);
  EXPECT_TRUE(CheckInterrupt().ok());
  EXPECT_EQ(scope.asked(), 0);
}

TEST(InterruptTest, TheInnermostScopeIsAskedAndTheOuterOneGoesOn) {
  Scope outer(1);
  {
    Scope inner(1);
    WorkUntilInterrupted();
  }
  EXPECT_TRUE(CheckInterrupt().ok());
  EXPECT_EQ(outer.asked(), 0);
}

TEST(InterruptTest, OtherThreadsAreInNoScope) {
  Scope scope(1);
  WorkUntilInterrupted();
  std::thread other([] { EXPECT_TRUE(CheckInterrupt().ok()); });
  other.join();
}

}  // namespace
}  // namespace flint
