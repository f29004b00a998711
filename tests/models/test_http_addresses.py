from overton.models.endpoints import Endpoint, Secret
from overton.models.http import Transport


def test_an_address_keeps_connections_again_after_a_while():
    class Kept:
        usable, closed = True, 0

        def abort(self):
            self.closed += 1

    address = Transport(Endpoint("m", "m", "http://a:1/v1", "KEY", Secret(None)), "/chat")._address
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
