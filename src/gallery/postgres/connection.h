#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "address.h"
#include "diml/error.h"

struct pg_conn;
struct pg_result;

namespace diml::postgres {

// Parameters of errors: the database is away, perhaps for a moment; it went away, and nobody knows
// whether the change was made before.
constexpr const char* kUnreachable = "database";
constexpr const char* kMayBeMade = "outcome";

using Bytes = std::span<const std::byte>;

inline Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// Numbers as PostgreSQL's binary formats have them: the most significant byte first.
template <class Number>
void append_number(std::vector<std::byte>& bytes, Number number) {
  for (std::size_t b = sizeof(Number); b-- > 0;) {
    bytes.push_back(static_cast<std::byte>(static_cast<std::uint64_t>(number) >> (8 * b)));
  }
}

// The values of $1, $2 and so on, in PostgreSQL's binary formats. Everything that comes from
// outside reaches a statement as one of these.
class Parameters {
 public:
  Parameters& add(std::int64_t number);
  Parameters& add(double number);
  Parameters& add_text(std::string_view text);  // UTF-8 without a zero byte
  Parameters& add_bytes(Bytes bytes);
  Parameters& add(std::span<const std::int64_t> numbers);
  Parameters& add(std::span<const float> numbers);
  Parameters& add_bytes(std::span<const std::string> all);  // bytea[]
  Parameters& add_texts(std::span<const std::string> all);  // text[]

  std::size_t size() const { return values_.size(); }

 private:
  friend class Connection;
  std::vector<std::vector<std::byte>> values_;
  std::vector<unsigned> types_;
};

// The rows of an answer, in binary formats.
class Result {
 public:
  explicit Result(pg_result* result);

  std::size_t rows() const;
  std::size_t changed() const;  // rows, by a statement that changes some
  bool is_null(std::size_t row, std::size_t column) const;
  Bytes bytes(std::size_t row, std::size_t column) const;
  std::string text(std::size_t row, std::size_t column) const;
  std::int64_t number(std::size_t row, std::size_t column) const;  // int8, int4, int2, bool
  double real(std::size_t row, std::size_t column) const;          // float8
  std::vector<std::int64_t> numbers(std::size_t row, std::size_t column) const;  // int8[]
  // float4[], bit for bit. False where it has another length.
  bool read_floats(std::size_t row, std::size_t column, std::span<float> into) const;

 private:
  std::shared_ptr<pg_result> result_;
};

// One connection. Statements are unnamed, and nothing of the session outlives a transaction, so
// that a pooler in transaction mode may stand between. Errors are those of PostgreSQL in one line,
// with a kind; passwords are never in them.
class Connection {
 public:
  explicit Connection(const Address& address);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Whether it is over: the server is gone, or was.
  bool is_lost() const;
  bool is_idle() const;  // outside a transaction
  // Whether the last error may pass when the same is done once more: the connection was lost, or
  // two transactions stood in each other's way.
  bool may_succeed_again() const;
  // Whether the last error is that a lock was not had in time (lock_timeout).
  bool waited_for_lock() const;

  Result ask(const char* statement, const Parameters& parameters = {});
  Result ask(const std::string& statement, const Parameters& parameters = {}) {
    return ask(statement.c_str(), parameters);
  }
  // Several statements of this program, without parameters.
  void run(std::string_view statements);
  // What the server said beside its answers since the last call, each in one line.
  std::vector<std::string> notices();

  // Whether a notification with this text arrived within the time. After LISTEN.
  bool await_notification(std::string_view text, std::chrono::milliseconds longest);

  const Address& address() const { return address_; }

 private:
  friend class CopyIn;
  Result checked(pg_result* result) const;
  [[noreturn]] void refuse(const pg_result* result) const;

  Address address_;
  std::shared_ptr<pg_conn> connection_;
  std::vector<std::string> notices_;
  mutable std::string state_;  // SQLSTATE of the last error
};

// COPY ... FROM STDIN WITH (FORMAT binary).
class CopyIn {
 public:
  CopyIn(Connection& connection, const char* statement, std::size_t columns);
  ~CopyIn();  // without finish(): nothing is copied
  CopyIn(const CopyIn&) = delete;
  CopyIn& operator=(const CopyIn&) = delete;

  void begin_row();
  void put(std::int64_t number);  // int8
  void put_int(std::int32_t number);
  void put(Bytes bytes);
  void put_json(std::string_view text);  // jsonb
  void put(std::span<const float> numbers);
  void put_null();
  void finish();

 private:
  void send();

  Connection& connection_;
  std::size_t columns_;
  bool is_open_ = true;
  std::vector<std::byte> waiting_;
};

// Ends without a change unless commit() was called.
class Transaction {
 public:
  Transaction(Connection& connection, const char* begin);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Connection& connection_;
  bool is_open_ = true;
};

// A text in one line, and without the password.
std::string in_one_line(std::string text, const Address& address);

}  // namespace diml::postgres
