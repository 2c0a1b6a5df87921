"""XML text: read back by other parsers it is what it was made of."""

from xml.etree import ElementTree as ET

import pytest

from ozx.images.ome_xml.composing import render_xml
from ozx.images.ome_xml.parsing import parse_xml


def canonical(text):
    return ET.canonicalize(text, rewrite_prefixes=True)


@pytest.mark.parametrize(
    "text",
    [
        "<a/>",
        '<a xmlns="u" b="&lt;&amp;&quot;&#10;&#9;x&#13;">  t&amp;&lt;&gt; <c/> tail <d xmlns="">x</d></a>',
        '<p:a xmlns:p="u" xmlns:q="v" p:x="1" q:y="2" z="3" xml:lang="en"><q:b><none/></q:b><p:c/></p:a>',
        '<a xmlns="u"><b xmlns="v"><c xmlns="u"/><d/></b></a>',
        '<a xmlns:i="http://www.w3.org/2001/XMLSchema-instance" i:schemaLocation="u v" i:nil="true"/>',
        "<a>µ é 😀</a>",
    ],
)
def test_documents_come_back(text):
    rendered = render_xml(parse_xml(text, "it", keep_namespaces=True))
    assert canonical(rendered) == canonical(text)
    assert render_xml(parse_xml(rendered, "it", keep_namespaces=True)) == rendered


def test_characters_that_xml_has_not():
    element = ET.Element("a", {"b": "x\0y\x1b"})
    element.text = "\ud800\ufffe"
    assert "x\ufffdy\ufffd" in render_xml(element)
    ET.fromstring(render_xml(element))
