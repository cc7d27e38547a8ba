r"""Generated rows like those of MATH: numbers, radicals, expressions, lists, intervals, matrices in LaTeX."""

from __future__ import annotations

import math
import random
from fractions import Fraction

from benchmarks.verifier_cases import Drawn, Family

_SQUAREFREE = (2, 3, 5, 6, 7, 10, 11, 13, 14, 15)


def frac(value: Fraction, command: str = "frac") -> str:
    r"""``-\frac{3}{4}``; an integer stays an integer."""
    if value.denominator == 1:
        return str(value.numerator)
    return f"{'-' if value < 0 else ''}\\{command}{{{abs(value.numerator)}}}{{{value.denominator}}}"


def decimal(units: int, places: int) -> str:
    """units / 10**places written with exactly that many decimals."""
    digits = f"{abs(units):0{places + 1}d}"
    text = f"{digits[:-places]}.{digits[-places:]}" if places else digits
    return f"-{text}" if units < 0 else text


def _proper(rng: random.Random) -> Fraction:
    while True:
        value = Fraction(rng.randint(-40, 60), rng.randint(2, 30))
        if value.denominator > 1:
            return value


def integer(rng: random.Random) -> Drawn:
    n = rng.choice([rng.randint(0, 20), rng.randint(-99, 999), rng.randint(1000, 10**6), rng.randint(1, 10**12)])
    a = rng.randint(2, 9)
    plain = (str(n),) * 6
    right = (
        f"x = {n}", rf"\text{{{n}}}", f"{n}.", f"{n:,}", f"{n:,}".replace(",", "{,}"), rf"\frac{{{a * n}}}{{{a}}}",
        f"{n - a}+{a}", rf"\mathbf{{{n}}}", f"{n}.0", f" {n} ", rf"\boxed{{{n}}}",
    )  # fmt: skip
    others = {n + 1, n - 1, -n, 10 * n, n + 10, 2 * n, n + a} - {n}
    wrong = (*map(str, sorted(others)), rf"{n} \text{{ or }} {n + 1}", f"{n}, {n + a}", f"x = {n + 1}")
    return Drawn("integer", str(n), plain + right, wrong)


def product(rng: random.Random) -> Drawn:
    a, b, c = rng.randint(2, 40), rng.randint(2, 40), rng.randint(1, 50)
    right = (rf"{a} \times {b} + {c}", rf"{a}\cdot{b}+{c}", f"{c} + {b}*{a}", str(a * b + c), rf"{a} \times {b} + {c}.")
    wrong = (rf"{a} \times {b} - {c}", rf"{a} \times {b + 1} + {c}", str(a * b - c), str(a * b + c + 1))
    return Drawn("integer", str(a * b + c), right, wrong)


def fraction(rng: random.Random) -> Drawn:
    value = _proper(rng)
    top, bottom, k = abs(value.numerator), value.denominator, rng.randint(2, 9)
    sign = "-" if value < 0 else ""
    right = [
        frac(value), frac(value), frac(value, "dfrac"), frac(value, "tfrac"), f"{sign}{top}/{bottom}",
        rf"{sign}\frac{{{k * top}}}{{{k * bottom}}}", rf"\frac{{{value.numerator}}}{{{bottom}}}", f"x = {frac(value)}",
        rf"\left({frac(value)}\right)", f"${frac(value)}$",
    ]  # fmt: skip
    if top < 10 and bottom < 10:
        right.append(rf"{sign}\frac{top}{bottom}" if rng.random() < 0.5 else rf"{sign}\frac {top} {bottom}")
    if top > bottom:
        right.append(rf"{sign}{top // bottom}\frac{{{top % bottom}}}{{{bottom}}}")
    places = next((p for p in range(1, 7) if 10**p % bottom == 0), 0)
    units = value * 10**places
    if places:
        right.append(decimal(int(units), places))
    others = {-value, value + 1, value + Fraction(1, bottom), Fraction(bottom, top), Fraction(top, bottom + 1)}
    wrong = [frac(other) for other in sorted(others) if other != value and abs(other - value) > Fraction(1, 2)]
    wrong += [frac(other) for other in sorted(others) if other != value and other.denominator > 1]
    if places:
        wrong.append(decimal(int(units) + 1, places))
    reference = rng.choice([frac(value), frac(value), frac(value, "dfrac"), f"{sign}{top}/{bottom}"])
    return Drawn("fraction", reference, tuple(right), tuple(wrong))


