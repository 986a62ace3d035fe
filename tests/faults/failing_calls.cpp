// Stands before the C library, linked or as LD_PRELOAD: its calls fail where a plan says so.

#include "faults/failing_calls.h"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <utility>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
}

namespace diml::test {
namespace {

FaultPlan own_plan;
std::atomic<FaultPlan*> used_plan{&own_plan};
// Its storage must not be allocated on first use: that would be a call of malloc() within malloc().
__attribute__((tls_model("initial-exec"))) thread_local bool is_spared = false;

FaultPlan* mapped(const char* file) {
  const int opened = ::open(file, O_RDWR | O_CLOEXEC);
  if (opened < 0) return nullptr;
  void* memory = ::mmap(nullptr, sizeof(FaultPlan), PROT_READ | PROT_WRITE, MAP_SHARED, opened, 0);
  ::close(opened);
  return memory == MAP_FAILED ? nullptr : static_cast<FaultPlan*>(memory);
}

__attribute__((constructor)) void take_plan() {
  const char* file = std::getenv("DIML_FAULT_PLAN");
  if (file == nullptr) return;
  FaultPlan* plan = mapped(file);
  if (plan == nullptr) std::abort();
  used_plan = plan;
}

bool fails(Call call, int code) {
  FaultPlan& plan = *used_plan;
  if (plan.call != call || is_spared) return false;
  const long left = plan.before--;
  if (left > 0 || left <= -plan.count) return false;
  ++plan.failed;
  errno = code;
  return true;
}

bool write_fails(int file) {
  FaultPlan& plan = *used_plan;
  if (plan.call != Call::write || is_spared) return false;
  struct stat status {};
  return ::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && fails(Call::write, ENOSPC);
}

bool allocation_fails() { return fails(Call::allocation, ENOMEM); }

// For what the C library does beyond one system call.
template <class Function>
Function next(Function /*this_one*/, const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

FaultPlan& fault_plan() { return *used_plan; }

void spare_this_thread() { is_spared = true; }

Fault::Fault(Call call, long before, long count, FaultPlan& plan) : plan_(plan) {
  plan_.before = before;
  plan_.count = count;
  plan_.failed = 0;
  plan_.call = call;
}

SharedPlan::SharedPlan(std::string file) : plan_(nullptr) {
  const int made = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  const bool has_room = made >= 0 && ::ftruncate(made, sizeof(FaultPlan)) == 0;
  if (made >= 0) ::close(made);
  plan_ = has_room ? mapped(file.c_str()) : nullptr;
  if (plan_ == nullptr) throw std::runtime_error(file + ": no plan can be made");
  new (plan_) FaultPlan;
}

SharedPlan::~SharedPlan() { ::munmap(plan_, sizeof(FaultPlan)); }

}  // namespace diml::test

using diml::test::allocation_fails;
using diml::test::Call;
using diml::test::fails;
using diml::test::next;
using diml::test::write_fails;

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
extern "C" {

void* malloc(std::size_t bytes) noexcept {
  return allocation_fails() ? nullptr : __libc_malloc(bytes);
}

void* calloc(std::size_t count, std::size_t bytes) noexcept {
  return allocation_fails() ? nullptr : __libc_calloc(count, bytes);
}

void* realloc(void* memory, std::size_t bytes) noexcept {
  return allocation_fails() ? nullptr : __libc_realloc(memory, bytes);
}

void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  return allocation_fails() ? nullptr : __libc_memalign(alignment, bytes);
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return memalign(alignment, bytes);
}

int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) noexcept {
  *memory = memalign(alignment, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}

ssize_t write(int file, const void* data, std::size_t bytes) {
  if (write_fails(file)) return -1;
  return ::syscall(SYS_write, file, data, bytes);
}

ssize_t pwrite(int file, const void* data, std::size_t bytes, off_t place) {
  if (write_fails(file)) return -1;
  return ::syscall(SYS_pwrite64, file, data, bytes, place);
}

ssize_t pwrite64(int file, const void* data, std::size_t bytes, off_t place) {
  return pwrite(file, data, bytes, place);
}

ssize_t writev(int file, const iovec* parts, int count) {
  if (write_fails(file)) return -1;
  return ::syscall(SYS_writev, file, parts, count);
}

ssize_t pwritev(int file, const iovec* parts, int count, off_t place) {
  if (write_fails(file)) return -1;
  const auto offset = static_cast<std::uint64_t>(place);
  return ::syscall(SYS_pwritev, file, parts, count, offset & 0xffffffffU, offset >> 32);
}

ssize_t pwritev64(int file, const iovec* parts, int count, off_t place) {
  return pwritev(file, parts, count, place);
}

std::size_t fwrite(const void* data, std::size_t bytes, std::size_t count, std::FILE* file) {
  static const auto real = next(&fwrite, "fwrite");
  return write_fails(::fileno(file)) ? 0 : real(data, bytes, count, file);
}

ssize_t sendfile(int to, int from, off_t* place, std::size_t bytes) noexcept {
  if (write_fails(to)) return -1;
  return ::syscall(SYS_sendfile, to, from, place, bytes);
}

ssize_t sendfile64(int to, int from, off_t* place, std::size_t bytes) noexcept {
  return sendfile(to, from, place, bytes);
}

ssize_t copy_file_range(int from, off_t* from_place, int to, off_t* to_place, std::size_t bytes,
                        unsigned flags) {
  if (write_fails(to)) return -1;
  return ::syscall(SYS_copy_file_range, from, from_place, to, to_place, bytes, flags);
}

int ftruncate(int file, off_t bytes) noexcept {
  if (write_fails(file)) return -1;
  return static_cast<int>(::syscall(SYS_ftruncate, file, bytes));
}

int ftruncate64(int file, off_t bytes) noexcept { return ftruncate(file, bytes); }

int posix_fallocate(int file, off_t begin, off_t bytes) {
  if (write_fails(file)) return ENOSPC;
  static const auto real = next(&posix_fallocate, "posix_fallocate");
  return real(file, begin, bytes);
}

int posix_fallocate64(int file, off_t begin, off_t bytes) {
  return posix_fallocate(file, begin, bytes);
}

int fsync(int file) {
  if (fails(Call::sync, EIO)) return -1;
  return static_cast<int>(::syscall(SYS_fsync, file));
}

int fdatasync(int file) {
  if (fails(Call::sync, EIO)) return -1;
  return static_cast<int>(::syscall(SYS_fdatasync, file));
}

int msync(void* memory, std::size_t bytes, int flags) {
  if (fails(Call::sync, EIO)) return -1;
  return static_cast<int>(::syscall(SYS_msync, memory, bytes, flags));
}

int rename(const char* from, const char* to) noexcept {
  if (fails(Call::rename, EIO)) return -1;
  return static_cast<int>(::syscall(SYS_rename, from, to));
}

int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  if (fails(Call::rename, EIO)) return -1;
  return static_cast<int>(::syscall(SYS_renameat, from_folder, from, to_folder, to));
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to,
              unsigned flags) noexcept {
  if (fails(Call::rename, EIO)) return -1;
  return static_cast<int>(::syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}

int link(const char* from, const char* to) noexcept {
  if (fails(Call::rename, EIO)) return -1;
  return static_cast<int>(::syscall(SYS_link, from, to));
}

int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  if (fails(Call::rename, EIO)) return -1;
  return static_cast<int>(::syscall(SYS_linkat, from_folder, from, to_folder, to, flags));
}

}  // extern "C"
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
