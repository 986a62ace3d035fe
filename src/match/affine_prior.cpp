#include "match/affine_prior.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/enum_names.h"
#include "diml/error.h"

namespace diml {
namespace {

constexpr EnumNames<2> kPriors = {"none", "affine"};
constexpr EnumNames<4> kDoubts = {"none", "few_cells", "collapsed", "scattered"};

// Scale of the robust weights, as a share of the longer side: a pair of cells this far from the map
// counts a quarter. One cell of a 7 x 7 grid.
constexpr double kOutlier = 0.15;
constexpr int kReweightings = 5;

// Limits of what is trusted; docs/decisions/0017 has the measurements.
constexpr double kThinnest = 0.25;  // of a cell: deviation of the mass across its thin side
constexpr double kMostStretch = 3.0;

struct Point {
  double x = 0.0;
  double y = 0.0;
};

// The middle of each cell, from the middle of the grid; cells are square and the longer side is 1.
std::vector<Point> places_of(GridShape shape) {
  const auto longer = static_cast<double>(std::max(shape.rows, shape.cols));
  std::vector<Point> places;
  places.reserve(shape.count());
  for (std::size_t row = 0; row < shape.rows; ++row) {
    for (std::size_t col = 0; col < shape.cols; ++col) {
      places.push_back(
          {(static_cast<double>(col) + 0.5 - 0.5 * static_cast<double>(shape.cols)) / longer,
           (static_cast<double>(row) + 0.5 - 0.5 * static_cast<double>(shape.rows)) / longer});
    }
  }
  return places;
}

Point moved(const AffineMap& map, Point p) {
  return {map[0] * p.x + map[1] * p.y + map[2], map[3] * p.x + map[4] * p.y + map[5]};
}

double squared_distance(Point p, Point q) {
  return (p.x - q.x) * (p.x - q.x) + (p.y - q.y) * (p.y - q.y);
}

// Sums over pairs of cells that determine the best map.
struct Moments {
  double mass = 0.0;
  Point source, target;                           // means
  double xx = 0.0, xy = 0.0, yy = 0.0;            // covariance of the source cells
  double ux = 0.0, uy = 0.0, vx = 0.0, vy = 0.0;  // target u, v with source x, y

  void add(double weight, Point s, Point t) {
    mass += weight;
    source.x += weight * s.x;
    source.y += weight * s.y;
    target.x += weight * t.x;
    target.y += weight * t.y;
    xx += weight * s.x * s.x;
    xy += weight * s.x * s.y;
    yy += weight * s.y * s.y;
    ux += weight * t.x * s.x;
    uy += weight * t.x * s.y;
    vx += weight * t.y * s.x;
    vy += weight * t.y * s.y;
  }

  // Sums become means and covariances.
  void centre() {
    for (double* sum :
         {&source.x, &source.y, &target.x, &target.y, &xx, &xy, &yy, &ux, &uy, &vx, &vy}) {
      *sum /= mass;
    }
    xx -= source.x * source.x;
    xy -= source.x * source.y;
    yy -= source.y * source.y;
    ux -= target.x * source.x;
    uy -= target.x * source.y;
    vx -= target.y * source.x;
    vy -= target.y * source.y;
  }

  double smaller_variance() const {
    const double half = 0.5 * (xx + yy);
    return half - std::sqrt(std::max(0.0, 0.25 * (xx - yy) * (xx - yy) + xy * xy));
  }

