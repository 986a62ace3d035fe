#include "free_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace diml {
namespace {

TEST(FreeMemory, IsSomeOfWhatTheMachineHas) {
  const std::optional<double> free = free_memory();
  ASSERT_TRUE(free.has_value());
  EXPECT_GT(*free, 1e6);
  EXPECT_LT(*free, static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
                       static_cast<double>(::sysconf(_SC_PAGESIZE)));
}

TEST(FreeMemory, BytesAreToldInTwoOrThreeDigits) {
  EXPECT_EQ(bytes_text(0.0), "0 bytes");
  EXPECT_EQ(bytes_text(999.0), "999 bytes");
  EXPECT_EQ(bytes_text(1000.0), "1.0 kB");
  EXPECT_EQ(bytes_text(1.64e9), "1.6 GB");
  EXPECT_EQ(bytes_text(9.96e9), "10 GB");
  EXPECT_EQ(bytes_text(290e6), "290 MB");
  EXPECT_EQ(bytes_text(999.7e6), "1.0 GB");
  EXPECT_EQ(bytes_text(5e18), "5000 PB");
}

}  // namespace
}  // namespace diml
