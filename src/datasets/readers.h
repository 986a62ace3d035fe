#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "diml/dataset.h"

namespace diml::datasets {

Dataset load_cub200(const std::string& root, Split split);
Dataset load_cars196(const std::string& root, Split split);
Dataset load_sop(const std::string& root, Split split);
Dataset load_folder(const std::string& root, Split split);
Dataset load_csv(const std::string& root, Split split);

// Calls `line(fields, where)` for every line with fields, split at white space; `where` is
// "FILE:LINE" for messages.
void for_each_line(const std::string& path,
                   const std::function<void(const std::vector<std::string>& fields,
                                            const std::string& where)>& line);

std::int64_t integer_of(const std::string& text, const std::string& where);
double number_of(const std::string& text, const std::string& where);

// `root` itself, or the folder `name` inside it: both are accepted.
std::string folder_with(const std::string& root, const std::string& name, const std::string& file);

// One folder per class below `root`, classes and files in alphabetical order; folders in it belong
// to the class. Labels count from 0. Photos in `root` itself have none.
Dataset classes_from_folders(const std::string& root, const std::string& name);

// Keeps the classes of the split: the first half of them trains, the second tests.
void keep_half_of_classes(Dataset& dataset, Split split);

// Throws if a published split does not have its published number of images.
void expect_count(const Dataset& dataset, std::size_t count, const std::string& what);

// Throws when files are missing: how many, and the first of them.
void expect_files(const Dataset& dataset);

}  // namespace diml::datasets
