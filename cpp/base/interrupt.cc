#include "base/interrupt.h"

namespace flint {
namespace {

thread_local InterruptScope* innermost = nullptr;

}  // namespace

InterruptScope::InterruptScope() : outer_(innermost) { innermost = this; }

InterruptScope::~InterruptScope() { innermost = outer_; }

Status CheckInterrupt() {
  InterruptScope* scope = innermost;
  if (scope == nullptr) return {};
  if (!scope->ended_) {
    const auto now = InterruptScope::Clock::now();
    const bool first = scope->next_ == InterruptScope::Clock::time_point();
    if (!first && now < scope->next_) return {};
    scope->ended_ = !first && scope->Asked();
    scope->next_ = InterruptScope::Clock::now() + InterruptScope::kEvery;
  }
  return scope->ended_ ? Status::Internal("the call was interrupted") : Status();
}

}  // namespace flint
