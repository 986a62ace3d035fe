#include "gallery/postgres/address.h"

#include "base/refusal.h"
#include "diml/gallery.h"
#include "gallery/postgres/connection.h"

namespace diml::postgres {
namespace {

using test::expect_refused;

TEST(PostgresAddress, IsTheDatabaseAndTheGallery) {
  const Address one = address_from("postgres://ann@db.example:5433/shop/photos");
  EXPECT_EQ(one.database, "postgres://ann@db.example:5433/shop");
  EXPECT_EQ(one.gallery, "photos");
  EXPECT_EQ(one.shown, "postgres://ann@db.example:5433/shop/photos");
  const Address two = address_from("postgresql:////my%20photos?service=shop&host=/run/x");
  EXPECT_EQ(two.database, "postgresql:///?service=shop&host=/run/x");
  EXPECT_EQ(two.gallery, "my photos");
  EXPECT_EQ(address_from("postgres://a,b:1/shop/g?target_session_attrs=read-write").database,
            "postgres://a,b:1/shop?target_session_attrs=read-write");
}

TEST(PostgresAddress, ShowsNoPassword) {
  const Address address = address_from("postgres://ann:s%2Fecret@db/shop/g?sslmode=require");
  EXPECT_EQ(address.shown, "postgres://ann@db/shop/g?sslmode=require");
  EXPECT_EQ(address.secrets, (std::vector<std::string>{"s%2Fecret", "s/ecret"}));
  EXPECT_EQ(shown_gallery("postgres://db/shop/g?password=secret&user=ann&sslpassword=other"),
            "postgres://db/shop/g?user=ann");
  EXPECT_EQ(shown_gallery("postgres://db/shop/g?p%61ssword=secret&PASSWORD=other"),
            "postgres://db/shop/g");
  EXPECT_EQ(
      in_one_line("no secret\nand no s%65cret", address_from("postgres://ann:s%65cret@db/shop/g")),
      "no ***; and no ***");
  for (const char* wrong :
       {"postgres://ann:secret@db", "postgres://ann:secret@db/shop",
        "postgres://ann:secret@db/shop/", "postgres://ann:secret@db/a/b/c",
        "postgres://ann:secret@db/shop/%zz", "postgres://ann:secret%zz@db/shop/g",
        "postgres://ann:secret@db/shop/%01", "postgres://ann:secret@db/shop/%ED%A0%80",
        "postgres://ann:secret@db/shop/%F4%90%80%80", "postgres://ann:secret@db/shop/%C0%AF",
        "postgres://ann:secret@db:port/shop/g", "postgres://ann:secret@[::1/shop/g",
        // An @, a / and a ? that should have been written as %40, %2F and %3F.
        "postgres://ann:p@secret/o@db/shop/g", "postgres://ann:secret?x@db/shop/g",
        "postgres://ann:1/secret/y?x@db/shop/g", "postgres://ann:1/x/y?secret=x@db/shop/g",
        "postgres://db:secret/shop/g", "postgres://db/shop/g?secret"}) {
    const std::string message = test::message_of([&] { open_gallery(wrong); });
    EXPECT_EQ(message.find("secret"), std::string::npos) << message;
    EXPECT_NE(message.find("postgres://"), std::string::npos) << message;
  }
}

TEST(PostgresAddress, IsToldFromAFolder) {
  EXPECT_TRUE(is_address("postgres://db/shop/g"));
  EXPECT_TRUE(is_address("postgresql:///shop/g"));
  EXPECT_FALSE(is_address("photos.gallery"));
  EXPECT_FALSE(is_address("./postgres:/x"));
  expect_refused([] { address_from("postgres://db/shop"); }, "names no gallery",
                 ErrorKind::bad_input);
}

TEST(PostgresAddress, SaysWhatCannotBeReached) {
  expect_refused(
      [] { open_gallery("postgres://ann:secret@/shop/g?host=/nowhere"); },
      "postgres://ann@/shop/g?host=/nowhere: cannot be reached: ", ErrorKind::out_of_resources);
}

}  // namespace
}  // namespace diml::postgres
