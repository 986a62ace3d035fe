#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "base/temporary_folder.h"
#include "diml/error.h"
#include "event_file.h"

namespace diml::test {
namespace {

using learn::crc32c;
using learn::EventFile;

template <typename T>
T take(std::string_view& bytes) {
  T value{};
  if (bytes.size() < sizeof(T)) throw std::runtime_error("cut off");
  std::memcpy(&value, bytes.data(), sizeof(T));
  bytes.remove_prefix(sizeof(T));
  return value;
}

std::string_view take(std::string_view& bytes, std::size_t count) {
  if (bytes.size() < count) throw std::runtime_error("cut off");
  const std::string_view taken = bytes.substr(0, count);
  bytes.remove_prefix(count);
  return taken;
}

std::uint64_t take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = take<std::uint8_t>(bytes);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
}

void expect_checksum(std::string_view data, std::uint32_t stored) {
  const std::uint32_t rotated = stored - 0xA282EAD8;
  EXPECT_EQ(crc32c(data), rotated << 15 | rotated >> 17);
}

struct ReadEvent {
  double wall_time = 0.0;
  std::int64_t step = 0;
  std::string version;
  std::string tag;
  float value = 0.0F;
};

ReadEvent parse(std::string_view message) {
  ReadEvent event;
  while (!message.empty()) {
    switch (take_varint(message)) {
      case 1 << 3 | 1:
        event.wall_time = take<double>(message);
        break;
      case 2 << 3:
        event.step = static_cast<std::int64_t>(take_varint(message));
        break;
      case 3 << 3 | 2:
        event.version = take(message, take_varint(message));
        break;
      case 5 << 3 | 2: {
        std::string_view summary = take(message, take_varint(message));
        EXPECT_EQ(take_varint(summary), 1U << 3 | 2);
        const std::uint64_t size = take_varint(summary);
        EXPECT_EQ(size, summary.size());
        EXPECT_EQ(take_varint(summary), 1U << 3 | 2);
        event.tag = take(summary, take_varint(summary));
        EXPECT_EQ(take_varint(summary), 2U << 3 | 5);
        event.value = take<float>(summary);
        EXPECT_TRUE(summary.empty());
        break;
      }
      default:
        throw std::runtime_error("another field");
    }
  }
  return event;
}

std::vector<ReadEvent> read(const std::string& path) {
  const std::string file = bytes_of(path);
  std::string_view rest = file;
  std::vector<ReadEvent> events;
  while (!rest.empty()) {
    const std::string_view length_bytes = rest.substr(0, 8);
    const auto length = take<std::uint64_t>(rest);
    expect_checksum(length_bytes, take<std::uint32_t>(rest));
    const std::string_view data = take(rest, length);
    expect_checksum(data, take<std::uint32_t>(rest));
    events.push_back(parse(data));
  }
  return events;
}

TEST(EventFile, ChecksumsAreThoseOfTheStandard) {  // RFC 3720, appendix B.4
  EXPECT_EQ(crc32c(""), 0U);
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43U);
}

TEST(EventFile, ARecordHasTheBytesThatTensorFlowWrites) {
  const unsigned char expected[] = {
      0x1b, 0,    0,    0,    0,    0,   0, 0,           // 27 bytes of message
      0x1a, 0x0d, 0x9e, 0x13,                            // checksum of the length
      0x09, 0,    0,    0,    0,    0,   0, 0xf8, 0x3f,  // wall_time: 1.5
      0x10, 0xac, 0x02,                                  // step: 300
      0x2a, 0x0d, 0x0a, 0x0b,                            // summary, 13 bytes; value, 11 bytes
      0x0a, 0x04, 'l',  'o',  's',  's',                 // tag
      0x15, 0,    0,    0x80, 0x3e,                      // simple_value: 0.25
      0x99, 0x08, 0xde, 0xed,                            // checksum of the message
  };
  const std::string record = learn::tf_record(learn::scalar_event(1.5, 300, "loss", 0.25F));
  EXPECT_EQ(record, std::string(reinterpret_cast<const char*>(expected), sizeof(expected)));
}

