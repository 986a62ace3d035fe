#include "critters/critters.h"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "base/temporary_folder.h"
#include "diml/error.h"

namespace diml {
namespace {

double mean_difference(const Image& x, const Image& y) {
  double sum = 0.0;
  for (std::size_t i = 0; i < x.pixels.size(); ++i) sum += std::abs(x.pixels[i] - y.pixels[i]);
  return sum / static_cast<double>(x.pixels.size());
}

TEST(Critters, TheSamePictureEveryTime) {
  const Critter first = draw_critter({}, 3, 5);
  const Critter again = draw_critter({}, 3, 5);
  EXPECT_EQ(first.image.pixels, again.image.pixels);
  EXPECT_NE(first.image.pixels, draw_critter({}, 3, 6).image.pixels);
  EXPECT_NE(first.image.pixels, draw_critter({.seed = 1}, 3, 5).image.pixels);
}

TEST(Critters, PicturesOfAClassDifferALotFromEachOther) {
  for (std::size_t index = 1; index < 10; ++index) {
    EXPECT_GT(mean_difference(draw_critter({}, 0, 0).image, draw_critter({}, 0, index).image),
              15.0);
  }
}

TEST(Critters, PartsLieInThePictureAndMostAreSeen) {
  std::size_t seen = 0;
  constexpr std::size_t kPictures = 200;
  for (std::size_t k = 0; k < kPictures; ++k) {
    const Critter critter = draw_critter({.size = 96}, k % 40, k);
    std::set<std::size_t> parts;
    for (const PartLocation& part : critter.parts) {
      EXPECT_LT(part.part, critter_part_names().size());
      EXPECT_TRUE(parts.insert(part.part).second);
      EXPECT_TRUE(part.x >= 0.0 && part.x < 96.0 && part.y >= 0.0 && part.y < 96.0);
      EXPECT_TRUE(part.x >= critter.box.left && part.x <= critter.box.left + critter.box.width);
      EXPECT_TRUE(part.y >= critter.box.top && part.y <= critter.box.top + critter.box.height);
    }
    seen += critter.parts.size();
  }
  const double mean = static_cast<double>(seen) / kPictures;
  EXPECT_GT(mean, 6.5);
  EXPECT_LT(mean, 10.0);  // some are occluded, out of the picture or not there
}

TEST(Critters, AreWrittenAsTheBirdsAreAndReadByTheSameReader) {
  const test::TemporaryFolder folder;
  const CrittersParams params{.classes = 6, .images_per_class = 3, .size = 64};
  write_critters(folder / "c", params);
  const Dataset all = load_dataset("critters", folder / "c", Split::all);
  ASSERT_EQ(all.samples.size(), 18u);
  EXPECT_EQ(all.class_names.size(), 6u);
  EXPECT_EQ(all.part_names, critter_part_names());
  EXPECT_EQ(load_dataset("cub200", folder / "c", Split::test).samples.size(), 9u);
  for (std::size_t k = 0; k < all.samples.size(); ++k) {
    const Critter drawn = draw_critter(params, k / 3, k % 3);
    const Image read = read_image(all.samples[k].path);
    EXPECT_EQ(read.width, 64u);
    EXPECT_LT(mean_difference(drawn.image, read), 6.0);  // JPEG
    ASSERT_EQ(all.samples[k].parts.size(), drawn.parts.size());
    for (std::size_t p = 0; p < drawn.parts.size(); ++p) {
      EXPECT_EQ(all.samples[k].parts[p].part, drawn.parts[p].part);
      EXPECT_NEAR(all.samples[k].parts[p].x, drawn.parts[p].x, 0.06);
    }
    EXPECT_NEAR(all.samples[k].box->width, drawn.box.width, 0.06);
  }
}

TEST(Critters, RefusesWhatCannotBeDrawn) {
  EXPECT_THROW(draw_critter({.size = 8}, 0, 0), Error);
  EXPECT_THROW(write_critters("/proc/no/such/folder", {}), Error);
  const test::TemporaryFolder folder;
  EXPECT_THROW(write_critters(folder.path(), {.classes = 0}), Error);
}

}  // namespace
}  // namespace diml
