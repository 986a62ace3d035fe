#include "connection.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <libpq-fe.h>
#include <poll.h>

namespace diml::postgres {
namespace {

// Of pg_type; they never change.
enum Type : unsigned {
  kBytes = 17,
  kNumber = 20,
  kText = 25,
  kReal = 701,
  kTexts = 1009,
  kAllBytes = 1001,
  kNumbers = 1016,
  kFloats = 1021,
  kFloat = 700,
};
constexpr int kBinary = 1;
constexpr std::size_t kSentAtOnce = std::size_t{1} << 20;
constexpr std::string_view kHidden = "***";  // in the place of a password
constexpr std::size_t kArrayHead = 20;  // bytes before the elements of an array of one dimension

template <class Number>
Number number_at(const std::byte* bytes) {
  std::uint64_t number = 0;
  for (std::size_t b = 0; b < sizeof(Number); ++b) {
    number = number << 8 | static_cast<std::uint64_t>(bytes[b]);
  }
  return static_cast<Number>(number);
}

void append_bytes(std::vector<std::byte>& to, Bytes bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

void append_array_head(std::vector<std::byte>& to, unsigned type, std::size_t size) {
  append_number(to, std::int32_t{size > 0});  // dimensions
  append_number(to, std::int32_t{0});         // no nulls
  append_number(to, static_cast<std::int32_t>(type));
  if (size == 0) return;
  append_number(to, static_cast<std::int32_t>(size));
  append_number(to, std::int32_t{1});  // the first index
}

void append_floats(std::vector<std::byte>& to, std::span<const float> numbers) {
  append_array_head(to, kFloat, numbers.size());
  for (const float number : numbers) {
    append_number(to, std::int32_t{sizeof(float)});
    append_number(to, std::bit_cast<std::uint32_t>(number));
  }
}

std::vector<std::byte> array_of(unsigned type, std::span<const std::string> all) {
  std::vector<std::byte> value;
  append_array_head(value, type, all.size());
  for (const std::string& one : all) {
    append_number(value, static_cast<std::int32_t>(one.size()));
    append_bytes(value, bytes_of(one));
  }
  return value;
}

// What a class of SQLSTATEs means to who called.
ErrorKind kind_of(std::string_view state) {
  const std::string_view group = state.substr(0, 2);
  if (group == "08" || group == "53" || group == "57" || group == "40" || group == "58" ||
      state == "55P03") {
    return ErrorKind::out_of_resources;
  }
  if (group == "28" || state == "42501") return ErrorKind::bad_input;
  if (state == "3D000") return ErrorKind::not_found;
  if (state == "25006" || group == "23") return ErrorKind::conflict;
  if (group == "XX") return ErrorKind::damaged;
  return ErrorKind::internal;
}

// A machine that says nothing any more must not hold its clients for minutes, as TCP would.
constexpr std::array<std::pair<const char*, const char*>, 5> kPatience = {{
    {"connect_timeout", "2"},  // seconds, of each host
    {"keepalives_idle", "2"},
    {"keepalives_interval", "1"},
    {"keepalives_count", "2"},
    {"tcp_user_timeout", "4000"},  // milliseconds
}};

// Its environment or a service says how long to wait, and would have the last word otherwise.
bool is_patience_given(const PQconninfoOption* options) {
  if (std::getenv("PGSERVICE") != nullptr || std::getenv("PGCONNECT_TIMEOUT") != nullptr)
    return true;
  for (; options->keyword != nullptr; ++options) {
    if (std::string_view(options->keyword) == "service") return options->val != nullptr;
  }
  return false;
}

const char* remedy_of(std::string_view state) {
  if (state == "42501") return ": have its owner grant the role diml_reader or diml_writer";
  if (state == "25006") return ": it is a standby; name the primary to change a gallery";
  if (state == "53100") return ": nothing was changed; make room and repeat the call";
  if (state == "3D000") return ": 'createdb' makes it";
  return "";
}

}  // namespace

Parameters& Parameters::add(std::int64_t number) {
  append_number(values_.emplace_back(), number);
  types_.push_back(kNumber);
  return *this;
}

Parameters& Parameters::add(double number) {
  append_number(values_.emplace_back(), std::bit_cast<std::uint64_t>(number));
  types_.push_back(kReal);
  return *this;
}

Parameters& Parameters::add_text(std::string_view text) {
  append_bytes(values_.emplace_back(), bytes_of(text));
  types_.push_back(kText);
  return *this;
}

Parameters& Parameters::add_bytes(Bytes bytes) {
  append_bytes(values_.emplace_back(), bytes);
  types_.push_back(kBytes);
  return *this;
}

Parameters& Parameters::add(std::span<const std::int64_t> numbers) {
  std::vector<std::byte>& value = values_.emplace_back();
  append_array_head(value, kNumber, numbers.size());
  for (const std::int64_t number : numbers) {
    append_number(value, std::int32_t{sizeof(number)});
    append_number(value, number);
  }
  types_.push_back(kNumbers);
  return *this;
}

Parameters& Parameters::add(std::span<const float> numbers) {
  append_floats(values_.emplace_back(), numbers);
  types_.push_back(kFloats);
  return *this;
}

Parameters& Parameters::add_bytes(std::span<const std::string> all) {
  values_.push_back(array_of(kBytes, all));
  types_.push_back(kAllBytes);
  return *this;
}

Parameters& Parameters::add_texts(std::span<const std::string> all) {
  values_.push_back(array_of(kText, all));
  types_.push_back(kTexts);
  return *this;
}

Result::Result(pg_result* result) : result_(result, PQclear) {}

std::size_t Result::rows() const { return static_cast<std::size_t>(PQntuples(result_.get())); }

std::size_t Result::changed() const {
  const char* const count = PQcmdTuples(result_.get());
  return *count == '\0' ? 0 : std::stoull(count);
}

bool Result::is_null(std::size_t row, std::size_t column) const {
  return PQgetisnull(result_.get(), static_cast<int>(row), static_cast<int>(column)) != 0;
}

Bytes Result::bytes(std::size_t row, std::size_t column) const {
  const int r = static_cast<int>(row);
  const int c = static_cast<int>(column);
  return {reinterpret_cast<const std::byte*>(PQgetvalue(result_.get(), r, c)),
          static_cast<std::size_t>(PQgetlength(result_.get(), r, c))};
}

std::string Result::text(std::size_t row, std::size_t column) const {
  const Bytes value = bytes(row, column);
  return {reinterpret_cast<const char*>(value.data()), value.size()};
}

std::int64_t Result::number(std::size_t row, std::size_t column) const {
  const Bytes value = bytes(row, column);
  switch (value.size()) {
    case 1:
      return static_cast<std::int64_t>(value[0]);
    case 2:
      return number_at<std::int16_t>(value.data());
    case 4:
      return number_at<std::int32_t>(value.data());
    case 8:
      return number_at<std::int64_t>(value.data());
    default:
      throw Error(ErrorKind::internal, "PostgreSQL answered with something that is not a number");
  }
}

double Result::real(std::size_t row, std::size_t column) const {
  return std::bit_cast<double>(number(row, column));
}

std::vector<std::int64_t> Result::numbers(std::size_t row, std::size_t column) const {
  constexpr std::size_t kEach = sizeof(std::int32_t) + sizeof(std::int64_t);
  const Bytes value = bytes(row, column);
  std::vector<std::int64_t> all;
  for (std::size_t at = kArrayHead; at + kEach <= value.size(); at += kEach) {
    all.push_back(number_at<std::int64_t>(value.data() + at + sizeof(std::int32_t)));
  }
  return all;
}

bool Result::read_floats(std::size_t row, std::size_t column, std::span<float> into) const {
  constexpr std::size_t kEach = 2 * sizeof(std::int32_t);
  const Bytes value = bytes(row, column);
  if (is_null(row, column) || value.size() != kArrayHead + kEach * into.size() ||
      number_at<std::int32_t>(value.data()) != 1 || number_at<std::int32_t>(&value[4]) != 0) {
    return false;
  }
  const std::byte* at = value.data() + kArrayHead + sizeof(std::int32_t);
  for (float& number : into) {
    number = std::bit_cast<float>(number_at<std::uint32_t>(at));
    at += kEach;
  }
  return true;
}

std::string in_one_line(std::string text, const Address& address) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at)) {
    text.replace(at, 1, "; ");
  }
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  for (const std::string& secret : address.secrets) {
    for (std::size_t at = text.find(secret); at != std::string::npos;
         at = text.find(secret, at + kHidden.size())) {
      text.replace(at, secret.size(), kHidden);
    }
  }
  return text;
}

