"""Pictures: a program's instances and dependences, and a dimension of its schedule space.

``render`` makes an array of pixels of a ``Scene`` and ``save`` writes it to a file. The layer
stands on ``poly``: ``instances`` and ``sizes`` say what is shown, ``order`` which arrows are
needed, ``plane``, ``arrows`` and ``scale`` where things are; ``domain``, ``frame``, ``legend``,
``space`` and ``coordinates`` draw them, ``style`` holds colours and letters, and ``canvas`` puts
all on one sheet.
"""

from polygym.pictures.canvas import HEIGHT, WIDTH, Scene, render, save

__all__ = ["HEIGHT", "WIDTH", "Scene", "render", "save"]
