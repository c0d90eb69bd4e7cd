"""One number is shown in one way, whether it comes from memory or from a result file; zero has no sign."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from compaug.core.markdown import NOT_REPORTED, STORED, number

values = st.floats(-1e6, 1e6) | st.integers(-(10**7), 10**7).map(lambda thousandths: thousandths / 1000)


@given(values, st.booleans(), st.integers(0, 3))
@example(13.015, False, 2)
@example(13.01496, False, 2)
@example(-0.004, True, 2)
def test_a_value_and_what_a_result_file_keeps_of_it_show_alike(value, sign, digits):
    assert number(value, sign, digits) == number(round(value, STORED), sign, digits)


@given(values)
def test_a_half_goes_away_from_zero_as_people_round_it(value):
    stored = Decimal(repr(round(value, STORED)))
    assert Decimal(number(value)) == stored.quantize(Decimal("0.01"), ROUND_HALF_UP)


@given(values, st.booleans(), st.integers(0, 3))
def test_zero_has_no_sign_and_every_other_number_the_one_it_should_have(value, sign, digits):
    shown = number(value, sign, digits)
    assert re.fullmatch(r"[+-]?\d+" + (rf"[.]\d{{{digits}}}" if digits else ""), shown)
    zero = not shown.strip("+-0.")
    assert shown[0] == "-" if value < 0 and not zero else ("+" in shown) == (sign and not zero)
    assert not zero or shown[0] == "0"


@pytest.mark.parametrize(
    ("value", "sign", "shown"),
    [
        (13.015, False, "13.02"),  # the nearest binary number is below it
        (13.0149999, False, "13.02"),  # 13.0150 in a file
        (0.125, False, "0.13"),
        (-0.125, True, "-0.13"),
        (-0.001, False, "0.00"),
        (-0.0, True, "0.00"),
        (0.001, True, "0.00"),
        (2, True, "+2.00"),
        (1e30, False, "1" + "0" * 30 + ".00"),
        (None, False, NOT_REPORTED),
    ],
)
def test_numbers_that_have_been_shown_in_two_ways(value, sign, shown):
    assert number(value, sign) == shown


def test_a_number_of_numpy_shows_as_one_of_python():
    numpy = pytest.importorskip("numpy")
    assert number(numpy.float64(13.015)) == "13.02" and number(numpy.float32(0.5), sign=True) == "+0.50"
