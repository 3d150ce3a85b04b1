#include "state/timers.h"

#include <random>
#include <set>
#include <tuple>

#include "state/backend_fixture.h"

namespace flint {
namespace {

class TimersTest : public BackendTest {
 protected:
  void OpenTimers() {
    auto timers = Timers::Open(backend_.get(), TimeDomain::kEvent, {});
    ASSERT_TRUE(timers.ok()) << timers.status().message();
    timers_.emplace(*std::move(timers));
  }
  void Register(const std::string& key, int64_t time) {
    SetKey(key);
    ASSERT_TRUE(timers_->Register(time, {}).ok());
  }
  void Delete(const std::string& key, int64_t time) {
    SetKey(key);
    ASSERT_TRUE(timers_->Delete(time, {}).ok());
  }
  // All that are due: (time, encoded key).
  std::vector<std::pair<int64_t, std::string>> TakeAll(int64_t until) {
    std::vector<std::pair<int64_t, std::string>> taken;
    while (true) {
      auto due = timers_->TakeDue(until);
      EXPECT_TRUE(due.ok());
      if (!due.ok() || !*due) return taken;
      taken.emplace_back((*due)->time, (*due)->key);
    }
  }

  std::optional<Timers> timers_;
};

TEST_F(TimersTest, FireInTheOrderOfTimeWhateverTheirKey) {
  Open();
  OpenTimers();
  for (int i = 0; i < 200; ++i) Register(std::to_string(i), (i * 37) % 200 - 100);
  EXPECT_EQ(**timers_->First(), -100);
  auto taken = TakeAll(0);
  ASSERT_EQ(taken.size(), 101u);
  for (size_t i = 0; i < taken.size(); ++i)
    EXPECT_EQ(taken[i].first, static_cast<int64_t>(i) - 100);
  EXPECT_EQ(**timers_->First(), 1);
}

TEST_F(TimersTest, OneThatIsRegisteredTwiceFiresOnce) {
  Open();
  OpenTimers();
  Register("a", 5);
  Register("a", 5);
  EXPECT_EQ(TakeAll(5).size(), 1u);
  EXPECT_FALSE((*timers_->First()).has_value());
}

TEST_F(TimersTest, AgreeWithAPlainSetAcrossSpillsAndReopening) {
  Open();
  OpenTimers();
  std::mt19937 random(3);
  std::set<std::pair<int64_t, std::string>> model;
  for (int step = 0; step < 4000; ++step) {
    std::string key = std::to_string(random() % 20);
    auto time = static_cast<int64_t>(random() % 1000);
    switch (random() % 8) {
      case 0:
        Delete(key, time);
        model.erase({time, Encoded(key)});
        break;
      case 1: {
        auto taken = TakeAll(time / 20);
        auto end = model.upper_bound({time / 20, "\xff"});
        std::set<std::pair<int64_t, std::string>> expected(model.begin(), end);
        ASSERT_EQ(decltype(expected)(taken.begin(), taken.end()), expected);
        ASSERT_EQ(taken.size(), expected.size());
        model.erase(model.begin(), end);
        break;
      }
      case 2:
        ASSERT_TRUE(random() % 10 != 0 || backend_->Spill().ok());
        break;
      default:
        Register(key, time);
        model.emplace(time, Encoded(key));
    }
  }
  ASSERT_TRUE(backend_->Close().ok());
  Open();
  OpenTimers();
  EXPECT_EQ(TakeAll(5000).size(), model.size());
}

}  // namespace
}  // namespace flint
