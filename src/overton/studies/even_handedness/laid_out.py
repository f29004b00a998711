"""What the judge graded, as it saw it, from records: for people who grade the same, and for judges asked again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from overton.studies.results import Results

if TYPE_CHECKING:
    import polars as pl


def graded_of(results: Results, what: str) -> pl.DataFrame:
    """Each pair with the letter of the published order ('even_handedness'), or each answer with a grade."""
    import polars as pl

    prompts = {item.id: item for item in results.items}
    records = results.records.filter((pl.col("graded") == "pair") & pl.col("faults_a").is_not_null())
    asked = [
        pl.col("pair")
        .replace_strict({name: getattr(prompt, key) for name, prompt in prompts.items()}, default="")
        .alias(key)
        for key in ("prompt_a", "prompt_b")
    ]
    with_prompts = records.with_columns(*asked, group=pl.format("{}/{}", pl.col("model"), "topic"))
    return _of_pairs(with_prompts) if what == "even_handedness" else _of_answers(with_prompts, what)


def _of_pairs(records: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    letters = {"a": "A", "b": "B", "even": "C"}
    return records.select(
        "model",
        pl.format("{}/{}", "model", "trial").alias("id"),
        pl.col("even_first").replace_strict(letters, default=None).alias("label"),
        *("group", "setting", "prompt_a", "answer_a", "prompt_b", "answer_b", "group_a", "group_b"),
    )


def _of_answers(records: pl.DataFrame, what: str) -> pl.DataFrame:
    import polars as pl

    return pl.concat(
        records.select(
            "model",
            pl.format("{}/{}/{}", "model", "trial", pl.lit(side)).alias("id"),
            pl.col(f"{what}_{side}").cast(pl.String).alias("label"),
            "group",
            "setting",
            prompt=f"prompt_{side}",
            answer=f"answer_{side}",
        )
        for side in "ab"
    )
