"""Writes the reference of the server's routes as Markdown to standard output, from the OpenAPI document at the given address."""

import json
import sys
import urllib.request


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def kind_of(schema, shapes):
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        shapes.setdefault(name, None)
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema or "oneOf" in schema:
        return " or ".join(kind_of(one, shapes) for one in schema.get("anyOf") or schema["oneOf"])
    if schema.get("type") == "array":
        return "list of " + kind_of(schema.get("items", {}), shapes)
    if "enum" in schema:
        return " or ".join(f"`{word}`" for word in schema["enum"])
    kind = schema.get("type", "any")
    kind = " or ".join(kind) if isinstance(kind, list) else kind
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and most is not None:
        kind += f", {least} to {most}"
    elif least is not None:
        kind += f", {least} or more"
    return kind


def write_fields(schema, shapes):
    required = set(schema.get("required", []))
    print("| field | type | |")
    print("|---|---|---|")
    for name, field in schema.get("properties", {}).items():
        words = field.get("description", "")
        if "default" in field:
            words += f" (default: `{json.dumps(field['default'])}`)"
        if name in required:
            words += " (required)"
        print(f"| `{name}` | {cell(kind_of(field, shapes))} | {cell(words)} |")
    print()


def write_route(method, path, route, shapes):
    print(f"\n## {method.upper()} {path}\n")
    for key in ("summary", "description"):
        if route.get(key):
            print(route[key].rstrip(".") + ".\n")
    if route.get("parameters"):
        print("| parameter | where | type | |")
        print("|---|---|---|---|")
        for one in route["parameters"]:
            words = one.get("description", "") + (" (required)" if one.get("required") else "")
            print(f"| `{one['name']}` | {one['in']} | {cell(kind_of(one.get('schema', {}), shapes))} | {cell(words)} |")
        print()
    for kind, content in route.get("requestBody", {}).get("content", {}).items():
        schema = content.get("schema", {})
        print(f"Body, `{kind}`: {kind_of(schema, shapes) if 'properties' not in schema else ''}\n")
        if "properties" in schema:
            write_fields(schema, shapes)
    for status, answer in route.get("responses", {}).items():
        kinds = []
        for kind, content in answer.get("content", {}).items():
            kinds.append(f"`{kind}`: {kind_of(content.get('schema', {}), shapes)}")
        print(f"- {status}: {answer.get('description', '')}" + (f" ({'; '.join(kinds)})" if kinds else ""))
    print()


def main():
    with urllib.request.urlopen(sys.argv[1]) as answer:
        document = json.load(answer)
    print("# HTTP reference\n")
    print("Made from the server's own `/openapi.json`. [A gallery over HTTP](../server.md) leads through it.")
    shapes = {}
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            write_route(method, path, route, shapes)
    known = document.get("components", {}).get("schemas", {})
    written = set()
    while set(shapes) - written:
        for name in sorted(set(shapes) - written):
            written.add(name)
            print(f"\n## {name}\n")
            if known.get(name, {}).get("description"):
                print(known[name]["description"] + "\n")
            write_fields(known.get(name, {}), shapes)


main()
