#pragma once

#include <csetjmp>
#include <cstdio>  // jpeglib.h needs it first
#include <new>
#include <string>

#include <jpeglib.h>

#include <jerror.h>  // needs jpeglib.h

#include "diml/error.h"

namespace diml::images {

// libjpeg reports errors through a callback that must neither return nor throw: it jumps back into
// run(). The objects that a step uses must live outside of the step, because the jump skips
// destructors.
class JpegErrors {
 public:
  // The manager that a compress or decompress object points to.
  jpeg_error_mgr* install() {
    jpeg_std_error(&handler_.manager);
    handler_.manager.error_exit = stop;
    handler_.manager.emit_message = stop_at_damage;
    handler_.manager.output_message = [](j_common_ptr) {};
    return &handler_.manager;
  }

  // For our callbacks that libjpeg calls.
  [[noreturn]] static void stop_because(j_common_ptr info, const char* why) {
    auto* handler = reinterpret_cast<Handler*>(info->err);
    std::snprintf(handler->message, sizeof handler->message, "%s", why);
    info->err->msg_code = 0;
    std::longjmp(handler->back, 1);
  }

  // If libjpeg stops the step, throws with libjpeg's message.
  template <class Step>
  void run(Step step) {
    if (ran(step)) return;
    if (handler_.manager.msg_code == JERR_OUT_OF_MEMORY) throw std::bad_alloc();  // not its fault
    throw Error(std::string("JPEG: ") + handler_.message);
  }

 private:
  struct Handler {
    jpeg_error_mgr manager;  // first member: libjpeg gets its address, which is also the handler's
    std::jmp_buf back;
    char message[JMSG_LENGTH_MAX];
  };

  template <class Step>
  bool ran(Step step) {
    if (setjmp(handler_.back) != 0) return false;
    step();
    return true;
  }

  static void stop(j_common_ptr info) {
    auto* handler = reinterpret_cast<Handler*>(info->err);
    (*info->err->format_message)(info, handler->message);
    std::longjmp(handler->back, 1);
  }

  // A warning means damage that libjpeg conceals (a truncated file, a bad marker): here it is an
  // error.
  static void stop_at_damage(j_common_ptr info, int level) {
    if (level < 0) stop(info);
  }

  Handler handler_{};
};

}  // namespace diml::images