TEST(EventFile, HoldsWhatWasWrittenInOrder) {
  const TemporaryFolder folder;
  const std::string long_tag(300, 't');
  std::string path;
  {
    EventFile file(folder.path(), 1700000000.5);
    path = file.path();
    file.scalar("loss/step", 1, 0.75);
    file.scalar(long_tag, -1, -1e30);
    file.flush();
    EXPECT_EQ(read(path).size(), 3U);
    file.scalar("", 1LL << 40, 0.0);
  }  // flushes
  EXPECT_EQ(path.find(folder / "events.out.tfevents.1700000000."), 0U) << path;
  const std::vector<ReadEvent> events = read(path);
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events[0].version, "brain.Event:2");
  EXPECT_EQ(events[0].wall_time, 1700000000.5);
  EXPECT_EQ(events[1].tag, "loss/step");
  EXPECT_EQ(events[1].step, 1);
  EXPECT_EQ(events[1].value, 0.75F);
  EXPECT_GE(events[1].wall_time, 1700000000.5);
  EXPECT_LT(events[1].wall_time, 1700000600.0);
  EXPECT_EQ(events[2].tag, long_tag);
  EXPECT_EQ(events[2].step, -1);
  EXPECT_EQ(events[2].value, -1e30F);
  EXPECT_EQ(events[3].tag, "");
  EXPECT_EQ(events[3].step, 1LL << 40);
}

TEST(EventFile, TwoWithinASecondDoNotShareAFile) {
  const TemporaryFolder folder;
  EventFile one(folder.path(), 1.0);
  EventFile other(folder.path(), 1.0);
  EXPECT_NE(one.path(), other.path());
  EXPECT_EQ(folder.names().size(), 2U);
}

TEST(EventFile, GoesOnBehindTheLastWholeRecordOfTheLastFile) {
  const TemporaryFolder folder;
  std::string path;
  {
    EventFile(folder.path(), 1.0).scalar("early", 1, 1.0);
    EventFile file(folder.path(), 2.0);
    file.scalar("kept", 1, 1.0);
    file.flush();
    path = file.path();
  }
  const std::string whole = bytes_of(path);
  const std::string next = learn::tf_record(learn::scalar_event(2.0, 2, "lost", 1.0F));
  for (std::size_t cut = 0; cut < next.size(); ++cut) {
    write_bytes(path, whole + next.substr(0, cut));
    EventFile file(folder.path(), 3.0, true);
    EXPECT_EQ(file.path(), path);
    file.scalar("added", 2, 2.0);
    file.flush();
    const std::vector<ReadEvent> events = read(path);
    ASSERT_EQ(events.size(), 3U) << cut;
    EXPECT_EQ(events[1].tag, "kept");
    EXPECT_EQ(events[2].tag, "added");
  }
  EXPECT_EQ(folder.names().size(), 2U);
}

TEST(EventFile, GoesOnInANewFileWhereThereIsNone) {
  const TemporaryFolder folder;
  EventFile file(folder.path(), 3.0, true);
  EXPECT_EQ(read(file.path()).size(), 1U);
}

TEST(EventFile, AFileThatWasCutToNothingBeginsAgain) {
  const TemporaryFolder folder;
  write_bytes(folder / "events.out.tfevents.1.host", "damaged");
  {
    EventFile file(folder.path(), 3.0, true);
    file.scalar("loss", 1, 1.0);
  }
  const std::vector<ReadEvent> events = read(folder / "events.out.tfevents.1.host");
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].version, "brain.Event:2");
}

TEST(EventFile, SaysWhereItCannotBe) {
  try {
    const EventFile file("/nowhere/at/all", 1.0);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("/nowhere/at/all/events.out"), std::string::npos);
  }
}

}  // namespace
}  // namespace diml::test
