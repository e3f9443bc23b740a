"""Kernels as Cython: their statements stay as they are, and get the types that annotations mean.

Cython knows no named tuples of arrays, and its own arrays cannot stand in records. So arrays become
records of a pointer and lengths, named tuples become records, and elements are written as places
behind the pointer; all else is left to Cython. What is not understood is refused, not guessed.
"""

import ast
import textwrap
from collections.abc import Iterable
from types import ModuleType
from typing import Final, cast

from audit.kernels.compiled import MARK, name_of, plain
from audit.kernels.kinds import (
    ARRAYS,
    BOOL,
    BYTE,
    CASTS,
    FLOAT,
    INT,
    LINES,
    MATHS,
    RISING,
    WORD,
    Array,
    Kernel,
    Kind,
    Record,
    TranslationError,
    fields,
    number,
)

__all__ = ["TranslationError", "translated"]

LENGTHS: Final = ("rows", "columns", "layers")
SMALL: Final = 1 << 30  # greater constants Cython would take for objects

HEADER: Final = """\
# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True, cpow=True
cimport cython
from libc.math cimport NAN, copysign, exp, expm1, floor, isnan, log, pow, sin, sqrt
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from numpy import ascontiguousarray

SOURCES = {digest!r}

# Not int64_t: so the C compiler knows that writing elements leaves lengths alone.
ctypedef long long length


cdef inline int64_t floor_divide(int64_t a, int64_t b) noexcept nogil:
    return a // b - (a % b != 0 and (a < 0) != (b < 0))


cdef inline int64_t modulo(int64_t a, int64_t b) noexcept nogil:
    cdef int64_t rest = a % b
    return rest + b if rest != 0 and (rest < 0) != (b < 0) else rest

"""

CAST: Final = """\
cdef inline {to} {to}_of_{given}({given} value) noexcept nogil:
    return <{to}> value

"""

LARGE: Final = """\
cdef extern from *:
    \"\"\"
{defined}
    \"\"\"
{names}

"""

ARRAY: Final = """\
cdef struct {name}:
    {element} *at
{lengths}

cdef {name} as_{name}(object value) except *:
    cdef const {element}[{shape}] view = value{view}
    return {name}(<{element} *> &view[{first}], {sizes})


cdef {name} as_written_{name}(object value) except *:
    cdef {element}[{shape}] view = value{view}
    return {name}(&view[{first}], {sizes})

"""

LINE: Final = """\
cdef inline void fill_{name}({name} array, {element} value) noexcept nogil:
    cdef length i
    for i in range(array.rows):
        array.at[i] = value


cdef inline {name} part_of_{name}({name} array, int64_t begin, int64_t end) noexcept nogil:
    return {name}(array.at + begin, end - begin)

"""

TABLE: Final = """\
cdef inline {line} row_of_{name}({name} array, int64_t row) noexcept nogil:
    return {line}(array.at + row * array.columns, array.columns)

"""

UNDERSTOOD: Final = (
    *(ast.arguments, ast.operator, ast.cmpop, ast.boolop, ast.unaryop, ast.expr_context),
    *(ast.Return, ast.AugAssign, ast.While, ast.If, ast.Pass, ast.Break, ast.Continue),
    *(ast.BoolOp, ast.UnaryOp, ast.Compare, ast.IfExp, ast.Constant, ast.Tuple),
)
"""What is left to Cython as it is, beside what ``_Body`` has a method for."""


def translated(modules: Iterable[ModuleType], digest: str) -> str:
    """The kernels of ``modules`` as one module of Cython.

    Those that Python calls are called there as ``name_of`` says; ``SOURCES`` holds ``digest``.

    Raises:
        TranslationError: a kernel uses what has no translation.
    """
    kernels = [
        Kernel(plain(value))
        for module in modules
        for value in vars(module).values()
        if hasattr(plain(value), MARK) and plain(value).__module__ == module.__name__
    ]
    records: dict[str, type] = {}
    for kernel in kernels:
        for kind in kernel.arguments.values():
            _collect(kind, records)
    written = _written(kernels)
    bodies = [_Body(each) for each in kernels]
    functions = [f"{_signature(each.kernel)}\n{each.text()}\n" for each in bodies]
    large = {name: value for each in bodies for name, value in each.large.items()}
    return "\n".join(
        [
            HEADER.format(digest=digest),
            *(CAST.format(to=to, given=given) for to in (INT, WORD, FLOAT) for given in RISING),
            LARGE.format(
                defined="\n".join(f"    #define {name} {large[name]}LL" for name in large),
                names="\n".join(f"    const int64_t {name}" for name in large) or "    pass",
            ),
            *(_array(each) for each in dict.fromkeys(ARRAYS.values())),
            *(_record(each) for each in records.values()),
            *functions,
            *(_entry(each, written[each.name]) for each in kernels if each.entry),
        ]
    )


