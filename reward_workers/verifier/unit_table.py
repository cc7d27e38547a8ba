"""The closed table of units: spelling -> (canonical symbol, dimension, scale to the base unit of that dimension).

A word that is not here is not a unit: the answer then stays unresolved instead of losing a word that may matter.
"""

from __future__ import annotations

from fractions import Fraction

CURRENCY_SIGNS = {"$": "usd", "€": "eur", "£": "gbp", "¥": "cny", "￥": "cny", "₹": "inr", "₩": "krw"}

SCALE_WORDS = {
    "hundred": "hundred", "hundreds": "hundred", "thousand": "thousand", "thousands": "thousand", "k": "thousand",
    "million": "million", "millions": "million", "mn": "million", "billion": "billion", "billions": "billion",
    "bn": "billion", "trillion": "trillion", "dozen": "dozen", "dozens": "dozen",
}  # fmt: skip

_ROWS = """
km=kilometer,kilometers,kilometre,kilometres,公里,千米|length|1000
m=meter,meters,metre,metres,米|length|1
dm=decimeter,decimeters,分米|length|1/10
cm=centimeter,centimeters,centimetre,centimetres,厘米|length|1/100
mm=millimeter,millimeters,millimetre,millimetres,毫米|length|1/1000
nm=nanometer,nanometers|length|1/1000000000
mile=miles,mi,英里|length|1609344/1000
yd=yard,yards|length|9144/10000
ft=foot,feet,英尺|length|3048/10000
in=inch,inches,英寸|length|254/10000
kg=kilogram,kilograms,kgs,千克,公斤|mass|1000
g=gram,grams,gm,克|mass|1
mg=milligram,milligrams,毫克|mass|1/1000
t=ton,tons,tonne,tonnes,吨|mass|1000000
lb=lbs,pound,pounds|mass|45359237/100000
oz=ounce,ounces|mass|28349523125/1000000000
s=sec,secs,second,seconds,秒|time|1
ms=millisecond,milliseconds,毫秒|time|1/1000
min=mins,minute,minutes,分钟|time|60
h=hr,hrs,hour,hours,小时|time|3600
day=days,天|time|86400
week=weeks,wk,周|time|604800
month=months,月,个月|month|1
year=years,yr,yrs,年|month|12
L=l,liter,liters,litre,litres,升|volume|1
mL=ml,milliliter,milliliters,millilitre,millilitres,毫升|volume|1/1000
gal=gallon,gallons|volume|3785411784/1000000000
cup=cups|volume|2365882365/10000000000
deg=°,degree,degrees,度|angle|1
rad=radian,radians,弧度|angle|180
degC=°C,celsius,degrees celsius,degree celsius,摄氏度|temperature|1
degF=°F,fahrenheit,degrees fahrenheit|temperature|5/9
K=kelvin,kelvins|temperature|1
N=newton,newtons,牛|force|1
kN=kilonewton,kilonewtons|force|1000
J=joule,joules,焦耳|energy|1
kJ=kilojoule,kilojoules|energy|1000
cal=calorie,calories|energy|4184/1000
kcal=kilocalorie,kilocalories|energy|4184
W=watt,watts,瓦|power|1
kW=kilowatt,kilowatts,千瓦|power|1000
V=volt,volts,伏|voltage|1
A=amp,amps,ampere,amperes,安|current|1
mA=milliamp,milliamps|current|1/1000
ohm=ohms,Ω,欧姆|resistance|1
Hz=hertz,赫兹|frequency|1
kHz=kilohertz|frequency|1000
MHz=megahertz|frequency|1000000
Pa=pascal,pascals,帕|pressure|1
kPa=kilopascal,kilopascals|pressure|1000
mol=mole,moles,摩尔|amount|1
B=byte,bytes|data|1
KB=kilobyte,kilobytes|data|1000
MB=megabyte,megabytes|data|1000000
GB=gigabyte,gigabytes|data|1000000000
mph=miles per hour|speed_mph|1
kph=kmh|speed_kph|1
%=percent,per cent,percents,百分比|percent|1
usd=dollar,dollars,USD,美元|money|1
cent=cents,美分|money|1/100
eur=euro,euros,EUR,欧元|money|2
gbp=GBP|money|3
cny=yuan,RMB,CNY,元,块,人民币|money|5
unit=units,square units,cubic units,sq units,单位|count_unit|1
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
        for spelling in [symbol, *spellings.split(",")]:
            if spelling in table:
                raise AssertionError(f"unit spelling {spelling!r} appears twice")
            table[spelling] = (symbol, dimension, Fraction(scale))
    return table


UNITS = _build()
"""Spelling -> (symbol, dimension, scale). Currencies share a dimension; their scales only say that they differ."""
