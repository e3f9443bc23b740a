"""What the names in a kernel mean: numbers, arrays or records, as its annotations say."""

import ast
import inspect
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, cast

from audit.kernels import arrays
from audit.kernels.compiled import ENTRY, MARK, name_of, plain


class TranslationError(Exception):
    """A kernel says what cannot be translated; file and line are named."""


class Array(NamedTuple):
    """A kind of array: a record of ``at``, where its first element is, and of its lengths."""

    name: str
    element: str
    dimensions: int


class Record(NamedTuple):
    """A kind of named tuple; kernels pass on where it is."""

    name: str
    python: type


INT: Final = "int64_t"
FLOAT: Final = "double"
BOOL: Final = "bint"
BYTE: Final = "uint8_t"  # of arrays of bool, and of small counts
CODE: Final = "uint32_t"
WORD: Final = "uint64_t"
RISING: Final = (BOOL, BYTE, CODE, INT, WORD, FLOAT)
"""Of two kinds of number, the one that comes later holds both."""

Kind = str | Array | Record | tuple[str, ...]
"""Of a value: a number, an array, a record, or numbers that are returned together."""

SCALARS: Final[dict[Any, str]] = {int: INT, float: FLOAT, bool: BOOL}
ARRAYS: Final[dict[Any, Array]] = {
    arrays.Ints: Array("Ints", INT, 1),
    arrays.IntTable: Array("IntTable", INT, 2),
    arrays.IntCube: Array("IntCube", INT, 3),
    arrays.Floats: Array("Floats", FLOAT, 1),
    arrays.FloatTable: Array("FloatTable", FLOAT, 2),
    arrays.Bools: Array("Bytes", BYTE, 1),
    arrays.BoolTable: Array("ByteTable", BYTE, 2),
    arrays.Counts: Array("Bytes", BYTE, 1),
    arrays.CountTable: Array("ByteTable", BYTE, 2),
    arrays.Codes: Array("Codes", CODE, 1),
    arrays.Words: Array("Words", WORD, 1),
}
LINES: Final = {(each.element, each.dimensions): each for each in ARRAYS.values()}
MATHS: Final = {
    **dict.fromkeys(("copysign", "exp", "expm1", "floor", "log", "sin", "sqrt"), FLOAT),
    "isnan": BOOL,
}
"""Functions of ``math`` that kernels may call, and what they give."""
CASTS: Final = {"int": INT, "float": FLOAT, "bool": BOOL, "int64": INT, "uint64": WORD}
"""What makes one kind of number of another; the last two are numpy's."""


def kind_of(annotation: Any) -> Kind:
    """What an annotation means.

    Raises:
        KeyError: nothing that kernels may hold.
    """
    if isinstance(annotation, type) and hasattr(annotation, "_fields"):
        return Record(name_of(annotation), annotation)
    if getattr(annotation, "__origin__", None) is tuple:
        return tuple(SCALARS[each] for each in annotation.__args__)
    return ARRAYS[annotation] if annotation in ARRAYS else SCALARS[annotation]


def fields(record: type) -> dict[str, Kind]:
    """The kinds of a named tuple's fields, in their order."""
    return {name: kind_of(each) for name, each in inspect.get_annotations(record).items()}