def _collect(kind: Kind, records: dict[str, type]) -> None:
    """Adds the named tuples that a kind is made of, inner ones first."""
    if isinstance(kind, Record):
        for each in fields(kind.python).values():
            _collect(each, records)
        records[kind.name] = kind.python


def _c_type(kind: Kind | None) -> str:
    match kind:
        case None:
            return "void"
        case Array():
            return kind.name
        case Record():
            return f"{kind.name} *"
        case str():
            return kind
    return f"({', '.join(kind)})"


def _array(array: Array) -> str:
    """A kind of array, and how it is made of what Python gives."""
    dimensions = array.dimensions
    text = ARRAY + {1: LINE, 2: TABLE}.get(dimensions, "")
    return text.format(
        name=array.name,
        element=array.element,
        lengths="".join(f"    length {each}\n" for each in LENGTHS[:dimensions]),
        shape=", ".join([":"] * (dimensions - 1) + ["::1"]),
        first=", ".join(["0"] * dimensions),
        sizes=", ".join(f"view.shape[{each}]" for each in range(dimensions)),
        view=".view('u1')" if array.element == BYTE else "",
        line=LINES[array.element, 1].name,
    )


def _record(record: type) -> str:
    """A kind of record, and how it is filled with what a named tuple holds."""
    name = name_of(record)
    lines = [f"cdef struct {name}:"]
    filling = [f"cdef int fill_{name}({name} *out, object value) except -1:"]
    for field, kind in fields(record).items():
        inner = kind.name if isinstance(kind, Record) else _c_type(kind)
        lines.append(f"    {inner} {field}")
        if isinstance(kind, Record):
            filling.append(f"    fill_{inner}(&out.{field}, value.{field})")
        elif isinstance(kind, Array):
            filling.append(f"    out.{field} = as_{inner}(value.{field})")
        else:
            filling.append(f"    out.{field} = value.{field}")
    return "\n".join([*lines, "", "", *filling, "    return 0", "", ""])


def _signature(kernel: Kernel) -> str:
    arguments = ", ".join(f"{_c_type(kind)} {name}" for name, kind in kernel.arguments.items())
    return f"cdef {_c_type(kernel.returns)} _{kernel.name}({arguments}) noexcept nogil:"


def _entry(kernel: Kernel, written: set[str]) -> str:
    """What Python calls: it looks at what it is given, and lets other threads run meanwhile."""
    taken, lines, given = [], [], []
    for name, kind in kernel.arguments.items():
        if isinstance(kind, str):
            taken.append(f"{kind} {name}")
            given.append(name)
            continue
        taken.append(name)
        if isinstance(kind, Array):
            how = "as_written"
            if name not in written:
                how = "as"
                lines.append(f"    {name} = ascontiguousarray({name})")
            lines.append(f"    cdef {kind.name} {name}_ = {how}_{kind.name}({name})")
            given.append(f"{name}_")
        elif isinstance(kind, Record):
            lines.append(f"    cdef {kind.name} {name}_")
            lines.append(f"    fill_{kind.name}(&{name}_, {name})")
            given.append(f"&{name}_")
    call = f"_{kernel.name}({', '.join(given)})"
    if kernel.returns is not None:
        lines.append(f"    cdef {_c_type(kernel.returns)} result")
        call = f"result = {call}"
    lines += ["    with nogil:", f"        {call}"]
    if kernel.returns is not None:
        lines.append("    return result")
    return "\n".join([f"def {kernel.name}({', '.join(taken)}):", *lines, "", ""])


