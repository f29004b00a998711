import polars as pl

from overton.studies.cautions import refused


def test_refusals_are_counted_by_model_beside_all_that_was_said():
    said = pl.DataFrame({"model": ["b", "a", "b", "c"], "refused": [True, True, False, False]})
    assert list(refused(said, "messages")) == [
        "Messages that the endpoint flagged as refusals, kept as they came: a 1 of 1; b 1 of 2."
    ]


def test_nothing_is_said_where_nothing_was_refused_or_nobody_knows():
    assert not list(refused(pl.DataFrame({"model": ["a"], "refused": [False]}), "messages"))
    assert not list(refused(pl.DataFrame({"model": ["a"]}), "messages"))