class Kernel:
    """One kernel: its Python, and the kinds of all that its names mean."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.name = name_of(function)
        self.namespace: dict[str, Any] = function.__globals__
        lines, self.first_line = inspect.getsourcelines(function)
        [tree] = ast.parse(textwrap.dedent("".join(lines))).body
        self.tree = cast(ast.FunctionDef, tree)
        annotations = inspect.get_annotations(function)
        self.returns: Kind | None = None
        try:
            if annotations["return"] is not None:
                self.returns = kind_of(annotations.pop("return"))
            annotations.pop("return", None)
            self.arguments = {name: kind_of(each) for name, each in annotations.items()}
        except (KeyError, TypeError) as error:
            raise self.refused(tree, f"an annotation of no known kind: {error}") from error
        self.locals: dict[str, Kind] = dict(self.arguments)
        while self._learn():
            pass

    @property
    def entry(self) -> bool:
        """Whether Python calls it."""
        return getattr(self.function, MARK) is ENTRY

    def refused(self, node: ast.AST, why: str) -> TranslationError:
        """Says where what cannot be translated stands."""
        line = self.first_line + getattr(node, "lineno", 1) - 1
        return TranslationError(f"{inspect.getsourcefile(self.function)}:{line}: {why}")

    def _learn(self) -> bool:
        """Learns the kinds of names from what they are given; whether any was new."""
        before = dict(self.locals)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Assign):
                self._bind(node.targets[0], node.value)
            elif isinstance(node, ast.AnnAssign):
                assert isinstance(node.target, ast.Name)
                self.locals[node.target.id] = CASTS[ast.unparse(node.annotation)]
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                self._widen(node.target.id, self.kind(ast.BinOp(node.target, node.op, node.value)))
            elif isinstance(node, ast.For) and isinstance(node.target, ast.Name):
                self.locals[node.target.id] = INT
        return self.locals != before

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple):
            for name, kind in zip(target.elts, self.parts(value, len(target.elts)), strict=True):
                if isinstance(name, ast.Name) and name.id != "_":
                    self._widen(name.id, kind)
        elif isinstance(target, ast.Name):
            self._widen(target.id, self.kind(value))

    def _widen(self, name: str, kind: Kind | None) -> None:
        known = self.locals.get(name)
        if isinstance(known, str) and isinstance(kind, str):
            kind = max(known, kind, key=RISING.index)
        if kind is not None:
            self.locals[name] = kind

    def parts(self, value: ast.expr, count: int) -> list[Kind | None]:
        """The kinds of what is unpacked."""
        if isinstance(value, ast.Tuple):
            return [self.kind(each) for each in value.elts]
        kind = self.kind(value)
        match kind:
            case Record():
                return list(fields(kind.python).values())
            case None | str() | Array():
                return [None] * count
        return list(kind)

    def meant(self, name: str) -> Any:
        """What a name that is not local means in its module."""
        return plain(self.namespace[name]) if name in self.namespace else None

    def kind(self, node: ast.expr) -> Kind | None:  # noqa: PLR0911
        """The kind of a value; None: not known yet."""
        match node:
            case ast.Constant(value=value):
                return SCALARS[type(value)]
            case ast.Name(id=name):
                known = self.locals.get(name)
                return known or SCALARS.get(type(number(self.meant(name))))
            case ast.Attribute(value=ast.Name(id="np" | "math")):
                return FLOAT
            case ast.Attribute(value=base, attr=attribute):
                record = self.kind(base)
                return fields(record.python)[attribute] if isinstance(record, Record) else None
            case ast.Subscript(value=base, slice=index):
                return self._element(self.kind(base), index)
            case ast.Compare() | ast.UnaryOp(op=ast.Not()):
                return BOOL
            case ast.UnaryOp(operand=operand):
                inner = self.kind(operand)
                return INT if inner == BOOL else inner
            case ast.BinOp(op=ast.Div() | ast.Pow()):
                return FLOAT
            case ast.BinOp(left=left, op=op, right=right):
                wide = self._widest([left, right])
                logical = isinstance(op, ast.BitOr | ast.BitAnd)
                return INT if wide in (BOOL, BYTE) and not logical else wide
            case ast.BoolOp(values=values):
                return self._widest(values)
            case ast.IfExp(body=one, orelse=other):
                return self._widest([one, other])
            case ast.Call():
                return self._result(node)
        raise self.refused(node, f"{type(node).__name__} is not understood")

    def _widest(self, nodes: Sequence[ast.expr]) -> str | None:
        kinds = [self.kind(each) for each in nodes]
        numbers = [each for each in kinds if isinstance(each, str)]
        return max(numbers, key=RISING.index) if numbers else None

    def _element(self, base: Kind | None, index: ast.expr) -> Kind | None:
        if not isinstance(base, Array):
            return INT  # a length
        if isinstance(index, ast.Slice):
            return base
        if base.dimensions == (len(index.elts) if isinstance(index, ast.Tuple) else 1):
            return base.element
        return LINES[base.element, 1]

    def _result(self, node: ast.Call) -> Kind | None:
        match node.func:
            case ast.Name(id="min" | "max" | "abs"):
                return self._widest(node.args)
            case ast.Name(id="len"):
                return INT
            case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="np"), attr=name) if (
                name in CASTS
            ):
                return CASTS[name]
            case ast.Attribute(value=ast.Name(id="math"), attr=name) if name in MATHS:
                return MATHS[name]
            case ast.Name(id=name):
                meant = self.meant(name)
                if hasattr(meant, MARK):
                    annotation = inspect.get_annotations(meant)["return"]
                    return None if annotation is None else kind_of(annotation)
                if hasattr(meant, "_fields"):
                    return kind_of(meant)
        raise self.refused(node, f"{ast.unparse(node.func)} is no kernel")


def number(value: Any) -> int | float | bool | None:
    """A constant as Python holds it."""
    if hasattr(value, "dtype") and hasattr(value, "item"):
        value = value.item()
    return value if isinstance(value, int | float | bool) else None
