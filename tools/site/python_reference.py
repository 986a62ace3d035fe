"""Writes the reference of the Python package, from its signatures and docstrings, as Markdown to standard output.

PYTHONPATH names the folder of the built package. What needs torch is left out where torch is not there, and the page says so.
"""

import importlib
import inspect
import textwrap


def signature_of(thing):
    try:
        text = str(inspect.signature(thing))
    except (TypeError, ValueError):
        return ""
    return text.replace("NoneType", "None")


def docstring_of(thing):
    """Its own docstring: examples become blocks of code, all else stays as it is written."""
    text = inspect.cleandoc(thing.__doc__ or "")
    lines, code = [], False
    for line in text.split("\n"):
        if line.startswith(">>>") and not code:
            lines.append("```pycon")
            code = True
        elif code and not line.strip():
            lines.append("```")
            code = False
        lines.append(line if code or not line.startswith("    ") else line)
    if code:
        lines.append("```")
    return "\n".join(lines)


def members_of(kind):
    for name, member in vars(kind).items():
        if name.startswith("_") and name != "__call__":
            continue
        target = member.fget if isinstance(member, property) else member
        if isinstance(member, (staticmethod, classmethod)):
            target = member.__func__
        if callable(target) and target.__doc__:
            yield name, member, target


def write(module_name, names):
    module = importlib.import_module(module_name)
    for name in names:
        thing = getattr(module, name)
        if not (inspect.isclass(thing) or callable(thing)):
            continue
        is_error = inspect.isclass(thing) and issubclass(thing, BaseException)
        print(f"\n## {module_name}.{name}\n")
        if not is_error:
            print(f"```python\n{module_name}.{name}{signature_of(thing)}\n```\n")
        print(docstring_of(thing))
        if not inspect.isclass(thing) or is_error:
            continue
        for member, kept, target in members_of(thing):
            call = "" if isinstance(kept, property) else signature_of(target)
            print(f"\n### {name}.{member}\n")
            if call:
                print(f"```python\n{member}{call}\n```\n")
            print(docstring_of(target))


def main():
    import diml

    print("# Python reference\n")
    print(textwrap.fill("Made from the docstrings of the package; every example in them is a test. [The guide](../python.md) "
                        "leads through it.", 120))
    write("diml", [name for name in diml.__all__ if not name.startswith("_")])
    try:
        import torch  # noqa: F401
    except ImportError:
        print("\n`diml.torch` and `diml.pml` are not listed: this page was made without PyTorch.")
        return
    for name in ("diml.torch", "diml.pml"):
        module = importlib.import_module(name)
        listed = getattr(module, "__all__", None) or [
            word for word, thing in vars(module).items()
            if not word.startswith("_") and getattr(thing, "__module__", "") == name]
        write(name, listed)


main()
