#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/random.h"
#include "canvas.h"
#include "critters/critters.h"
#include "diml/error.h"

namespace diml {
namespace critters {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kLine = 0.02;  // outlines, in creature lengths

enum Part : std::size_t {
  body,
  belly,
  head,
  eye,
  beak,
  crest,
  wing,
  tail,
  left_leg,
  right_leg,
  part_count
};

struct Point {
  double x = 0.0;
  double y = 0.0;
};

// The random properties of one picture.
struct Pose {
  explicit Pose(Random& random)
      : scale(random.uniform(0.42, 0.62)),
        turn(0.35 * random.normal()),
        mirrored(random.uniform() < 0.5),
        at{0.5 + 0.09 * random.normal(), 0.5 + 0.09 * random.normal()},
        head_turn(0.25 * random.normal()),
        wing_turn(0.35 * random.normal()),
        tail_turn(0.25 * random.normal()),
        legs_turn(0.3 * random.normal()) {}

  double scale, turn;
  bool mirrored;
  Point at;
  double head_turn, wing_turn, tail_turn, legs_turn;
};

// Draws the creature facing right; records the positions of its parts in the picture.
class CreatureDrawing {
 public:
  CreatureDrawing(const Canvas& canvas, const Species& species, const Pose& pose)
      : canvas_(canvas), species_(species), pose_(pose) {}

  void draw() {
    draw_tail();
    draw_leg(left_leg, -0.08);
    draw_leg(right_leg, 0.10);
    draw_body();
    draw_head();
    draw_wing();
  }

  const std::array<Point, part_count>& places() const { return places_; }

 private:
  std::size_t trait(Trait which) const { return species_[which]; }
  Colour colour(Trait which) const { return colour_of(species_[which]); }
  double body_length() const { return 0.78; }
  double body_height() const { return std::array{0.40, 0.50, 0.60}[trait(body_shape)]; }

  void remember(Part part, double x, double y) {
    cairo_user_to_device(canvas_.cairo(), &x, &y);
    places_[part] = {x, y};
  }

  void draw_tail() {
    const Frame frame(canvas_, -0.36, 0.0, pose_.tail_turn);
    canvas_.colour(colour(tail_colour));
    switch (trait(tail_shape)) {
      case 0:  // fan
        canvas_.polygon({{0.05, -0.05}, {-0.30, -0.22}, {-0.38, 0.0}, {-0.30, 0.22}, {0.05, 0.05}});
        break;
      case 1:  // fork
        canvas_.polygon({{0.05, -0.06}, {-0.42, -0.20}, {-0.18, 0.0}, {-0.42, 0.20}, {0.05, 0.06}});
        break;
      case 2:  // long
        canvas_.polygon({{0.05, -0.05}, {-0.55, -0.05}, {-0.58, 0.03}, {0.05, 0.06}});
        break;
      default:  // short and upright
        canvas_.polygon({{0.08, 0.0}, {-0.12, -0.30}, {-0.26, -0.22}, {0.02, 0.08}});
    }
    canvas_.fill_and_outline(kLine);
    remember(tail, -0.22, trait(tail_shape) == 3 ? -0.15 : 0.0);
  }

  void draw_leg(Part part, double x) {
    const double length = std::array{0.16, 0.27, 0.40}[trait(leg_length)];
    const Frame frame(canvas_, x, 0.42 * body_height(),
                      part == left_leg ? pose_.legs_turn : -0.6 * pose_.legs_turn);
    canvas_.colour(colour(leg_colour), 0.9);
    cairo_set_line_width(canvas_.cairo(), 0.035);
    cairo_move_to(canvas_.cairo(), 0.0, 0.0);
    cairo_line_to(canvas_.cairo(), 0.0, length);
    for (const double toe : {-0.05, 0.04, 0.10}) {
      cairo_move_to(canvas_.cairo(), 0.0, length);
      cairo_line_to(canvas_.cairo(), toe, length + 0.04);
    }
    cairo_stroke(canvas_.cairo());
    remember(part, 0.0, 0.7 * length);
  }

