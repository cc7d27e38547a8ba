r"""A small parser of our own for single mathematical expressions.

It reads canonical text (LaTeX or plain source syntax) into a tree of tuples and evaluates nothing while reading. The
tree serves exact numbers in the rules, the static guard, and a numeric check apart from the symbolic library. What it
does not know (sums, integrals, prose, ambiguous division) is `NotAnExpression`, never a guess.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import Any

Node = tuple[Any, ...]
"""('num', Fraction) ('var', name) ('const', 'pi'|'e'|'i') (op, node, ...) with op in OPERATORS, ('fn', name, node)."""

OPERATORS = ("add", "mul", "div", "pow", "neg", "fact", "deg", "binom", "abs", "log")

MAX_TOKENS = 250
MAX_DEPTH = 24

FUNCTIONS = {
    name: name
    for name in (
        "sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "ln", "exp",
    )
} | {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}  # fmt: skip
_INVERSE = {"sin": "arcsin", "cos": "arccos", "tan": "arctan"}
_GREEK_NAMES = (
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi rho sigma tau upsilon"
    " phi varphi chi psi omega Gamma Delta Theta Lambda Xi Sigma Phi Psi Omega"
)
GREEK = frozenset(_GREEK_NAMES.split())

_TOKEN = re.compile(
    r"\s*(?:(?P<num>[1-9]\d{0,2}(?:,\d{3})+(?![\d,])(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)|(?P<cmd>\\[a-zA-Z]+)"
    r"|(?P<word>[a-zA-Z]+)|(?P<op>\*\*|[-+*/^_!(){}\[\]|°]))"
)


class NotAnExpression(ValueError):
    """The text is not one expression that this parser knows."""


def parse(text: str) -> Node:
    """Parse canonical text into a tree.

    Raises:
        NotAnExpression: unknown command, word, relation, unbalanced bracket, too many tokens or too deep.
    """
    node, problem = _read(text)
    if node is None:
        raise NotAnExpression(problem)
    return node


@lru_cache(maxsize=4096)
def _read(text: str) -> tuple[Node | None, str]:
    """Tree, or what is wrong: several rules ask for the same text, and every rollout of a group for its reference."""
    try:
        return _Parser(_tokens(text)).whole(), ""
    except NotAnExpression as error:
        return None, str(error)


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens: list[tuple[str, str]] = []
    position, end = 0, len(text.rstrip())
    for match in _TOKEN.finditer(text, 0, end):
        if match.start() != position:
            break
        if len(tokens) >= MAX_TOKENS:
            raise NotAnExpression("too long")
        kind = match.lastgroup or ""
        value = match[kind]
        position = match.end()
        if kind == "num" and len(value) > 1000:
            raise NotAnExpression("number too long")
        if kind == "word":
            tokens.extend(_word_tokens(value))
        elif kind == "cmd":
            tokens.append(("cmd", value[1:]))
        elif kind == "num":
            tokens.append(("num", value.replace(",", "")))
        else:
            tokens.append((kind, "^" if value == "**" else value))
    if position < end:
        raise NotAnExpression(f"character {text[position]!r}")
    return tokens


def _word_tokens(word: str) -> list[tuple[str, str]]:
    """'sin' is a function, 'pi' a constant, 'ab' a product of two variables, 'banana' not mathematics."""
    if word in FUNCTIONS or word in ("sqrt", "pi", "log") or word in GREEK:
        return [("cmd", word)]
    if word.startswith("pi") and len(word) == 3:
        return [("cmd", "pi"), ("letter", word[2])]
    if len(word) > 3:
        raise NotAnExpression(f"word {word!r}")
    return [("letter", letter) for letter in word]


@lru_cache(maxsize=1024)
def _number(value: str) -> Node:
    return ("num", Fraction(value) if "." in value else Fraction(int(value)))


_END = ("end", "")


class _Parser:
    """Recursive descent: sum > product > sign > power > atom."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self.tokens = [*tokens, _END]
        self.at = 0
        self.depth = 0

    def whole(self) -> Node:
        node = self.sum()
        if self.peek() is not _END:
            raise NotAnExpression(f"unexpected {self.peek()[1]!r}")
        return node

    def peek(self) -> tuple[str, str]:
        return self.tokens[self.at]

    def take(self) -> tuple[str, str]:
        token = self.tokens[self.at]
        if token is _END:
            raise NotAnExpression("unexpected end")
        self.at += 1
        return token

    def accept(self, value: str) -> bool:
        kind, found = self.tokens[self.at]
        if found == value and kind == "op":
            self.at += 1
            return True
        return False

    def at_sign(self) -> bool:
        kind, found = self.tokens[self.at]
        return kind == "op" and (found == "+" or found == "-")

    def expect(self, value: str) -> None:
        if not self.accept(value):
            raise NotAnExpression(f"expected {value!r}, found {self.peek()[1]!r}")

    def sum(self) -> Node:
        node = self.product()
        while self.at_sign():
            sign = self.take()[1]
            term = self.product()
            node = ("add", node, term if sign == "+" else ("neg", term))
        return node

    def product(self) -> Node:
        node = self.signed()
        divided = False
        while True:
            if self.accept("*"):
                node, divided = ("mul", node, self.signed()), False
            elif self.accept("/"):
                node, divided = ("div", node, self.signed()), True
            elif self.starts_atom():
                if divided:
                    raise NotAnExpression("ambiguous division: a/bc")
                if self.peek()[0] == "num":
                    raise NotAnExpression("a number after a factor without a sign")
                node = ("mul", node, self.power())
            else:
                return node

    def signed(self) -> Node:
        negative = False
        while self.at_sign():
            negative ^= self.take()[1] == "-"
        node = self.power()
        return ("neg", node) if negative else node

    def starts_atom(self) -> bool:
        kind, value = self.peek()
        return kind in ("num", "cmd", "letter") or (kind == "op" and value in "({")

    def power(self) -> Node:
        node = self.atom()
        while True:
            if self.accept("!"):
                if node[0] == "num" and node[1].denominator != 1:
                    raise NotAnExpression("factorial of a fraction, or an exclamation mark")
                node = ("fact", node)
            elif self.accept("°"):
                node = ("deg", node)
            elif self.accept("^"):
                return self.postfix(("pow", node, self.exponent()))
            else:
                return node

    def postfix(self, node: Node) -> Node:
        while self.accept("!"):
            node = ("fact", node)
        if self.peek() == ("op", "^"):
            raise NotAnExpression("double exponent")
        return node

    def exponent(self) -> Node:
        if self.at_sign():
            return self.signed_atom()
        if self.accept("{"):
            node = self.sum()
            self.expect("}")
            return node
        return self.atom()

    def signed_atom(self) -> Node:
        sign = self.take()[1]
        node = self.group()
        return ("neg", node) if sign == "-" else node

    def group(self) -> Node:
        r"""A braced argument, or one token as in ``\sqrt 2``."""
        if self.accept("{"):
            node = self.sum()
            self.expect("}")
            return node
        return self.atom()

    def atom(self) -> Node:
        """Every nesting passes here, so the depth is counted here."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise NotAnExpression("nested too deep")
        node = self.inner_atom()
        self.depth -= 1
        return node

    def inner_atom(self) -> Node:
        kind, value = self.take()
        if kind == "num":
            return self.number(value)
        if kind == "letter":
            return self.letter(value)
        if kind == "cmd":
            return self.command(value)
        if kind == "op" and value in ("(", "{", "["):
            node = self.sum()
            self.expect({"(": ")", "{": "}", "[": "]"}[value])
            return node
        if kind == "op" and value == "|":
            node = self.sum()
            self.expect("|")
            return ("abs", node)
        raise NotAnExpression(f"unexpected {value!r}")

    def number(self, value: str) -> Node:
        if self.peek() == ("op", "_"):
            raise NotAnExpression("number in a base")
        node = _number(value)
        return self.mixed(node) if "." not in value and self.peek() == ("cmd", "frac") else node

    def mixed(self, whole: Node) -> Node:
        r"""``2\frac{1}{3}`` is 7/3; an integer before any other fraction is a product."""
        start = self.at
        self.take()
        top, bottom = self.group(), self.group()
        if top[0] == bottom[0] == "num" and 0 < top[1] < bottom[1] and top[1].denominator == bottom[1].denominator == 1:
            return ("num", whole[1] + top[1] / bottom[1])
        if top[0] == bottom[0] == "num":
            raise NotAnExpression("a whole number before an improper fraction")
        self.at = start
        return whole

    def letter(self, value: str) -> Node:
        if self.peek() == ("op", "_"):
            return ("var", value + self.subscript())
        if value in ("e", "i"):
            return ("const", value)
        return ("var", value)

    def subscript(self) -> str:
        self.expect("_")
        if not self.accept("{"):
            return "_" + self.take()[1]
        parts = []
        while not self.accept("}"):
            kind, value = self.take()
            if kind not in ("num", "letter"):
                raise NotAnExpression("subscript that is not a name")
            parts.append(value)
        return "_" + "".join(parts)

    def command(self, name: str) -> Node:
        if name in FUNCTIONS:
            return self.function(FUNCTIONS[name])
        if name == "pi":
            return ("const", "pi")
        if name in GREEK:
            return ("var", name + (self.subscript() if self.peek() == ("op", "_") else ""))
        if name == "frac":
            return ("div", self.group(), self.group())
        if name == "binom":
            return ("binom", self.group(), self.group())
        if name == "sqrt":
            return self.root()
        if name == "log":
            return self.logarithm()
        raise NotAnExpression(f"command {name!r}")

    def root(self) -> Node:
        degree: Node = ("num", Fraction(2))
        if self.accept("["):
            degree = self.sum()
            self.expect("]")
        return ("pow", self.group(), ("div", ("num", Fraction(1)), degree))

    def logarithm(self) -> Node:
        base: Node = ("num", Fraction(10))
        if self.accept("_"):
            base = self.group()
        return ("log", self.argument(), base)

    def function(self, name: str) -> Node:
        exponent = None
        if self.accept("^"):
            exponent = self.exponent()
        argument = self.argument()
        if exponent == ("neg", ("num", Fraction(1))):
            if name not in _INVERSE:
                raise NotAnExpression(f"inverse of {name}")
            return ("fn", _INVERSE[name], argument)
        node: Node = ("fn", name, argument)
        return node if exponent is None else ("pow", node, exponent)

    def argument(self) -> Node:
        r"""``\sin(x) y`` takes the bracket only; ``\sin 2x \cos x`` takes ``2x``."""
        if self.peek() in (("op", "("), ("op", "{")):
            node = self.atom()
            if self.peek() == ("op", "^"):
                raise NotAnExpression("ambiguous power of a function argument")
            return node
        node = self.power()
        while self.starts_atom() and not self.starts_function():
            node = ("mul", node, self.power())
        return node

    def starts_function(self) -> bool:
        kind, value = self.peek()
        named = kind == "cmd" and (value in FUNCTIONS or value == "log")
        return named or (kind, value) == ("op", "(")


_LEAVES = ("num", "var", "const")


def walk(node: Node) -> list[Node]:
    """Every node of a tree, without recursion: a long sum is a deep tree."""
    found = [node]
    for current in found:
        if current[0] not in _LEAVES:
            found += [child for child in current[1:] if type(child) is tuple]
    return found


def variables(node: Node) -> set[str]:
    """Names of the free variables."""
    return {found[1] for found in walk(node) if found[0] == "var"}