def rounded(rng: random.Random) -> Drawn:
    places, units = rng.randint(1, 4), rng.choice([-1, 1]) * rng.randint(11, 99999)
    side = 1 if units > 0 else -1
    more = decimal(units * 100 + side * rng.randint(1, 49), places + 2)
    right = [decimal(units, places)] * 4 + [decimal(units * 10, places + 1), more, more, f"x = {more}"]
    right.append(frac(Fraction(units, 10**places)))
    if abs(units) < 10**places:
        right.append(decimal(units, places).replace("0.", ".", 1))
    beyond = side * rng.choice([rng.randint(60, 99), -rng.randint(60, 99), rng.randint(120, 900)])
    wrong = [
        decimal(units + rng.randint(2, 60), places), decimal(-units, places), decimal(units * 10, places),
        decimal(units * 100 + beyond, places + 2),
    ]  # fmt: skip
    if (units + 3) % 10**places:  # an integer could be a coarser rounding, which stays unresolved (rule 3)
        wrong.append(frac(Fraction(units + 3, 10**places)))
    return Drawn("decimal", decimal(units, places), tuple(right), tuple(wrong))


def radical(rng: random.Random) -> Drawn:
    a, (b, other) = rng.randint(2, 15), rng.sample(_SQUAREFREE, 2)
    same = (rf"{a}\sqrt{{{b}}}", rf"{a} \sqrt {{{b}}}", rf"{a} \cdot \sqrt{{{b}}}", rf"x={a}\sqrt{{{b}}}")
    other_forms = (rf"\sqrt{{{a * a * b}}}", rf"\sqrt{{{b}}} \cdot {a}", rf"\frac{{{a * b}}}{{\sqrt{{{b}}}}}")
    wrong = [rf"{a + 1}\sqrt{{{b}}}", rf"{a}\sqrt{{{other}}}", rf"\sqrt{{{a * b}}}", str(a * b), rf"-{a}\sqrt{{{b}}}"]
    return Drawn("expression", same[0], (*same, *same, *other_forms), tuple(wrong))


def radical_fraction(rng: random.Random) -> Drawn:
    c, (b, other) = rng.choice([2, 3, 5, 7]), rng.sample(_SQUAREFREE, 2)
    a = rng.choice([n for n in range(2, 18) if math.gcd(n, c) == 1])
    reference = rf"\frac{{{a}\sqrt{{{b}}}}}{{{c}}}"
    right = (
        reference, reference, rf"\dfrac{{{a}\sqrt{{{b}}}}}{{{c}}}", rf"\frac{{{a}}}{{{c}}}\sqrt{{{b}}}",
        rf"\frac{{{2 * a}\sqrt{{{b}}}}}{{{2 * c}}}", rf"\frac{{{a * b}}}{{{c}\sqrt{{{b}}}}}",
    )  # fmt: skip
    wrong = (rf"\frac{{{c}\sqrt{{{b}}}}}{{{a}}}", rf"\frac{{{a}\sqrt{{{other}}}}}{{{c}}}", rf"{a}\sqrt{{{b}}}")
    return Drawn("expression", reference, right, wrong)


def multiple_of_pi(rng: random.Random) -> Drawn:
    p = rng.randint(2, 30)
    right = (rf"{p} \pi", rf"{p}\pi", rf"{p}\cdot\pi", f"{p}π", f"{p}*pi")
    return Drawn("expression", rf"{p}\pi", right, (rf"{p + 1}\pi", str(p), rf"-{p}\pi", rf"{p}\pi^2"))


