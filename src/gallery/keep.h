#pragma once

#include <initializer_list>
#include <memory>
#include <string>

#include "base/temporary_folder.h"
#include "diml/gallery.h"

namespace diml::gallery {

// Throws where one of them is an address: a database has its own ways to keep what it holds.
void expect_folders(std::initializer_list<std::string> names);

// A folder beside the place of a gallery, in which it is made. What is left there is removed.
class Workshop {
 public:
  // Throws where something that is no gallery is at the place; also where a gallery is.
  explicit Workshop(const std::string& place);
  // The same, for a gallery in the place of another.
  static Workshop for_replacing(const std::string& place);

  const std::string& gallery() const { return gallery_; }  // the folder to write
  // Verifies what was written and syncs it. says_of: whose contents they are, for the message.
  GalleryCopy verified(const std::string& says_of, const Progress& progress) const;
  // Gives it its name, which nothing has.
  void put_in_place() const;
  // The same where another gallery has it, which then lies in gallery() and is removed with it.
  void replace() const;
  // The same, and the other gallery gets the name `kept`.
  void replace(const std::string& kept) const;

 private:
  Workshop(const std::string& place, bool replaces);
  void exchange() const;
  [[noreturn]] void leave(const std::string& old, int code) const;

  std::string place_;
  std::unique_ptr<TemporaryFolder> folder_;
  std::string gallery_;
};

}  // namespace diml::gallery