  void draw_body() {
    canvas_.ellipse(0.0, 0.0, body_length(), body_height(), -0.1);
    canvas_.colour(colour(body_colour));
    canvas_.fill_and_outline(kLine);
    remember(body, 0.20, -0.18 * body_height());  // in front of the wing
    canvas_.ellipse(0.08, 0.20 * body_height(), 0.48, 0.48 * body_height(), -0.15);
    canvas_.colour(colour(belly_colour));
    canvas_.fill();
    remember(belly, 0.10, 0.24 * body_height());
    canvas_.colour(colour(belly_colour), 0.6);
    if (trait(body_pattern) == 1) {  // spots
      for (int k = 0; k < 6; ++k) {
        canvas_.ellipse(-0.26 + 0.1 * k, -0.30 * body_height() + 0.02 * (k % 2), 0.05, 0.05);
        canvas_.fill();
      }
    } else if (trait(body_pattern) == 2) {  // stripes
      for (int k = 0; k < 4; ++k) {
        canvas_.ellipse(-0.24 + 0.14 * k, -0.22 * body_height(), 0.035, 0.30 * body_height(), 0.2);
        canvas_.fill();
      }
    }
  }

  void draw_head() {
    const double size = std::array{0.26, 0.33, 0.40}[trait(head_size)];
    const Frame frame(canvas_, 0.36, -0.42 * body_height() - 0.05, pose_.head_turn);
    draw_crest(size);
    draw_beak(size);
    canvas_.ellipse(0.0, 0.0, size, size);
    canvas_.colour(colour(head_colour));
    canvas_.fill_and_outline(kLine);
    remember(head, -0.25 * size, 0.05 * size);
    if (trait(cheek) > 0) {
      canvas_.ellipse(0.02, 0.24 * size, trait(cheek) == 1 ? 0.25 * size : 0.6 * size, 0.22 * size);
      canvas_.colour(colour(belly_colour));
      canvas_.fill();
    }
    canvas_.ellipse(0.16 * size, -0.12 * size, 0.30 * size, 0.30 * size);
    canvas_.colour(colour(eye_colour), 1.1);
    canvas_.fill_and_outline(0.5 * kLine);
    canvas_.ellipse(0.18 * size, -0.12 * size, 0.13 * size, 0.13 * size);
    canvas_.colour({0.05, 0.05, 0.06});
    canvas_.fill();
    remember(eye, 0.17 * size, -0.12 * size);
  }

  void draw_beak(double size) {
    const double from = 0.40 * size;
    canvas_.colour(colour(beak_colour));
    switch (trait(beak_shape)) {
      case 0:  // dagger
        canvas_.polygon({{from, -0.05}, {from + 0.30, 0.0}, {from + 0.30, 0.01}, {from, 0.05}});
        break;
      case 1:  // cone
        canvas_.polygon({{from, -0.09}, {from + 0.15, 0.0}, {from + 0.14, 0.02}, {from, 0.09}});
        break;
      case 2:  // hook
        canvas_.polygon({{from, -0.07},
                         {from + 0.20, -0.05},
                         {from + 0.20, 0.14},
                         {from + 0.12, 0.04},
                         {from, 0.06}});
        break;
      default:  // spoon
        canvas_.polygon({{from, -0.03},
                         {from + 0.16, -0.03},
                         {from + 0.28, -0.09},
                         {from + 0.28, 0.09},
                         {from + 0.16, 0.03},
                         {from, 0.03}});
    }
    canvas_.fill_and_outline(0.7 * kLine);
    remember(beak, from + 0.10, 0.0);
  }

