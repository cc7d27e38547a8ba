"""The closed table of units: spelling -> (canonical symbol, dimension, scale to the base unit of that dimension).

A word that is not here is not a unit: the answer then stays unresolved instead of losing a word that may matter.
"""

from __future__ import annotations

from fractions import Fraction

CURRENCY_SIGNS = {"$": "usd", "€": "eur", "£": "gbp", "¥": "yen_or_yuan", "₹": "inr", "₩": "krw"}

CURRENCY_CODES = {
    "US$": "usd", "USD": "usd", "EUR": "eur", "GBP": "gbp", "CNY": "cny", "RMB": "cny", "JPY": "jpy", "INR": "inr",
    "Rs.": "inr", "Rs": "inr", "KRW": "krw",
}  # fmt: skip
"""Codes that stand before an amount. A$, HK$ and others are not here: a bare $ may mean them."""

SHARED_SIGNS = {"yen_or_yuan": ("jpy", "cny")}
"""A sign that stands for several currencies: against one of them it proves nothing."""

SCALE_WORDS = {
    "hundred": 10**2, "hundreds": 10**2, "thousand": 10**3, "thousands": 10**3, "million": 10**6, "millions": 10**6,
    "mn": 10**6, "mln": 10**6, "billion": 10**9, "billions": 10**9, "bn": 10**9, "bln": 10**9, "trillion": 10**12,
    "trillions": 10**12, "lakh": 10**5, "lakhs": 10**5, "lac": 10**5, "crore": 10**7, "crores": 10**7,
    "dozen": 12, "dozens": 12, "百": 10**2, "千": 10**3, "万": 10**4, "十万": 10**5, "百万": 10**6, "千万": 10**7,
    "亿": 10**8, "十亿": 10**9, "百亿": 10**10, "千亿": 10**11, "万亿": 10**12,
}  # fmt: skip
"""What a number is multiplied by when the word stands behind it; words in any case."""

SCALE_LETTERS = {
    "k": 10**3, "K": 10**3, "M": 10**6, "MM": 10**6, "B": 10**9, "T": 10**12, "m": 10**6, "b": 10**9, "tn": 10**12,
}  # fmt: skip
"""Letters that may scale a number and may be a unit (K, m, T, b) or a variable: see `units.split_quantity`."""

COMPOUND_UNITS = {
    "mph": "mile/h", "kph": "km/h", "kmh": "km/h", "kmph": "km/h", "mps": "m/s", "fps": "ft/s", "mpg": "mile/gal",
    "cc": "cm^3", "kwh": "kW h", "Nm": "N m",
}  # fmt: skip
"""Abbreviations without a sign between their units."""

SHORT_WORDS = frozenset([
    "km", "cm", "mm", "kg", "lb", "lbs", "hr", "hrs", "min", "mins", "sec", "secs", "ft", "in", "yd", "oz", "mi",
    "gal", "mph", "kph", "kmh", "kmph", "mpg", "kwh",
])  # fmt: skip
"""Short spellings that mean the same in any case; of others the case matters (Mg and mg, S and s)."""