Connection::Connection(const Address& address) : address_(address) {
  // libpq's own words for a wrong address may have a part of a password in them.
  char* why = nullptr;
  PQconninfoOption* const parsed = PQconninfoParse(address.database.c_str(), &why);
  PQfreemem(why);
  if (parsed == nullptr) {
    throw Error(address.shown +
                ": is not a valid address: write postgres://USER@HOST:PORT/DATABASE/GALLERY, with "
                "libpq's parameters after a ?, and special characters as %XX");
  }
  std::vector<const char*> names = {"client_encoding", "fallback_application_name"};
  std::vector<const char*> values = {"UTF8", "diml"};
  if (!is_patience_given(parsed)) {
    for (const auto& [name, value] : kPatience) {
      names.push_back(name);
      values.push_back(value);
    }
  }
  PQconninfoFree(parsed);
  names.insert(names.end(), {"dbname", nullptr});  // the address has the last word
  values.insert(values.end(), {address.database.c_str(), nullptr});
  connection_.reset(PQconnectdbParams(names.data(), values.data(), 1), PQfinish);
  if (!connection_) throw std::bad_alloc();
  if (PQstatus(connection_.get()) != CONNECTION_OK) {
    const std::string message = in_one_line(PQerrorMessage(connection_.get()), address_);
    const bool is_refused = message.find("authentication") != std::string::npos ||
                            message.find("no password supplied") != std::string::npos ||
                            message.find("pg_hba.conf") != std::string::npos ||
                            message.find("role \"") != std::string::npos;
    const bool is_missing = message.find("database \"") != std::string::npos &&
                            message.find("does not exist") != std::string::npos;
    throw Error(is_refused   ? ErrorKind::bad_input
                : is_missing ? ErrorKind::not_found
                             : ErrorKind::out_of_resources,
                address_.shown + ": cannot be reached: " + message,
                is_refused || is_missing ? "" : kUnreachable);
  }
  // Their order matters to nobody: they are asked for after the call that they belong to.
  PQsetNoticeProcessor(
      connection_.get(),
      [](void* all, const char* line) {
        static_cast<std::vector<std::string>*>(all)->emplace_back(line);
      },
      &notices_);
}