  void draw_crest(double size) {
    const double top = -0.40 * size;
    canvas_.colour(colour(crest_colour));
    switch (trait(crest_shape)) {
      case 1:  // spike
        canvas_.polygon({{-0.06, top + 0.03}, {-0.16, top - 0.22}, {0.06, top + 0.01}});
        break;
      case 2:  // cap
        canvas_.ellipse(-0.03, top, 0.7 * size, 0.16);
        break;
      case 3:  // three feathers
        for (const double lean : {-0.7, -0.2, 0.3})
          canvas_.ellipse(0.16 * std::sin(lean), top - 0.07, 0.05, 0.20, lean);
        break;
      default:
        break;
    }
    if (trait(crest_shape) > 0) canvas_.fill_and_outline(0.7 * kLine);
    remember(crest, -0.03, top - 0.03);
  }

  void draw_wing() {
    const Frame frame(canvas_, -0.02, -0.10 * body_height(), 0.25 + pose_.wing_turn);
    canvas_.colour(colour(wing_colour));
    switch (trait(wing_shape)) {
      case 0:  // round
        canvas_.ellipse(-0.14, 0.04, 0.44, 0.26);
        break;
      case 1:  // pointed
        canvas_.polygon(
            {{0.08, -0.10}, {-0.22, -0.10}, {-0.56, 0.10}, {-0.18, 0.14}, {0.08, 0.08}});
        break;
      case 2:  // raised
        canvas_.polygon(
            {{0.08, 0.06}, {0.0, -0.30}, {-0.30, -0.42}, {-0.26, -0.06}, {-0.10, 0.10}});
        break;
      default:  // stub
        canvas_.ellipse(-0.05, 0.03, 0.26, 0.22);
    }
    canvas_.fill_and_outline(kLine);
    const Point middle = trait(wing_shape) == 2   ? Point{-0.13, -0.14}
                         : trait(wing_shape) == 3 ? Point{-0.05, 0.03}
                                                  : Point{-0.15, 0.03};
    canvas_.colour(colour(body_colour), 0.55);
    for (int k = -1; k <= 1 && trait(wing_pattern) > 0; ++k) {
      if (trait(wing_pattern) == 1)
        canvas_.ellipse(middle.x + 0.07 * k, middle.y, 0.025, 0.14, 0.2);
      if (trait(wing_pattern) == 2)
        canvas_.ellipse(middle.x + 0.07 * k, middle.y + 0.02 * k, 0.05, 0.05);
      if (trait(wing_pattern) == 3) canvas_.ellipse(middle.x, middle.y + 0.04 * k, 0.22, 0.02);
      canvas_.fill();
    }
    remember(wing, middle.x, middle.y);
  }