_ROWS = """
m=meter,meters,metre,metres,米|length|1
km=kilometer,kilometers,kilometre,kilometres,公里,千米|length|1000
dm=decimeter,decimeters,decimetre,decimetres,分米|length|1/10
cm=centimeter,centimeters,centimetre,centimetres,cms,厘米|length|1/100
mm=millimeter,millimeters,millimetre,millimetres,毫米|length|1/1000
μm=micrometer,micrometers,micrometre,micrometres,micron,microns,微米|length|1/1000000
nm=nanometer,nanometers,nanometre,nanometres,纳米|length|1/1000000000
mile=miles,mi,英里|length|1609344/1000
yd=yard,yards,码|length|9144/10000
ft=foot,feet,英尺|length|3048/10000
in=inch,inches,英寸|length|254/10000
hectare=hectares,公顷|area|1
acre=acres,英亩|area|40468564224/100000000000
kg=kilogram,kilograms,kgs,千克,公斤|mass|1000
g=gram,grams,gm,克|mass|1
mg=milligram,milligrams,毫克|mass|1/1000
μg=microgram,micrograms,微克|mass|1/1000000
t=ton,tons,tonne,tonnes,吨|mass|1000000
lb=lbs,pound,pounds|mass|45359237/100000
oz=ounce,ounces|mass|28349523125/1000000000
s=sec,secs,second,seconds,秒,秒钟|time|1
ms=millisecond,milliseconds,毫秒|time|1/1000
μs=microsecond,microseconds,微秒|time|1/1000000
ns=nanosecond,nanoseconds|time|1/1000000000
min=mins,minute,minutes,分钟|time|60
h=hr,hrs,hour,hours,小时|time|3600
day=days,天,日|time|86400
week=weeks,wk,周,星期|time|604800
month=months,月,个月|month|1
year=years,yr,yrs,年|month|12
decade=decades|month|120
century=centuries,世纪|month|1200
L=l,liter,liters,litre,litres,升|volume|1
mL=ml,milliliter,milliliters,millilitre,millilitres,毫升|volume|1/1000
gal=gallon,gallons|volume|3785411784/1000000000
qt=quart,quarts|volume|946352946/1000000000
pint=pints|volume|473176473/1000000000
cup=cups|volume|2365882365/10000000000
tbsp=tablespoon,tablespoons|volume|147867648/10000000000
tsp=teaspoon,teaspoons|volume|49289216/10000000000
deg=°,degree,degrees,度|angle|1
rad=radian,radians,弧度|angle|180
degC=°C,celsius,degrees celsius,degree celsius,摄氏度|temperature|1
degF=°F,fahrenheit,degrees fahrenheit,degree fahrenheit,华氏度|temperature|5/9
K=kelvin,kelvins|temperature|1
N=newton,newtons,牛,牛顿|force|1
kN=kilonewton,kilonewtons|force|1000
J=joule,joules,焦耳,焦|energy|1
kJ=kilojoule,kilojoules,千焦|energy|1000
MJ=megajoule,megajoules|energy|1000000
eV=electronvolt,electronvolts|particle_energy|1
keV=|particle_energy|1000
MeV=|particle_energy|1000000
cal=calorie,calories|energy|4184/1000
kcal=kilocalorie,kilocalories|energy|4184
W=watt,watts,瓦,瓦特|power|1
mW=milliwatt,milliwatts|power|1/1000
kW=kilowatt,kilowatts,千瓦|power|1000
MW=megawatt,megawatts|power|1000000
GW=gigawatt,gigawatts|power|1000000000
V=volt,volts,伏,伏特|voltage|1
mV=millivolt,millivolts|voltage|1/1000
kV=kilovolt,kilovolts|voltage|1000
A=amp,amps,ampere,amperes,安,安培|current|1
mA=milliamp,milliamps,毫安|current|1/1000
ohm=ohms,Ω,欧姆,欧|resistance|1
kohm=kΩ,kilohm,kilohms|resistance|1000
Hz=hertz,赫兹|frequency|1
kHz=kilohertz|frequency|1000
MHz=megahertz|frequency|1000000
GHz=gigahertz|frequency|1000000000
Pa=pascal,pascals,帕,帕斯卡|pressure|1
kPa=kilopascal,kilopascals,千帕|pressure|1000
MPa=megapascal,megapascals|pressure|1000000
atm=atmosphere,atmospheres|pressure|101325
psi=|pressure|6894757/1000
mmHg=|pressure|133322/1000
mol=mole,moles,摩尔|amount|1
dB=decibel,decibels,分贝|level|1
rpm=|rotation|1
ppm=|share|1
knot=knots|knots|1
B=byte,bytes,字节|data|1
KB=kB,kilobyte,kilobytes|data|1000
MB=megabyte,megabytes|data|1000000
GB=gigabyte,gigabytes|data|1000000000
TB=terabyte,terabytes|data|1000000000000
bit=bits|bit|1
%=percent,per cent,percents,pct,百分比|percent|1
usd=dollar,dollars,USD,US dollar,US dollars,美元|money|1
cent=cents,¢,美分|money|1/100
eur=euro,euros,EUR,欧元|money|2
gbp=GBP,英镑|money|3
cny=yuan,RMB,CNY,元,块,人民币|money|5
jpy=yen,JPY,日元|money|7
inr=rupee,rupees,INR|money|11
krw=won,KRW,韩元|money|13
yen_or_yuan=|money|17
unit=units,square units,cubic units,sq units,单位,平方单位|count_unit|1
person=people,persons,人|count_person|1
student=students,名学生|count_student|1
item=items,个,pieces,piece,件|count_item|1
way=ways,种|count_way|1
point=points,pts,分|count_point|1
time=times,次|count_time|1
"""


def _build() -> dict[str, tuple[str, str, Fraction]]:
    table: dict[str, tuple[str, str, Fraction]] = {}
    for row in _ROWS.strip().splitlines():
        names, dimension, scale = row.split("|")
        symbol, _, spellings = names.partition("=")
        for spelling in [symbol, *filter(None, spellings.split(","))]:
            if spelling in table:
                raise AssertionError(f"unit spelling {spelling!r} appears twice")
            table[spelling] = (symbol, dimension, Fraction(scale))
    return table | {sign: table[symbol] for sign, symbol in CURRENCY_SIGNS.items()}


UNITS = _build()
"""Spelling -> (symbol, dimension, scale). Currencies share a dimension; their scales only say that they differ."""