def fraction_of_pi(rng: random.Random) -> Drawn:
    q = rng.randint(2, 12)
    p = rng.choice([n for n in range(1, 30) if math.gcd(n, q) == 1])
    right = (
        rf"\frac{{{p}\pi}}{{{q}}}", rf"\frac{{{p} \pi}}{{{q}}}", rf"\dfrac{{{p}\pi}}{{{q}}}",
        rf"\frac{{{p}}}{{{q}}}\pi", rf"{p}\pi/{q}",
    )  # fmt: skip
    wrong = (rf"\frac{{{p + q}\pi}}{{{q}}}", rf"\frac{{{p}\pi}}{{{q + 1}}}", rf"\frac{{{p}}}{{{q}\pi}}")
    return Drawn("expression", right[0], right, wrong)


def _polynomial(coefficients: list[int], variable: str, ascending: bool = False) -> str:
    """Coefficients by rising power."""
    terms = []
    for power, coefficient in enumerate(coefficients):
        if coefficient:
            name = "" if power == 0 else variable if power == 1 else f"{variable}^{power}"
            size = "" if abs(coefficient) == 1 and power else str(abs(coefficient))
            terms.append(("-" if coefficient < 0 else "+", size + name))
    text = "".join(sign + body for sign, body in (terms if ascending else terms[::-1]))
    return text.removeprefix("+") or "0"


def polynomial(rng: random.Random) -> Drawn:
    v, a, b = rng.choice("xynt"), rng.randint(-9, 9) or 3, rng.randint(-9, 9) or 5
    expanded = _polynomial([a * b, a + b, 1], v)
    factors = [f"({_polynomial([root, 1], v)})" for root in (a, b)]
    product_form = f"({_polynomial([a, 1], v)})^2" if a == b else "".join(factors)
    right = (
        expanded, expanded, "".join(factors), "".join(factors[::-1]), product_form, rf"{factors[0]} \cdot {factors[1]}",
        _polynomial([a * b, a + b, 1], v, ascending=True), f"{v}({_polynomial([a + b, 1], v)}){a * b:+d}",
    )  # fmt: skip
    wrong = (
        _polynomial([a * b + 1, a + b, 1], v), _polynomial([a * b, a + b + 2, 1], v),
        f"({_polynomial([a + 1, 1], v)}){factors[1]}", _polynomial([a * b, a + b, 2], v), f"{factors[0]}^3",
    )  # fmt: skip
    return Drawn("expression", rng.choice([expanded, product_form]), right, wrong)


