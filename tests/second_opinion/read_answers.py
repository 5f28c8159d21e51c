"""Reads DNS messages, one a line in hexadecimal digits, and says of each what dnspython makes of it.

Strict: bytes behind the last record and records that can't be read are errors. A line of output a line of input:

    ok FLAGS QUESTIONS/ANSWERS/AUTHORITIES/ADDITIONALS PAYLOAD/VERSION/FLAGS/OPTIONS      (or "-": no OPT record)
    error WHAT
"""

import sys

import dns.exception
import dns.flags
import dns.message


def summary(wire):
    message = dns.message.from_wire(wire, one_rr_per_rrset=True)
    counts = "/".join(str(len(section)) for section in message.sections)
    opt = "-"
    if message.edns >= 0:
        opt = f"{message.payload}/{message.edns}/{message.ednsflags & 0xffff}/{len(message.options)}"
    return f"ok {message.flags & 0xfff0:04x} {counts} {opt}"


def main():
    for line in sys.stdin:
        try:
            print(summary(bytes.fromhex(line)))
        except (dns.exception.DNSException, ValueError) as error:
            print(f"error {type(error).__name__}: {error}".replace("\n", " "))


main()