def _written(kernels: list[Kernel]) -> dict[str, set[str]]:
    """The arguments of each kernel into which it, or one that it calls, writes."""
    written: dict[str, set[str]] = {each.name: set() for each in kernels}
    arguments = {each.name: list(each.arguments) for each in kernels}
    learning = True
    while learning:
        before = {name: set(each) for name, each in written.items()}
        for kernel in kernels:
            own = written[kernel.name]
            sources: dict[str, set[str]] = {}  # of local arrays: what they may be part of
            for node in ast.walk(kernel.tree):
                match node:
                    case ast.Assign(targets=[ast.Name(id=name)], value=value):
                        sources.setdefault(name, set()).add(_root(value))
                    case ast.Assign(targets=[ast.Tuple(targets)], value=ast.Tuple(values)):
                        for target, value in zip(targets, values, strict=True):
                            sources.setdefault(_root(target), set()).add(_root(value))
                    case ast.Subscript(ctx=ast.Store()):
                        own.add(_root(node))
                    case ast.Call(func=ast.Name(id=name)) if hasattr(kernel.meant(name), MARK):
                        called = name_of(kernel.meant(name))
                        given = zip(arguments[called], node.args, strict=True)
                        own.update(_root(each) for name, each in given if name in written[called])
            own.update(*(sources[name] for name in own & sources.keys()))
        learning = written != before
    return written


