#include "pickle.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "diml/error.h"
#include "pickle_names.h"

// The opcodes are those of CPython's Lib/pickletools.py; torch writes protocol 2; the few opcodes
// of protocols 3 to 5 are easy to support.

namespace diml::weights {
namespace {

using Kind = PickleValue::Kind;

constexpr std::size_t kMostValues = 4'000'000;  // a checkpoint has thousands

constexpr std::size_t kMostArguments = 8;
constexpr std::size_t kLongestKey = 100;

[[noreturn]] void fail_damaged() {
  throw Error(ErrorKind::damaged, "has an invalid data.pkl: it is damaged, fetch it again");
}

}  // namespace

class PickleMachine {
 public:
  PickleMachine(Bytes program, std::deque<PickleValue>& values)
      : program_(program), values_(values) {}

  const PickleValue* run() {
    std::uint8_t opcode = 0;
    while ((opcode = next<std::uint8_t>()) != '.') {
      if (!read_atom(opcode) && !read_container(opcode) && !read_memo(opcode) &&
          !read_name_or_call(opcode)) {
        throw Error(ErrorKind::unsupported,
                    "data.pkl uses opcode " + std::to_string(opcode) +
                        ", which torch.save does not write: save model.state_dict() alone");
      }
    }
    return pop();
  }

 private:
  Bytes take(std::uint64_t count) {
    const Bytes taken = part(program_, position_, count);
    position_ += count;
    return taken;
  }

  template <class T>
  T next() {
    return little_endian<T>(take(sizeof(T)), 0);
  }

  std::string take_line() {
    const Bytes rest = program_.subspan(position_);
    const auto length = std::find(rest.begin(), rest.end(), '\n') - rest.begin();
    std::string line(text_of(take(static_cast<std::uint64_t>(length))));
    take(1);
    return line;
  }

  PickleValue* push(Kind kind) {
    if (values_.size() == kMostValues) {
      throw Error(ErrorKind::unsupported, "data.pkl has more than " + std::to_string(kMostValues) +
                                              " values: save model.state_dict() alone");
    }
    PickleValue* value = &values_.emplace_back();
    value->kind = kind;
    stack_.push_back(value);
    return value;
  }

  void push_integer(std::int64_t value) { push(Kind::integer)->integer = value; }
  void push_text(std::uint64_t bytes) { push(Kind::text)->text = text_of(take(bytes)); }
  void push_bytes(std::uint64_t bytes) {
    take(bytes);
    push(Kind::scalar);
  }

  // Little-endian, two's complement, any length. Numbers longer than 64 bits are not needed.
  void push_long(std::uint64_t bytes) {
    const Bytes digits = take(bytes);
    if (digits.size() > 8) {
      push(Kind::scalar);
      return;
    }
    std::uint64_t value = !digits.empty() && digits.back() >= 0x80 ? ~std::uint64_t{0} : 0;
    std::memcpy(&value, digits.data(), digits.size());
    push_integer(static_cast<std::int64_t>(value));
  }

  // Only values above the last mark: those below belong to a container that is not yet closed.
  PickleValue* top() const {
    if (stack_.size() == (marks_.empty() ? 0 : marks_.back())) fail_damaged();
    return stack_.back();
  }

  PickleValue* pop() {
    PickleValue* value = top();
    stack_.pop_back();
    return value;
  }

  std::vector<PickleValue*> pop_to_mark() {
    if (marks_.empty()) fail_damaged();
    const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<PickleValue*> items(first, stack_.end());
    stack_.erase(first, stack_.end());
    marks_.pop_back();
    return items;
  }

  void push_list(std::size_t count) {
    std::vector<PickleValue*> items(count);
    for (std::size_t k = count; k-- > 0;) items[k] = pop();
    push(Kind::list)->items = std::move(items);
  }