def identity(rng: random.Random) -> Drawn:
    k, m = rng.randint(2, 6), rng.randint(3, 9)
    arguments = rng.choice(
        [
            (r"\sin^2 x", (r"1-\cos^2 x", r"(\sin x)^2", r"1 - \cos^{2}(x)"), (r"1+\cos^2 x", r"\cos^2 x", r"\sin x")),
            (rf"\sin {2 * k}x", (rf"2\sin({k}x)\cos({k}x)",), (rf"\sin({k}x)\cos({k}x)", rf"2\sin({k}x)")),
            (rf"2^{{n+{k}}}", (rf"{2**k} \cdot 2^n", rf"2^n \cdot 2^{k}"), (rf"2^{{n}}+{2**k}", rf"{k}\cdot 2^n")),
            (
                rf"\ln {k * m}",
                (rf"\ln {k} + \ln {m}", rf"\ln {m}+\ln {k}"),
                (rf"\ln {k + m}", rf"\ln {k} \cdot \ln {m}"),
            ),
            (
                rf"\frac{{1}}{{x+{k}}}",
                (rf"(x+{k})^{{-1}}", rf"\frac{{{m}}}{{{m}x+{k * m}}}"),
                (rf"\frac{{1}}{{x-{k}}}",),
            ),
            (rf"e^{{{k}x}}", (rf"(e^x)^{k}", rf"e^{{x}}\cdot e^{{{k - 1}x}}"), (rf"e^{{{k + 1}x}}", rf"{k}e^x")),
            (rf"\sqrt{{{m}}}+{k}", (rf"{k}+\sqrt{{{m}}}",), (rf"\sqrt{{{m + k}}}", rf"\sqrt{{{m + 1}}}+{k}")),
            (
                rf"\binom{{{m + 2}}}{{2}}",
                (str((m + 2) * (m + 1) // 2),),
                (str((m + 2) * (m + 1)), str((m + 2) * 2 + 99)),
            ),
        ]
    )
    reference, right, wrong = arguments
    return Drawn("expression", reference, (*right, reference), wrong)


def point(rng: random.Random) -> Drawn:
    a, b = rng.randint(-30, 30), Fraction(rng.randint(-30, 30), rng.choice([1, 1, 2, 5]))
    while a == b:
        a += 1
    tenths = decimal(int(b * 10), 1)
    right = (
        f"({a}, {frac(b)})",
        f"({a},{frac(b)})",
        rf"\left({a}, {frac(b)}\right)",
        f"({a}, {tenths})",
        f"( {a} , {frac(b)} )",
    )
    wrong = (f"({frac(b)}, {a})", f"({a + 1}, {frac(b)})", f"({a}, {frac(b + 1)})", f"({a}, {frac(b)}, 0)")
    return Drawn("tuple", f"({a}, {frac(b)})", right, wrong)


def solutions(rng: random.Random) -> Drawn:
    values = rng.sample(range(-40, 60), rng.randint(2, 4))
    shuffled = rng.sample(values, len(values))
    new = next(n for n in range(61, 99) if n not in values)
    braces, kind = rng.choice([("%s", "list"), (r"\{%s\}", "set")])
    bare, moved = ", ".join(map(str, values)), ", ".join(map(str, shuffled))
    right = (
        braces % bare,
        braces % moved,
        braces % moved.replace(" ", ""),
        moved,
        r" \text{ and } ".join(map(str, shuffled)),
    )
    wrong = (braces % f"{moved}, {new}", ", ".join(map(str, [new, *shuffled[1:]])), str(values[0]))
    return Drawn(kind, braces % bare, right, wrong)


def interval(rng: random.Random) -> Drawn:
    low = rng.randint(-30, 30)
    high = low + rng.randint(2, 30)
    left, right_bracket = rng.choice("(["), rng.choice(")]")
    signs = r"<" if left == "(" else r"\le", r"<" if right_bracket == ")" else r"\le"
    reference = f"{left}{low}, {high}{right_bracket}"
    flipped = f"{'[' if left == '(' else '('}{low}, {high}{right_bracket}"
    right = (reference, reference.replace(" ", ""), rf"{low} {signs[0]} x {signs[1]} {high}", rf"x \in {reference}")
    wrong = (flipped, f"{left}{low}, {high + 1}{right_bracket}", rf"{left}{low}, \infty)", rf"x {signs[0]} {high}")
    return Drawn("interval", reference, right, wrong)


def matrix(rng: random.Random) -> Drawn:
    n_rows, n_columns = rng.choice([(2, 2), (2, 1), (3, 1), (2, 3), (3, 3)])
    cells = [[rng.randint(-9, 9) for _ in range(n_columns)] for _ in range(n_rows)]
    other = [row[:] for row in cells]
    other[rng.randrange(n_rows)][rng.randrange(n_columns)] += rng.choice([-1, 1, 4])

    def write(rows: list[list[int]], kind: str, space: str = " ") -> str:
        body = rf"{space}\\{space}".join(f"{space}&{space}".join(map(str, row)) for row in rows)
        return rf"\begin{{{kind}}}{space}{body}{space}\end{{{kind}}}"

    right = (write(cells, "pmatrix"), write(cells, "bmatrix"), write(cells, "pmatrix", ""), write(cells, "pmatrix"))
    return Drawn("matrix", write(cells, "pmatrix"), right, (write(other, "pmatrix"), write(other, "bmatrix")))


def line(rng: random.Random) -> Drawn:
    m, b, k = rng.randint(2, 9), rng.randint(-9, 9) or 4, rng.randint(2, 4)
    right = (f"y = {m}x{b:+d}", f"y={m}x{b:+d}", f"{m}x-y{b:+d}=0", f"{k}y={k * m}x{k * b:+d}", f"y-{m}x={b}")
    wrong = (f"y = {m + 1}x{b:+d}", f"{m}x+y{b:+d}=0", f"y={m}x{b + 1:+d}", f"{m}x-y{-b:+d}=0")
    return Drawn("equation", f"y={m}x{b:+d}", right, wrong)


def percent(rng: random.Random) -> Drawn:
    n = rng.randint(2, 98)
    right = (rf"{n}\%", rf"{n}\%", str(n), rf"{n} \%", rf"{n}\text{{ percent}}", decimal(n, 2), f"${n}\\%$")
    return Drawn("percent", rf"{n}\%", right, (rf"{n + 1}\%", rf"{n * 10}\%", decimal(n + 1, 2), str(n - 1)))


def angle(rng: random.Random) -> Drawn:
    n = rng.choice([30, 36, 40, 45, 50, 60, 72, 75, 100, 105, 120, 135, 150])
    right = (rf"{n}^\circ", rf"{n}^{{\circ}}", f"{n}°", str(n), rf"{n}\text{{ degrees}}", rf"{n} \text{{ degrees}}")
    wrong = (rf"{180 - n + 5}^\circ", str(n + 5), rf"{n + 10}\text{{ degrees}}")
    return Drawn("angle", rf"{n}^\circ", right, wrong)


def complex_number(rng: random.Random) -> Drawn:
    a, b = rng.randint(1, 20), rng.randint(2, 20)
    right = (f"{a}+{b}i", f"{a} + {b}i", f"{b}i + {a}", f"{a}+{b} i")
    return Drawn("expression", f"{a}+{b}i", right, (f"{a}-{b}i", f"{a + 1}+{b}i", f"{a}+{b + 1}i"))


def word(rng: random.Random) -> Drawn:
    names = ("Monday", "Tuesday", "ellipse", "hyperbola", "parabola", "isosceles triangle", "no solution", "Evelyn")
    reference, other = rng.sample(names, 2)
    right = (rf"\text{{{reference}}}", reference, reference.upper(), rf"\textbf{{{reference}}}", f"{reference}.")
    return Drawn("text", rf"\text{{{reference}}}", right, (), open_wrong=(rf"\text{{{other}}}", other))


_STEPS = (
    r"we have ${a}x + {b} = {c}$, so both sides can be divided by ${a}$ before the next case is looked at.",
    r"the sum of the first ${a}$ terms is $\frac{{{a}({a}+1)}}{{2}}$, and we subtract ${b}$ from it.",
    r"by the Pythagorean theorem $c^2 = {a}^2 + {b}^2$, which leaves one positive root.",
    r"substituting $y = {a} - {b}x$ into the second equation gives ${c}x^2 - {a}x + {b} = 0$.",
    r"there are $\binom{{{a}}}{{2}}$ ways to choose the pair, and each of them is counted twice.",
    r"note that $\sqrt{{{a}}} < {b}$, so the second case cannot happen and only the first one is left.",
    r"modulo ${a}$ the left side is ${b}$, which means that $k = {c}$ is the only value that works.",
    "the remaining area is the difference of the two, since the triangles overlap in exactly one region.",
)
_MAKERS = (
    *((integer, 36), (product, 4), (fraction, 14), (rounded, 7), (radical, 3), (radical_fraction, 3)),
    *((multiple_of_pi, 1), (fraction_of_pi, 2), (polynomial, 4), (identity, 3), (complex_number, 2)),
    *((point, 4), (solutions, 5), (interval, 3), (matrix, 2), (line, 2), (percent, 2), (angle, 2), (word, 1)),
)
MATH_LIKE = Family("math", _MAKERS, _STEPS, (4, 16))
