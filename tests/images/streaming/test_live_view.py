"""What is listed of an image for readers of the unfinished file."""

from types import SimpleNamespace

from ozx.images.streaming.encoding_threads import LiveView


def test_all_documents_are_listed_when_the_length_has_doubled():
    image = SimpleNamespace(path="A", complete_length=0, draft=lambda length: ("draft", length), shapes=lambda n: n)
    listed = []
    index = SimpleNamespace(show=listed.append, resize=listed.append)
    view = LiveView(index, [image])
    for length in (0, 2, 2, 3, 4, 5, 6, 7, 9):
        image.complete_length = length
        view.follow(image)
    assert listed == [("draft", 2), 3, ("draft", 4), 5, 6, 7, ("draft", 9)]
