"""A reader of Chakra traces for tests, written from the public field table and not from our encoder."""

from __future__ import annotations

NODE = {1: "id", 2: "name", 3: "type", 4: "ctrl_deps", 5: "data_deps", 7: "duration_micros", 10: "attr"}
ATTRIBUTE = {1: "name", 9: "int64_val", 27: "bool_val", 28: "bool_list", 29: "string_val"}
TYPES = {2: "LOAD", 3: "STORE", 4: "COMP", 5: "SEND", 6: "RECV", 7: "COLL"}


def varint(data, at):
    value = shift = 0
    while True:
        octet = data[at]
        at += 1
        value |= (octet & 127) << shift
        if octet < 128:
            return value, at
        shift += 7


def fields(data):
    """(number, value) of a message: an int for a varint, bytes for what has a length."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        value, at = varint(data, at)
        if tag & 7 == 2:
            value, at = data[at : at + value], at + value
        else:
            assert tag & 7 == 0
        yield tag >> 3, value


def packed(data):
    at, values = 0, []
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def attribute(data):
    found = {ATTRIBUTE[number]: value for number, value in fields(data)}
    name = found.pop("name").decode()
    ((form, value),) = found.items()
    if form == "bool_list":
        ((number, value),) = fields(value)
        assert number == 1
        return name, [bool(item) for item in packed(value)]
    return name, {"int64_val": int, "bool_val": bool, "string_val": bytes.decode}[form](value)


def node(data):
    found = {"id": 0, "name": "", "ctrl_deps": [], "data_deps": []}
    attributes = {}
    for number, value in fields(data):
        field = NODE[number]
        if field == "attr":
            name, content = attribute(value)
            assert name not in attributes
            attributes[name] = content
        else:
            decode = {"name": bytes.decode, "type": TYPES.get, "ctrl_deps": packed, "data_deps": packed}
            found[field] = decode.get(field, int)(value)
    return found | attributes


def trace(data):
    """The version and the nodes of a trace."""
    at, messages = 0, []
    while at < len(data):
        size, at = varint(data, at)
        assert at + size <= len(data)
        messages.append(data[at : at + size])
        at += size
    ((number, version),) = fields(messages[0])
    assert number == 1
    return version.decode(), [node(message) for message in messages[1:]]
