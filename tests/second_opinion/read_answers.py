"""Reads DNS messages, one a line in hexadecimal digits, and says of each what dnspython makes of it.

Strict: bytes behind the last record and records that can't be read are errors. A line of output a line of input, its
fields with spaces between, bytes in hexadecimal digits, names and data without compression, letter case kept:

    ok FLAGS RCODE              then, each as often as it is there, in the order of the message
    0:NAME/TYPE/CLASS           a question
    N:NAME/TYPE/CLASS/TTL/DATA  a record of section N: 1 answer, 2 authority, 3 additional
    opt:PAYLOAD/VERSION/FLAGS   the OPT record
    option CODE:DATA            an option of it

    error WHAT
"""

import sys

import dns.exception
import dns.flags
import dns.message


def fields(message):
    yield f"ok {message.flags & 0xfff0:04x} {int(message.rcode())}"
    for question in message.question:
        yield f"0:{question.name.to_wire().hex()}/{int(question.rdtype)}/{int(question.rdclass)}"
    for number in (1, 2, 3):
        for rrset in message.sections[number]:
            owner = f"{rrset.name.to_wire().hex()}/{int(rrset.rdtype)}/{int(rrset.rdclass)}/{rrset.ttl}"
            for rdata in rrset:
                yield f"{number}:{owner}/{rdata.to_wire().hex()}"
    if message.edns >= 0:
        yield f"opt:{message.payload}/{message.edns}/{message.ednsflags & 0xffff}"
        for option in message.options:
            yield f"option {int(option.otype)}:{option.to_wire().hex()}"


def main():
    for line in sys.stdin:
        try:
            message = dns.message.from_wire(bytes.fromhex(line), one_rr_per_rrset=True)
            print(" ".join(fields(message)))
        except (dns.exception.DNSException, ValueError) as error:
            print(f"error {type(error).__name__}: {error}".replace("\n", " "))


main()