  void extend(Kind kind, const std::vector<PickleValue*>& items) {
    PickleValue* container = top();
    if (container->kind != kind) fail_damaged();
    if (kind == Kind::dictionary && items.size() % 2 != 0) fail_damaged();
    container->items.insert(container->items.end(), items.begin(), items.end());
  }

  bool read_atom(std::uint8_t opcode) {
    switch (opcode) {
      case 0x80:  // PROTO
        if (next<std::uint8_t>() > 5) fail_damaged();
        return true;
      case 0x95:  // FRAME: how far to read ahead
        take(8);
        return true;
      case 'N':   // NONE
      case 0x88:  // NEWTRUE
      case 0x89:  // NEWFALSE
        push(Kind::scalar);
        return true;
      case 'G':  // BINFLOAT
        push_bytes(8);
        return true;
      case 'J':  // BININT
        push_integer(static_cast<std::int32_t>(next<std::uint32_t>()));
        return true;
      case 'K':  // BININT1
        push_integer(next<std::uint8_t>());
        return true;
      case 'M':  // BININT2
        push_integer(next<std::uint16_t>());
        return true;
      case 0x8a:  // LONG1
        push_long(next<std::uint8_t>());
        return true;
      case 0x8b:  // LONG4
        push_long(next<std::uint32_t>());
        return true;
      case 'U':   // SHORT_BINSTRING
      case 0x8c:  // SHORT_BINUNICODE
        push_text(next<std::uint8_t>());
        return true;
      case 'T':  // BINSTRING
      case 'X':  // BINUNICODE
        push_text(next<std::uint32_t>());
        return true;
      case 0x8d:  // BINUNICODE8
        push_text(next<std::uint64_t>());
        return true;
      case 'C':  // SHORT_BINBYTES
        push_bytes(next<std::uint8_t>());
        return true;
      case 'B':  // BINBYTES
        push_bytes(next<std::uint32_t>());
        return true;
      case 0x8e:  // BINBYTES8
      case 0x96:  // BYTEARRAY8
        push_bytes(next<std::uint64_t>());
        return true;
      default:
        return false;
    }
  }

  bool read_container(std::uint8_t opcode) {
    switch (opcode) {
      case '(':  // MARK
        marks_.push_back(stack_.size());
        return true;
      case ')':   // EMPTY_TUPLE
      case ']':   // EMPTY_LIST
      case 0x8f:  // EMPTY_SET
        push_list(0);
        return true;
      case 0x85:  // TUPLE1, TUPLE2, TUPLE3
      case 0x86:
      case 0x87:
        push_list(opcode - 0x84u);
        return true;
      case 't':     // TUPLE
      case 'l':     // LIST
      case 0x91: {  // FROZENSET
        std::vector<PickleValue*> items = pop_to_mark();
        push(Kind::list)->items = std::move(items);
        return true;
      }
      case 'a': {  // APPEND
        PickleValue* item = pop();
        extend(Kind::list, {item});
        return true;
      }
      case 'e':   // APPENDS
      case 0x90:  // ADDITEMS
        extend(Kind::list, pop_to_mark());
        return true;
      case '}':  // EMPTY_DICT
        push(Kind::dictionary);
        return true;
      case 'd': {  // DICT
        const std::vector<PickleValue*> items = pop_to_mark();
        push(Kind::dictionary);
        extend(Kind::dictionary, items);
        return true;
      }
      case 's': {  // SETITEM
        PickleValue* value = pop();
        PickleValue* key = pop();
        extend(Kind::dictionary, {key, value});
        return true;
      }
      case 'u':  // SETITEMS
        extend(Kind::dictionary, pop_to_mark());
        return true;
      default:
        return false;
    }
  }

