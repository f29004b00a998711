from overton.calls import Reply
from overton.errors import UnavailableError
from overton.models.endpoints import Endpoint, Secret
from overton.models.http import addresses_of, least_loaded

DOWN = UnavailableError("connection", "down")


def two():
    return addresses_of(Endpoint("m", "m", ("http://a:1/v1", "http://b:2/v1"), "KEY", Secret(None)), "/chat", {})


def test_each_base_url_is_an_address_with_a_host_of_its_own():
    assert [(a.url.geturl(), a.target.host) for a in two()] == [
        ("http://a:1/v1/chat", "a:1"),
        ("http://b:2/v1/chat", "b:2"),
    ]


def test_the_address_with_the_fewest_in_flight_is_next():
    first, second = addresses = two()
    first.in_flight, second.in_flight = 3, 2
    assert least_loaded(addresses, now=0.0) is second


def test_an_address_that_fails_rests_longer_each_time_and_a_minute_at_most():
    first, second = addresses = two()
    second.in_flight = 99
    rests = []
    for _ in range(12):
        first.note(DOWN, now=100.0)
        rests.append(first.rests_until - 100.0)
    assert rests[:6] == [2, 4, 8, 16, 32, 60]
    assert max(rests) == 60
    assert least_loaded(addresses, now=159.0) is second
    assert least_loaded(addresses, now=160.0) is first


def test_an_answer_ends_the_lengthening_of_rests():
    first, _ = two()
    for outcome in (DOWN, DOWN, Reply("fine"), DOWN):
        first.note(outcome, now=0.0)
    assert first.rests_until == 2.0


def test_when_all_rest_the_least_loaded_is_asked():
    first, second = addresses = two()
    first.note(DOWN, now=0.0)
    second.note(DOWN, now=0.0)
    first.in_flight = 1
    assert least_loaded(addresses, now=1.0) is second


def test_an_address_keeps_connections_again_after_a_while():
    class Kept:
        usable, closed = True, 0

        def abort(self):
            self.closed += 1

    address, _ = two()
    wire = Kept()
    for _ in range(3):
        address.note_gone()
    for _ in range(100):
        address.keep(wire)
    assert (wire.closed, address.idle) == (100, [])
    address.keep(wire)
    assert address.idle == [wire]
    address.note_gone()
    assert address.idle == []
