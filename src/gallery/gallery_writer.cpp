#include "gallery_writer.h"

namespace diml::gallery {
namespace {

constexpr std::size_t kBytesAtOnce = std::size_t{1} << 26;  // of a transaction, which is in memory

}  // namespace

GalleryWriter::GalleryWriter(const std::string& folder, const Description& description)
    : environment_(Environment::open(folder, StoreAccess::write, Environment::Wanted::fresh)),
      transaction_(std::make_unique<Transaction>(environment_, StoreAccess::write)) {
  Description newest = description;
  newest.version = kFormatVersion;
  const Bytes key = bytes_of(kDescription);
  transaction_->put(Table::about, key, encode(key, newest));
}

void GalleryWriter::wrote(std::size_t bytes) {
  written_ += bytes;
  if (written_ < kBytesAtOnce) return;
  transaction_->commit();
  transaction_ = std::make_unique<Transaction>(environment_, StoreAccess::write);
  written_ = 0;
}

void GalleryWriter::add(std::int64_t id, const ItemRecord& item, const GlobalRecord& global) {
  const auto key = key_of(id);
  const std::vector<std::byte> record = encode(key, item);
  transaction_->append(Table::items, key, record);
  transaction_->append(Table::globals, key, encode(key, global));
  const std::string path = path_key(std::string(item.path));
  transaction_->put(Table::paths, bytes_of(path), encode_path(bytes_of(path), id));
  wrote(record.size() + global.global.size());
}

void GalleryWriter::add_change(std::uint64_t revision, std::span<const std::int64_t> numbers) {
  const auto key = key_of(static_cast<std::int64_t>(revision));
  transaction_->append(Table::changes, key, encode_numbers(key, numbers));
  wrote(numbers.size_bytes());
}

void GalleryWriter::finish(std::uint64_t revision, std::uint64_t next_id) {
  transaction_->put(Table::about, bytes_of(kRevision), encode_number(kRevision, revision));
  transaction_->put(Table::about, bytes_of(kNextId), encode_number(kNextId, next_id));
  transaction_->commit();
  transaction_.reset();
  environment_.reset();
}

}  // namespace diml::gallery
