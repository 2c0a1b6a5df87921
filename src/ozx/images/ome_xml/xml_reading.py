"""Parser for untrusted XML: no document type, no entity declarations, limited nesting depth."""

from __future__ import annotations

from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from ozx.errors import FormatError, shortened

# OME-XML has a depth of nine.
_DEEPEST = 200


class MalformedXmlError(FormatError):
    """The document is not well-formed: no other XML parser can read it either."""


def parse_xml(text: str | bytes, what: str, *, keep_namespaces: bool = False) -> Element:
    """Return the root element of an XML document; namespaces are removed from the names of elements.

    A document type (DTD) is refused: descriptions of images have none, and the entities of a DTD can make a small file
    huge or read other files.

    Examples
    --------
    >>> [child.tag for child in parse_xml('<OME xmlns="http://openmicroscopy.org"><Image/></OME>', "the OME-XML")]
    ['Image']
    >>> parse_xml('<!DOCTYPE lol [<!ENTITY lol "lol">]><OME>&lol;</OME>', "the OME-XML")
    Traceback (most recent call last):
    ...
    ozx.errors.FormatError: expected the OME-XML to have no document type; it declares one: lol
    """
    builder, depth = TreeBuilder(), 0
    name_of = _full if keep_namespaces else _local
    parser = expat.ParserCreate(namespace_separator="}")
    parser.buffer_text = True

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            raise FormatError(f"expected {what} to be at most {_DEEPEST} elements deep; it is deeper")
        if not keep_namespaces:
            attributes = {key: value for key, value in attributes.items() if "}" not in key}
        builder.start(name_of(name), {name_of(key): value for key, value in attributes.items()})

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(name_of(name))

    def refuse(name: str, *_: object) -> None:
        raise FormatError(f"expected {what} to have no document type; it declares one: {name}")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        raise MalformedXmlError(f"expected {what} to be well-formed XML; {error}") from None
    except FormatError:
        raise
    except (LookupError, ValueError) as error:  # expat supports only Python's one-byte encodings
        reason = shortened(str(error), 100)
        raise FormatError(
            f"expected {what} in UTF-8, UTF-16 or an encoding of one byte per character; {reason}"
        ) from None
    return builder.close()


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _full(name: str) -> str:
    return f"{{{name}" if "}" in name else name
