#include "schemas.h"

namespace diml::server {
namespace {

constexpr const char* kSchemas = R"json({
  "Error": {"type": "object", "required": ["error"], "properties": {
    "error": {"type": "string", "description": "What went wrong and what to do, in one line"}}},
  "Grid": {"type": "object", "required": ["cells"], "properties": {
    "cells": {"type": "array", "items": {"type": "array", "items": {"type": "number"}},
      "description": "[cells, dimensions], of any scale"},
    "global": {"type": "array", "items": {"type": "number"},
      "description": "[dimensions]; the mean of the cells where it is left out"}}},
  "Subject": {"description": "An image of the gallery by its id, or a grid from elsewhere",
    "oneOf": [{"type": "integer"},
      {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}},
      {"$ref": "#/components/schemas/Grid"}]},
  "Embedding": {"type": "object", "required": ["cells", "global", "rows", "cols", "dim"],
    "properties": {"cells": {"type": "array", "items": {"type": "array",
        "items": {"type": "number"}}},
      "global": {"type": "array", "items": {"type": "number"}}, "rows": {"type": "integer"},
      "cols": {"type": "integer"}, "dim": {"type": "integer"}}},
  "Item": {"type": "object", "required": ["id", "path", "label", "metadata"], "properties": {
    "id": {"type": "integer"}, "path": {"type": "string"}, "label": {"type": "integer"},
    "metadata": {"type": "object"}}},
  "Hit": {"type": "object",
    "required": ["rank", "first_rank", "id", "path", "label", "global", "structural", "total",
      "metadata"],
    "properties": {"rank": {"type": "integer", "description": "After re-ranking, from 1"},
      "first_rank": {"type": "integer", "description": "Before: by the cosine, or as given"},
      "id": {"type": "integer"}, "path": {"type": "string"}, "label": {"type": "integer"},
      "global": {"type": "number", "description": "Cosine of the global vectors"},
      "structural": {"type": "number", "nullable": true,
        "description": "Structural similarity; null behind the candidates that are re-ranked"},
      "total": {"type": "number", "description": "What the order is by"},
      "metadata": {"type": "object"}}},
  "SearchRequest": {"type": "object", "required": ["query"], "properties": {
    "query": {"$ref": "#/components/schemas/Subject"}, "top": {"type": "integer"},
    "rerank": {"type": "integer"}, "marginals": {"$ref": "#/components/schemas/Marginals"},
    "lambda": {"type": "number"}, "global_weight": {"$ref": "#/components/schemas/Weight"},
    "structural_weight": {"$ref": "#/components/schemas/Weight"}}},
  "Weight": {"type": "number", "minimum": 0, "default": 1,
    "description": "Of one of the two similarities whose sum orders the re-ranked"},
  "Hits": {"type": "object", "required": ["items", "hits", "seconds"], "properties": {
    "items": {"type": "integer", "description": "Images that were searched"},
    "hits": {"type": "array", "items": {"$ref": "#/components/schemas/Hit"}},
    "seconds": {"type": "object", "required": ["embed", "search"], "properties": {
      "embed": {"type": "number"}, "search": {"type": "number"}}}}},
  "Marginals": {"type": "string", "enum": ["cross_correlation", "uniform"]},
  "RerankRequest": {"type": "object", "required": ["query", "candidates"], "properties": {
    "query": {"$ref": "#/components/schemas/Subject"},
    "candidates": {"type": "array", "items": {"$ref": "#/components/schemas/Subject"},
      "description": "Ids of the gallery, or grids from any other store, in that store's order"},
    "marginals": {"$ref": "#/components/schemas/Marginals"}, "lambda": {"type": "number"},
    "global_weight": {"$ref": "#/components/schemas/Weight"},
    "structural_weight": {"$ref": "#/components/schemas/Weight"}}},
  "Reranked": {"type": "object", "required": ["order", "seconds"], "properties": {
    "order": {"type": "array", "items": {"type": "object",
      "required": ["rank", "first_rank", "global", "structural", "total"], "properties": {
        "rank": {"type": "integer"}, "first_rank": {"type": "integer"},
        "id": {"type": "integer", "description": "Where candidates are ids"},
        "global": {"type": "number"}, "structural": {"type": "number"},
        "total": {"type": "number"}}}},
    "seconds": {"type": "number"}}},
  "PairRequest": {"type": "object", "required": ["source", "target"], "properties": {
    "source": {"$ref": "#/components/schemas/Subject"},
    "target": {"$ref": "#/components/schemas/Subject"},
    "marginals": {"$ref": "#/components/schemas/Marginals"}, "lambda": {"type": "number"},
    "solver": {"type": "string", "enum": ["entropic", "exact"]}}},
  "Comparison": {"type": "object",
    "required": ["score", "cosine", "total", "params", "fallbacks", "iterations", "converged"],
    "properties": {"score": {"type": "number", "description": "Structural similarity"},
      "cosine": {"type": "number"}, "total": {"type": "number"}, "params": {"type": "object"},
      "fallbacks": {"type": "object"}, "iterations": {"type": "integer"},
      "converged": {"type": "boolean"}}},
  "Explanation": {"type": "object",
    "required": ["score", "cosine", "total", "rows_source", "cols_source", "rows_target",
      "cols_target", "marginals", "similarity", "plan", "pairs", "params", "fallbacks",
      "iterations", "converged"],
    "properties": {"score": {"type": "number"}, "cosine": {"type": "number"},
      "total": {"type": "number"}, "rows_source": {"type": "integer"},
      "cols_source": {"type": "integer"}, "rows_target": {"type": "integer"},
      "cols_target": {"type": "integer"}, "marginals": {"type": "object",
        "required": ["source", "target"], "properties": {
          "source": {"type": "array", "items": {"type": "number"}},
          "target": {"type": "array", "items": {"type": "number"}}}},
      "similarity": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
      "plan": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
      "pairs": {"type": "array", "items": {"type": "object",
        "required": ["source", "target", "mass", "amplified", "similarity", "contribution",
          "share"]}},
      "params": {"type": "object"}, "fallbacks": {"type": "object"},
      "iterations": {"type": "integer"}, "converged": {"type": "boolean"}}},
  "Items": {"type": "object", "required": ["total", "offset", "items"], "properties": {
    "total": {"type": "integer"}, "offset": {"type": "integer"},
    "items": {"type": "array", "items": {"$ref": "#/components/schemas/Item"}}}},
  "Added": {"type": "object", "required": ["ids", "items"], "properties": {
    "ids": {"type": "array", "items": {"type": "integer"}}, "items": {"type": "integer"}}},
  "Deleted": {"type": "object", "required": ["id", "items"], "properties": {
    "id": {"type": "integer"}, "items": {"type": "integer"}}},
  "Gallery": {"type": "object",
    "required": ["name", "items", "rows", "cols", "dim", "type", "photos", "changes", "labels",
      "defaults", "limits", "version"],
    "properties": {"name": {"type": "string"}, "items": {"type": "integer"},
      "rows": {"type": "integer"}, "cols": {"type": "integer"}, "dim": {"type": "integer"},
      "type": {"type": "string"}, "photos": {"type": "boolean"}, "changes": {"type": "boolean"},
      "exact": {"type": "boolean"}, "crop": {"type": "number",
        "description": "Side of the square that the network sees, of the photo's short side"},
      "labels": {"type": "array", "items": {"type": "object", "required": ["label", "count"]}},
      "defaults": {"type": "object"}, "limits": {"type": "object"},
      "version": {"type": "string"}}},
  "Health": {"type": "object", "required": ["status"], "properties": {
    "status": {"type": "string"}}}
})json";

}  // namespace