bool Connection::is_lost() const { return PQstatus(connection_.get()) != CONNECTION_OK; }

bool Connection::is_idle() const { return PQtransactionStatus(connection_.get()) == PQTRANS_IDLE; }

bool Connection::may_succeed_again() const {
  return is_lost() || state_ == "40001" || state_ == "40P01";
}

bool Connection::waited_for_lock() const { return state_ == "55P03"; }

std::vector<std::string> Connection::notices() {
  std::vector<std::string> all;
  all.swap(notices_);
  for (std::string& one : all) one = in_one_line(std::move(one), address_);
  return all;
}

void Connection::refuse(const pg_result* result) const {
  const char* const field =
      result == nullptr ? nullptr : PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const std::string& state = state_ = field == nullptr ? "08006" : field;
  const char* const primary =
      result == nullptr ? nullptr : PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  const std::string message = primary == nullptr ? PQerrorMessage(connection_.get()) : primary;
  throw Error(is_lost() ? ErrorKind::out_of_resources : kind_of(state),
              address_.shown + ": PostgreSQL says: " + in_one_line(message, address_) +
                  remedy_of(state) + " (" + state + ")",
              is_lost() ? kUnreachable : "");
}

Result Connection::checked(pg_result* result) const {
  Result held(result);
  const ExecStatusType status = PQresultStatus(result);
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) refuse(result);
  return held;
}

Result Connection::ask(const char* statement, const Parameters& parameters) {
  std::vector<const char*> values;
  std::vector<int> lengths;
  const std::vector<int> formats(parameters.size(), kBinary);
  for (const std::vector<std::byte>& value : parameters.values_) {
    // A null pointer would be NULL, and an empty vector may have one.
    values.push_back(value.empty() ? "" : reinterpret_cast<const char*>(value.data()));
    lengths.push_back(static_cast<int>(value.size()));
  }
  return checked(PQexecParams(connection_.get(), statement, static_cast<int>(values.size()),
                              parameters.types_.data(), values.data(), lengths.data(),
                              formats.data(), kBinary));
}