  bool read_memo(std::uint8_t opcode) {
    switch (opcode) {
      case 'q':  // BINPUT
        memo_[next<std::uint8_t>()] = top();
        return true;
      case 'r':  // LONG_BINPUT
        memo_[next<std::uint32_t>()] = top();
        return true;
      case 0x94:  // MEMOIZE
        memo_[static_cast<std::uint32_t>(memo_.size())] = top();
        return true;
      case 'h':  // BINGET
        recall(next<std::uint8_t>());
        return true;
      case 'j':  // LONG_BINGET
        recall(next<std::uint32_t>());
        return true;
      case '0':  // POP
        pop();
        return true;
      case '1':  // POP_MARK
        pop_to_mark();
        return true;
      case '2':  // DUP
        stack_.push_back(top());
        return true;
      default:
        return false;
    }
  }

  void recall(std::uint32_t index) {
    const auto found = memo_.find(index);
    if (found == memo_.end()) fail_damaged();
    stack_.push_back(found->second);
  }

  bool read_name_or_call(std::uint8_t opcode) {
    switch (opcode) {
      case 'c': {  // GLOBAL
        const std::string module = take_line();
        push(Kind::global)->text = allowed_name(module, take_line());
        return true;
      }
      case 0x93: {  // STACK_GLOBAL
        const PickleValue* name = pop();
        const PickleValue* module = pop();
        if (name->kind != Kind::text || module->kind != Kind::text) fail_damaged();
        push(Kind::global)->text = allowed_name(module->text, name->text);
        return true;
      }
      case 'R':     // REDUCE
      case 0x81: {  // NEWOBJ
        const PickleValue* arguments = pop();
        const PickleValue* callee = pop();
        if (callee->kind != Kind::global || arguments->kind != Kind::list) fail_damaged();
        call(callee->text, arguments->items);
        return true;
      }
      case 'b':  // BUILD: attributes, of an OrderedDict the versions of its modules: not needed
        pop();
        if (top()->kind != Kind::dictionary) fail_damaged();
        return true;
      case 'Q':  // BINPERSID
        push_storage(*pop());
        return true;
      default:
        return false;
    }
  }

  // The value that the call would return, without making the call. Long lists are shared, not
  // copied: a file may refer to the same list a million times.
  void call(const std::string& name, const std::vector<PickleValue*>& arguments) {
    const auto first_is = [&arguments](Kind kind) {
      return !arguments.empty() && arguments.front()->kind == kind;
    };
    if (name == kOrderedDict && arguments.empty()) {
      push(Kind::dictionary);
    } else if (name == kRebuildTensor && arguments.size() <= kMostArguments) {
      push(Kind::tensor)->items = arguments;
    } else if ((name == kRebuildParameter && first_is(Kind::tensor)) ||
               (name == kSize && first_is(Kind::list))) {
      stack_.push_back(arguments.front());
    } else {
      fail_damaged();
    }
  }

  // ("storage", torch.FloatStorage, "0", "cpu", 64)
  void push_storage(const PickleValue& id) {
    const auto is = [&id](std::size_t k, Kind kind) { return id.items[k]->kind == kind; };
    if (id.kind != Kind::list || id.items.size() != 5 || !is(0, Kind::text) ||
        id.items[0]->text != "storage" || !is(1, Kind::global) || !is(2, Kind::text) ||
        id.items[2]->text.size() > kLongestKey || !is(4, Kind::integer) ||
        id.items[4]->integer < 0) {
      fail_damaged();
    }
    const std::optional<TensorType> type = storage_type(id.items[1]->text);
    if (!type) fail_damaged();
    PickleValue* storage = push(Kind::storage);
    storage->type = *type;
    storage->text = id.items[2]->text;
    storage->integer = id.items[4]->integer;
  }

  Bytes program_;
  std::uint64_t position_ = 0;
  std::deque<PickleValue>& values_;
  std::vector<PickleValue*> stack_;
  std::vector<std::size_t> marks_;  // heights of the stack
  std::unordered_map<std::uint32_t, PickleValue*> memo_;
};

Pickle::Pickle(Bytes program) { root_ = PickleMachine(program, values_).run(); }

}  // namespace diml::weights