Json schemas() { return Json::parse(kSchemas); }

Json schema_ref(const std::string& name) { return {{"$ref", "#/components/schemas/" + name}}; }

Json query_parameter(const std::string& name, const std::string& type, const std::string& meaning) {
  return {{"name", name},
          {"in", "query"},
          {"required", false},
          {"description", meaning},
          {"schema", {{"type", type}}}};
}

Json image_content() {
  const Json binary = {{"schema", {{"type", "string"}, {"format", "binary"}}}};
  return {{"image/jpeg", binary}, {"image/png", binary}, {"image/webp", binary}};
}

Json form_content(std::initializer_list<std::string_view> files,
                  std::initializer_list<std::string_view> fields) {
  Json properties = Json::object();
  for (const std::string_view name : files) {
    properties[std::string(name)] = {{"type", "string"}, {"format", "binary"}};
  }
  for (const std::string_view name : fields) properties[std::string(name)] = {{"type", "string"}};
  return {{"multipart/form-data", {{"schema", {{"type", "object"}, {"properties", properties}}}}}};
}

Json json_content(const std::string& schema, Json example) {
  return {{"application/json", {{"schema", schema_ref(schema)}, {"example", std::move(example)}}}};
}

Json joined_content(std::initializer_list<Json> contents) {
  Json all = Json::object();
  for (const Json& content : contents) all.update(content);
  return all;
}

}  // namespace diml::server