void Connection::run(std::string_view statements) {
  checked(PQexec(connection_.get(), std::string(statements).c_str()));
}

bool Connection::await_notification(std::string_view text, std::chrono::milliseconds longest) {
  const auto take = [&] {
    if (PQconsumeInput(connection_.get()) == 0) refuse(nullptr);
    bool any = false;
    while (PGnotify* const one = PQnotifies(connection_.get())) {
      any = any || text == one->extra;
      PQfreemem(one);
    }
    return any;
  };
  if (take()) return true;
  pollfd wait{PQsocket(connection_.get()), POLLIN, 0};
  if (::poll(&wait, 1, static_cast<int>(longest.count())) <= 0) return false;
  return take();
}

CopyIn::CopyIn(Connection& connection, const char* statement, std::size_t columns)
    : connection_(connection), columns_(columns) {
  PGresult* const result = PQexec(connection_.connection_.get(), statement);
  const Result held(result);
  if (PQresultStatus(result) != PGRES_COPY_IN) connection_.refuse(result);
  constexpr char kSignature[] = "PGCOPY\n\377\r\n";  // and a zero byte
  append_bytes(waiting_, bytes_of({kSignature, sizeof(kSignature)}));
  append_number(waiting_, std::int32_t{0});  // flags
  append_number(waiting_, std::int32_t{0});  // no more head
}

CopyIn::~CopyIn() {
  if (!is_open_ || connection_.is_lost()) return;
  PQputCopyEnd(connection_.connection_.get(), "the rows were not all sent");
  while (PGresult* const rest = PQgetResult(connection_.connection_.get())) PQclear(rest);
}

void CopyIn::begin_row() {
  if (waiting_.size() > kSentAtOnce) send();
  append_number(waiting_, static_cast<std::int16_t>(columns_));
}

void CopyIn::put(std::int64_t number) {
  append_number(waiting_, std::int32_t{sizeof(number)});
  append_number(waiting_, number);
}

void CopyIn::put_int(std::int32_t number) {
  append_number(waiting_, std::int32_t{sizeof(number)});
  append_number(waiting_, number);
}

void CopyIn::put(Bytes bytes) {
  append_number(waiting_, static_cast<std::int32_t>(bytes.size()));
  append_bytes(waiting_, bytes);
}

void CopyIn::put_json(std::string_view text) {
  append_number(waiting_, static_cast<std::int32_t>(text.size() + 1));
  waiting_.push_back(std::byte{1});  // the version of jsonb's format
  append_bytes(waiting_, bytes_of(text));
}

void CopyIn::put(std::span<const float> numbers) {
  constexpr std::size_t kEach = 2 * sizeof(std::int32_t);
  append_number(waiting_, static_cast<std::int32_t>(kArrayHead + kEach * numbers.size()));
  append_floats(waiting_, numbers);
}

void CopyIn::put_null() { append_number(waiting_, std::int32_t{-1}); }

void CopyIn::send() {
  if (PQputCopyData(connection_.connection_.get(), reinterpret_cast<const char*>(waiting_.data()),
                    static_cast<int>(waiting_.size())) != 1) {
    connection_.refuse(nullptr);
  }
  waiting_.clear();
}

void CopyIn::finish() {
  append_number(waiting_, std::int16_t{-1});
  send();
  is_open_ = false;
  if (PQputCopyEnd(connection_.connection_.get(), nullptr) != 1) connection_.refuse(nullptr);
  PGresult* const result = PQgetResult(connection_.connection_.get());
  const Result held(result);
  const bool is_done = PQresultStatus(result) == PGRES_COMMAND_OK;
  while (PGresult* const more = PQgetResult(connection_.connection_.get())) PQclear(more);
  if (!is_done) connection_.refuse(result);
}

Transaction::Transaction(Connection& connection, const char* begin) : connection_(connection) {
  connection_.ask(begin);
}

Transaction::~Transaction() {
  if (!is_open_ || connection_.is_lost()) return;
  try {
    connection_.ask("ROLLBACK");
  } catch (const Error&) {  // the connection ends, and the transaction with it
  }
}

void Transaction::commit() {
  connection_.ask("COMMIT");
  is_open_ = false;
}

}  // namespace diml::postgres