  AffineMap best_map() const {
    const double det = xx * yy - xy * xy;
    AffineMap map{};
    map[0] = (ux * yy - uy * xy) / det;
    map[1] = (uy * xx - ux * xy) / det;
    map[3] = (vx * yy - vy * xy) / det;
    map[4] = (vy * xx - vx * xy) / det;
    map[2] = target.x - map[0] * source.x - map[1] * source.y;
    map[5] = target.y - map[3] * source.x - map[4] * source.y;
    return map;
  }
};

// Geman and McClure's weight of a pair of cells this far apart, by its square root.
double nearness(Point p, Point q) {
  return 1.0 / (1.0 + squared_distance(p, q) / (kOutlier * kOutlier));
}

// A cell that spreads its mass says little about where it belongs: masses count by their squares.
// map: pairs far from it count less; none: all count alike.
Moments moments_of(MatrixView plan, const std::vector<Point>& source,
                   const std::vector<Point>& target, const AffineMap* map) {
  Moments moments;
  for (std::size_t i = 0; i < plan.rows; ++i) {
    const Point place = map != nullptr ? moved(*map, source[i]) : Point{};
    for (std::size_t j = 0; j < plan.cols; ++j) {
      const double near = map != nullptr ? nearness(place, target[j]) : 1.0;
      moments.add(plan(i, j) * plan(i, j) * near * near, source[i], target[j]);
    }
  }
  if (moments.mass > 0.0) moments.centre();
  return moments;
}

// Of the flow: 1 where all of it follows the map.
double support_of(MatrixView plan, const std::vector<Point>& source,
                  const std::vector<Point>& target, const AffineMap& map) {
  double all = 0.0;
  double near = 0.0;
  for (std::size_t i = 0; i < plan.rows; ++i) {
    const Point place = moved(map, source[i]);
    for (std::size_t j = 0; j < plan.cols; ++j) {
      const double weight = plan(i, j) * plan(i, j);
      all += weight;
      near += weight * nearness(place, target[j]);
    }
  }
  return near / all;
}

// The factors by which the map stretches the directions that it stretches least and most.
std::pair<double, double> stretches_of(const AffineMap& map) {
  const double squares = map[0] * map[0] + map[1] * map[1] + map[3] * map[3] + map[4] * map[4];
  const double area = std::abs(map[0] * map[4] - map[1] * map[3]);
  const double apart = std::sqrt(std::max(0.0, squares * squares - 4.0 * area * area));
  const double most = std::sqrt(0.5 * (squares + apart));
  return {most > 0.0 ? area / most : 0.0, most};
}

bool determines_a_map(const Moments& moments, GridShape source) {
  const double cell = 1.0 / static_cast<double>(std::max(source.rows, source.cols));
  const double thinnest = kThinnest * cell;
  return moments.mass > 0.0 && moments.smaller_variance() > thinnest * thinnest;
}

}  // namespace

Prior prior_from(std::string_view name) { return value_in<Prior>(kPriors, name, "prior"); }

const char* name_of(Prior prior) { return name_in(kPriors, prior); }

FitDoubt fit_doubt_from(std::string_view name) {
  return value_in<FitDoubt>(kDoubts, name, "doubt");
}

const char* name_of(FitDoubt doubt) { return name_in(kDoubts, doubt); }

PriorReport fit_affine(MatrixView plan, GridShape source_shape, GridShape target_shape) {
  const std::vector<Point> source = places_of(source_shape);
  const std::vector<Point> target = places_of(target_shape);
  PriorReport fit;
  const Moments whole = moments_of(plan, source, target, nullptr);
  if (!determines_a_map(whole, source_shape)) {
    fit.doubt = FitDoubt::few_cells;
    return fit;
  }
  fit.map = whole.best_map();
  for (int round = 0; round < kReweightings; ++round) {
    const Moments robust = moments_of(plan, source, target, &fit.map);
    if (!determines_a_map(robust, source_shape)) break;
    fit.map = robust.best_map();
  }
  fit.support = support_of(plan, source, target, fit.map);
  const auto [least, most] = stretches_of(fit.map);
  if (!(least * kMostStretch > 1.0 && most < kMostStretch)) {
    fit.doubt = FitDoubt::collapsed;
  } else if (!(fit.support > kLeastSupport)) {
    fit.doubt = FitDoubt::scattered;
  }
  return fit;
}

std::vector<double> affine_penalties(const AffineMap& map, GridShape source_shape,
                                     GridShape target_shape, double sigma) {
  const std::vector<Point> source = places_of(source_shape);
  const std::vector<Point> target = places_of(target_shape);
  std::vector<double> penalties;
  penalties.reserve(source.size() * target.size());
  for (const Point& s : source) {
    const Point place = moved(map, s);
    const auto row = penalties.size();
    for (const Point& t : target) {
      penalties.push_back(squared_distance(place, t) / (2.0 * sigma * sigma));
    }
    const auto begin = penalties.begin() + static_cast<std::ptrdiff_t>(row);
    const double least = *std::min_element(begin, penalties.end());
    std::for_each(begin, penalties.end(), [least](double& value) { value -= least; });
  }
  return penalties;
}

GridShape shape_for_prior(GridShape given, std::size_t cells, const char* side) {
  if (given.count() == cells) return given;
  if (given.count() != 0) {
    throw Error(std::string("the ") + side + " has " + std::to_string(cells) + " cells, not " +
                std::to_string(given.rows) + " x " + std::to_string(given.cols) +
                ": give the shape that it was embedded with");
  }
  const GridShape square = shape_of_cells(cells);
  if (square.rows == square.cols) return square;
  throw Error(ErrorKind::bad_input,
              std::string("the affine prior must know how the ") + std::to_string(cells) +
                  " cells of the " + side + " lie: give the grid's rows and columns",
              "prior");
}

void check_prior(const MatchParams& params, Backend backend) {
  if (params.prior == Prior::none) return;
  if (!(params.affine.sigma >= 0.01 && params.affine.sigma <= 100.0)) {
    throw Error("sigma of the affine prior is " + std::to_string(params.affine.sigma) +
                ": it must be 0.01 to 100 of the longer side (0.214 is 1.5 cells of 7)");
  }
  if (params.affine.rounds < 1 || params.affine.rounds > 100) {
    throw Error("rounds of the affine prior must be 1 to 100 (3 is the default)");
  }
  if (params.certificate != Certificate::none) {
    throw Error(ErrorKind::unsupported,
                "a certificate bounds the cost of the plan without a prior: leave one of them out",
                "prior");
  }
  if (backend == Backend::cuda || backend == Backend::exact) {
    throw Error(ErrorKind::unsupported,
                std::string("the matcher '") + name_of(backend) +
                    "' has no prior: take cpu or reference, or no prior",
                "matcher");
  }
}

}  // namespace diml