  const Canvas& canvas_;
  const Species& species_;
  const Pose& pose_;
  std::array<Point, part_count> places_{};
};

Colour random_colour(Random& random) {
  return {random.uniform(0.15, 0.9), random.uniform(0.2, 0.9), random.uniform(0.15, 0.85)};
}

// A leaf, a pebble or a twig of any colour, in picture widths.
void clutter_path(const Canvas& canvas, Random& random, double size) {
  const double x = random.uniform();
  const double y = random.uniform();
  const double angle = random.uniform(0.0, kPi);
  const double narrow = std::array{0.35, 0.9, 0.12}[random.below(3)];
  canvas.ellipse(x, y, size, size * narrow, angle);
}

void draw_background(const Canvas& canvas, Random& random) {
  cairo_pattern_t* sky = cairo_pattern_create_linear(0.0, 0.0, random.uniform(-0.5, 0.5), 1.0);
  for (const double stop : {0.0, 1.0}) {
    const Colour c = random_colour(random);
    cairo_pattern_add_color_stop_rgb(sky, stop, c.red, c.green, c.blue);
  }
  cairo_set_source(canvas.cairo(), sky);
  cairo_paint(canvas.cairo());
  cairo_pattern_destroy(sky);
  for (std::size_t k = 6 + random.below(14); k > 0; --k) {
    clutter_path(canvas, random, random.uniform(0.08, 0.35));
    canvas.colour(random_colour(random), random.uniform(0.6, 1.0), 0.85);
    canvas.fill();
  }
}

// Brightness, tint and one soft light from a side.
void draw_light(const Canvas& canvas, Random& random) {
  canvas.colour(random_colour(random), 1.0, random.uniform(0.0, 0.18));
  cairo_paint(canvas.cairo());
  const double x = random.uniform();
  const double y = random.uniform();
  cairo_pattern_t* light = cairo_pattern_create_radial(x, y, 0.05, x, y, 1.1);
  const double strength = random.uniform(0.0, 0.35);
  cairo_pattern_add_color_stop_rgba(light, 0.0, 1.0, 1.0, 0.95, strength);
  cairo_pattern_add_color_stop_rgba(light, 1.0, 0.0, 0.0, 0.05, strength);
  cairo_set_source(canvas.cairo(), light);
  cairo_paint(canvas.cairo());
  cairo_pattern_destroy(light);
}

Box box_around(const std::array<Point, part_count>& places, double margin, double size) {
  double left = size;
  double top = size;
  double right = 0.0;
  double bottom = 0.0;
  for (const Point& place : places) {
    left = std::min(left, place.x - margin);
    top = std::min(top, place.y - margin);
    right = std::max(right, place.x + margin);
    bottom = std::max(bottom, place.y + margin);
  }
  left = std::clamp(left, 0.0, size);
  top = std::clamp(top, 0.0, size);
  return {left, top, std::clamp(right, left, size) - left, std::clamp(bottom, top, size) - top};
}

}  // namespace
}  // namespace critters

const std::vector<std::string>& critter_part_names() {
  static const std::vector<std::string> names = {"body",  "belly", "head", "eye",      "beak",
                                                 "crest", "wing",  "tail", "left leg", "right leg"};
  return names;
}

Critter draw_critter(const CrittersParams& params, std::size_t label, std::size_t index) {
  using namespace critters;
  if (params.size < 16 || params.size > 4096) throw Error("critters have 16 to 4096 pixels a side");
  const Species species = species_of(params.seed, label);
  Random random(mixed_seed(params.seed, 13, label * 1'000'003 + index));
  const Canvas canvas(params.size);
  const double pixels = static_cast<double>(params.size);
  cairo_scale(canvas.cairo(), pixels, pixels);  // from here on a picture is 1 x 1
  draw_background(canvas, random);

  const Pose pose(random);
  CreatureDrawing drawing(canvas, species, pose);
  {
    const Frame frame(canvas, pose.at.x, pose.at.y, pose.turn);
    cairo_scale(canvas.cairo(), pose.mirrored ? -pose.scale : pose.scale, pose.scale);
    drawing.draw();
  }

  std::array<bool, part_count> visible{};
  for (std::size_t part = 0; part < part_count; ++part) {
    const Point& place = drawing.places()[part];
    visible[part] = place.x >= 0.0 && place.y >= 0.0 && place.x < pixels && place.y < pixels;
  }
  if (species[crest_shape] == 0) visible[crest] = false;
  for (std::size_t k = random.below(3); k > 0; --k) {  // clutter in front
    clutter_path(canvas, random, random.uniform(0.10, 0.28));
    for (std::size_t part = 0; part < part_count; ++part) {
      const Point& place = drawing.places()[part];
      if (cairo_in_fill(canvas.cairo(), place.x / pixels, place.y / pixels)) visible[part] = false;
    }
    canvas.colour(random_colour(random), 0.8);
    canvas.fill();
  }
  draw_light(canvas, random);

  Critter critter{
      canvas.image(), box_around(drawing.places(), 0.08 * pose.scale * pixels, pixels), {}};
  for (std::size_t part = 0; part < part_count; ++part) {
    if (visible[part])
      critter.parts.push_back({part, drawing.places()[part].x, drawing.places()[part].y});
  }
  return critter;
}

}  // namespace diml