def _root(node: ast.AST) -> str:
    """The name that a place is part of."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


class _Body(ast.NodeTransformer):
    """The statements of a kernel, as Cython writes them."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.made: dict[str, str] = {}
        """Records that the kernel makes: where each lives, and its kind."""
        self.large: dict[str, int] = {}
        """Constants beyond ``SMALL``, by the name that each has."""

    def text(self) -> str:
        """The declarations of what is local, and the statements."""
        body = self.kernel.tree.body
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            body = body[1:]  # what it says of itself
        statements = ast.unparse(ast.Module([each for one in body for each in self._all(one)], []))
        declared = [
            f"cdef {_c_type(kind)} {name}"
            for name, kind in self.kernel.locals.items()
            if name not in self.kernel.arguments
        ]
        declared += [f"cdef {kind} {name}" for name, kind in self.made.items()]
        return textwrap.indent("\n".join([*declared, statements]), "    ")

    def _all(self, statement: ast.stmt) -> list[ast.stmt]:
        """What becomes of a statement."""
        became = self.visit(statement)
        return became if isinstance(became, list) else [became]

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Leaves to Cython what it writes as Python does."""
        if not isinstance(node, UNDERSTOOD):
            raise self.kernel.refused(node, f"{type(node).__name__} is not understood")
        return super().generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """A local name, or a constant's value."""
        if node.id in self.kernel.locals or isinstance(node.ctx, ast.Store):
            return node
        value = number(self.kernel.meant(node.id))
        if value is None:
            raise self.kernel.refused(node, f"{node.id} is neither local nor a number")
        if isinstance(value, int) and abs(value) > SMALL:
            name = f"large_{'minus_' * (value < 0)}{abs(value)}"
            self.large[name] = value
            return ast.Name(name)
        return ast.Constant(value)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """What a record holds."""
        if ast.unparse(node) == "np.nan":
            return ast.Name("NAN")
        return ast.Attribute(self.visit(node.value), node.attr)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """An element, a row or a part of an array, or one of its lengths."""
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            axis = ast.literal_eval(node.slice)
            return ast.Attribute(self.visit(node.value.value), LENGTHS[axis])
        kind = self.kernel.kind(node.value)
        if not isinstance(kind, Array):
            raise self.kernel.refused(node, f"{ast.unparse(node.value)} is no array")
        array = self.visit(node.value)
        if isinstance(node.slice, ast.Slice):
            if node.slice.lower is None or node.slice.upper is None or kind.dimensions > 1:
                raise self.kernel.refused(node, "parts are of one dimension, with both their ends")
            ends = self.visit(node.slice.lower), self.visit(node.slice.upper)
            return _call(f"part_of_{kind.name}", array, *ends)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if any(isinstance(each, ast.UnaryOp) for each in parts):
            raise self.kernel.refused(node, "places are counted from the beginning")
        place, *others = [self.visit(each) for each in parts]
        if kind.dimensions == 2 and not others:
            return _call(f"row_of_{kind.name}", array, place)
        if len(parts) != kind.dimensions:
            raise self.kernel.refused(node, f"{kind.name} has {kind.dimensions} dimensions")
        for length, each in zip(LENGTHS[1:], others, strict=False):
            row = ast.BinOp(place, ast.Mult(), ast.Attribute(array, length))
            place = ast.BinOp(row, ast.Add(), each)
        return ast.Subscript(ast.Attribute(array, "at"), place, node.ctx)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """What C does otherwise than Python has a name of its own."""
        left, right = self.visit(node.left), self.visit(node.right)
        match node.op:
            case ast.Div():
                kind = self.kernel.kind(node.left)
                return ast.BinOp(_call(f"{FLOAT}_of_{kind}", left), node.op, right)
            case ast.FloorDiv():
                return _call("floor_divide", left, right)
            case ast.Mod():
                return _call("modulo", left, right)
            case ast.Pow():
                return _call("pow", left, right)
        return ast.BinOp(left, node.op, right)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Another kernel, or one of the few functions that C knows."""
        arguments = [self._given(each) for each in node.args]
        match node.func:
            case ast.Name(id="min" | "max" | "abs" | "range"):
                return ast.Call(node.func, arguments, [])
            case ast.Name(id="len"):
                return ast.Attribute(arguments[0], LENGTHS[0])
            case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="np"), attr=name) if (
                name in CASTS
            ):
                if CASTS[name] == BOOL:
                    return ast.Compare(arguments[0], [ast.NotEq()], [ast.Constant(0)])
                return _call(f"{CASTS[name]}_of_{self.kernel.kind(node.args[0])}", *arguments)
            case ast.Attribute(value=ast.Name(id="math"), attr=name) if name in MATHS:
                return _call(name, *arguments)
            case ast.Name(id=name) if hasattr(self.kernel.meant(name), MARK):
                return _call(f"_{name_of(self.kernel.meant(name))}", *arguments)
        raise self.kernel.refused(node, f"{ast.unparse(node.func)} is no kernel")

    def _given(self, node: ast.expr) -> ast.expr:
        """A value; for a record, where it is."""
        given: ast.expr = self.visit(node)
        is_inside = isinstance(node, ast.Attribute)
        if is_inside and isinstance(self.kernel.kind(node), Record):
            return _call("cython.address", given)
        return given

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        """A value gets a name or a place, or several do, or all elements get one."""
        [target] = node.targets
        if isinstance(target, ast.Tuple):
            return self._unpack(target, node.value)
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice):
            kind = self.kernel.kind(target.value)
            whole = target.slice.lower is None and target.slice.upper is None
            if not (whole and isinstance(kind, Array) and kind.dimensions == 1):
                raise self.kernel.refused(node, "only the whole of one dimension is filled")
            filled = _call(f"fill_{kind.name}", self.visit(target.value), self.visit(node.value))
            return [ast.Expr(filled)]
        return self._set(self.visit(target), node.value)

    def _set(self, target: ast.expr, value: ast.expr) -> list[ast.stmt]:
        """Gives a value to a target; a record that is made here gets a place to live first."""
        kind = self.kernel.kind(value)
        if not (isinstance(kind, Record) and isinstance(value, ast.Call)):
            return [_assign(target, self._given(value))]
        place = f"{ast.unparse(target)}_made"
        self.made[place] = kind.name
        filled = []
        for (name, inner), each in zip(fields(kind.python).items(), value.args, strict=True):
            given = self.visit(each)
            if isinstance(inner, Record) and isinstance(each, ast.Name):
                given = ast.Subscript(given, ast.Constant(0))  # what is where the name says
            filled.append(_assign(ast.Attribute(ast.Name(place), name), given))
        return [*filled, _assign(target, _call("cython.address", ast.Name(place)))]

    def _unpack(self, targets: ast.Tuple, value: ast.expr) -> list[ast.stmt]:
        """Gives each of several targets its part of a value."""
        kind = None if isinstance(value, ast.Tuple) else self.kernel.kind(value)
        if isinstance(kind, Record):
            parts: list[ast.expr] = [ast.Attribute(value, name) for name in fields(kind.python)]
        elif isinstance(value, ast.Tuple) and not _names(targets) & _names(value):
            parts = value.elts
        else:  # a kernel's result, or names that change places
            return [_assign(self.visit(targets), self.visit(value))]
        return [
            statement
            for target, part in zip(targets.elts, parts, strict=True)
            if ast.unparse(target) != "_"
            for statement in self._set(self.visit(target), part)
        ]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        """As an assignment; the annotation has been heeded."""
        return _assign(self.visit(node.target), self.visit(cast(ast.expr, node.value)))

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        """A call that gives nothing."""
        return ast.Expr(self.visit(node.value))

    def visit_For(self, node: ast.For) -> ast.AST:
        """A loop over a range of numbers."""
        is_range = isinstance(node.iter, ast.Call) and ast.unparse(node.iter.func) == "range"
        if not is_range or node.orelse:
            raise self.kernel.refused(node, "loops run over a range, and have no else")
        return super().generic_visit(node)


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _call(name: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(ast.parse(name, mode="eval").body, list(arguments), [])


def _assign(target: ast.expr, value: ast.expr) -> ast.stmt:
    return ast.Assign([target], value, lineno=0)
