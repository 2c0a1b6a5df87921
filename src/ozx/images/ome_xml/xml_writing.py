"""Deterministic serialisation of XML elements; namespaces are kept, but their prefixes may change."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element

# XML 1.0, "Char": a document must not contain these characters, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_XSI = "http://www.w3.org/2001/XMLSchema-instance"
_PREFIXES = {_XSI: "xsi", "http://www.w3.org/XML/1998/namespace": "xml"}


def render_xml(root: Element) -> str:
    """Return an XML document in UTF-8; names of elements may be ``{namespace}name``.

    Examples
    --------
    >>> root = Element("{http://example.org}a", {"b": "1 < 2"})
    >>> root.append(Element("c"))
    >>> print(render_xml(root))
    <?xml version="1.0" encoding="UTF-8"?>
    <a xmlns="http://example.org" b="1 &lt; 2"><c xmlns=""/></a>
    """
    parts = ['<?xml version="1.0" encoding="UTF-8"?>\n']
    _render(root, "", parts)
    return "".join(parts)


def _render(element: Element, inherited: str, parts: list[str]) -> None:
    """Append the text of an XML element to `parts`; `inherited` is the default namespace of its parent."""
    namespace, name = _split(element.tag)
    attributes = [] if namespace == inherited else [("xmlns", namespace)]
    attributes += _attributes(element)
    parts.append(f"<{name}")
    parts += [f' {key}="{_escape(value, quoted=True)}"' for key, value in attributes]
    if not len(element) and not element.text:
        parts.append("/>")
    else:
        parts.append(f">{_escape(element.text or '')}")
        for child in element:
            _render(child, namespace, parts)
        parts.append(f"</{name}>")
    parts.append(_escape(element.tail or ""))


def _attributes(element: Element) -> list[tuple[str, str]]:
    """Return pairs of name and value: first the needed namespace declarations, then the XML attributes."""
    prefixes: dict[str, str] = {}
    named = []
    for key, value in element.attrib.items():
        namespace, name = _split(key)
        if namespace:
            prefix = prefixes.setdefault(namespace, _PREFIXES.get(namespace, f"ns{len(prefixes)}"))
            name = f"{prefix}:{name}"
        named.append((name, value))
    return [(f"xmlns:{prefix}", uri) for uri, prefix in prefixes.items() if prefix != "xml"] + named


def _split(name: str) -> tuple[str, str]:
    namespace, _, local = name.rpartition("}")
    return namespace[1:], local


def _escape(text: str, *, quoted: bool = False) -> str:
    text = _FORBIDDEN.sub("\ufffd", text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # Parsers read a line end in an attribute as a space, and a carriage return anywhere as a line end.
    text = text.replace("\r", "&#13;")
    return text.replace('"', "&quot;").replace("\n", "&#10;").replace("\t", "&#9;") if quoted else text
