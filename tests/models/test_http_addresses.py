from overton.models.endpoint import Endpoint
from overton.models.http_client import HttpClient
from overton.untrusted import ApiKey


def test_an_address_keeps_connections_again_after_a_while():
    class Kept:
        usable, closed = True, 0

        def abort(self):
            self.closed += 1

    address = HttpClient(Endpoint("m", "m", "http://a:1/v1", ApiKey(None)), "/chat")._address
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
