import pytest

from overton.api.options import options_of
from overton.errors import InputError
from overton.studies.pluralism import Options


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"matching": "vague"}, "options: matching = 'vague': must be of together, pairs, lexical"),
        (
            {"arms": ["neutral", "loud"]},
            "options: arms = ['neutral', 'loud']: must be of neutral, toward, opposing, biased, matched-neutral",
        ),
        ({"responses": "many"}, "options: responses = 'many': expected `int`, got `str`"),
        ({"answers": 3}, "options: answers: no such option; known are experiments, arms, efforts"),
    ],
)
def test_what_is_wrong_with_an_option_is_told_in_the_users_words(given, said):
    with pytest.raises(InputError) as error:
        options_of(Options, given)
    assert said in str(error.value)


def test_options_are_what_was_given_and_defaults_besides():
    assert options_of(Options, {"ranked": 5}) == Options(ranked=5)
