#pragma once

#include <csetjmp>
#include <cstdio>  // jpeglib.h needs it first
#include <string>

#include <jpeglib.h>

#include "diml/error.h"

namespace diml::images {

// libjpeg tells errors by a callback that must not return, and must not be left by an exception: it
// jumps back into run(). What a step works on has to live outside of it, so that no jump passes an
// object that would have to be destroyed.
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

  // For callbacks of our own that libjpeg calls.
  [[noreturn]] static void stop_because(j_common_ptr info, const char* why) {
    auto* handler = reinterpret_cast<Handler*>(info->err);
    std::snprintf(handler->message, sizeof handler->message, "%s", why);
    std::longjmp(handler->back, 1);
  }

  // Throws what libjpeg said when it stops the step.
  template <class Step>
  void run(Step step) {
    if (!ran(step)) throw Error(std::string("JPEG: ") + handler_.message);
  }

 private:
  struct Handler {
    jpeg_error_mgr manager;  // first: libjpeg knows the handler by this member's address
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

  // A warning is damage that libjpeg paints over (a file that ends early, a bad marker): an error
  // here.
  static void stop_at_damage(j_common_ptr info, int level) {
    if (level < 0) stop(info);
  }

  Handler handler_{};
};

}  // namespace diml::images
