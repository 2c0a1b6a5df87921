"""Descriptions of coordinate transformations for messages."""

from __future__ import annotations

from ozx.hierarchy.ome.metadata import End, Scene, Transformation


def describe_transformation(step: Transformation) -> str:
    """Return a phrase that describes a transformation, for messages.

    Examples
    --------
    >>> describe_transformation(Transformation("affine", End("physical", "a"), End("world", None), {}))
    "the affine from 'physical' of a to 'world'"
    """
    return f"the {step.type or 'transformation'} from {_end(step.input)} to {_end(step.output)}"


def describe_scene(scene: Scene) -> str:
    """Return a note that the images of a scene are shown separately, without their transformations."""
    where = f" in {scene.systems[0].name!r}" if scene.systems else ""
    return (
        f"the scene places its images{where}; ozx does not apply these positions: each image stays in its own "
        f"coordinate system"
    )


def unapplied_note(where: str, phrase: str) -> str:
    """Return a note that a transformation is not applied to an image."""
    return f"{where or 'the root'}: {phrase} is not applied"


def _end(end: End) -> str:
    return repr(end.name or "?") + ("" if end.path is None else f" of {end.path}")
