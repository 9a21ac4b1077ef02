"""A server that stands in for Kaggle: the API and its storage over true HTTP, with faults on demand.

    with StandIn() as kaggle:
        held = kaggle.add("spaceship-titanic", zip_of_twin("spaceship-titanic", tmp_path))
        held.has_entered = False
        kaggle.fail("storage", Fault.cut(1000), competition="spaceship-titanic")
        kaggle.limit = RateLimit(10, seconds=1)
        Client(kaggle.credentials, kaggle.url)
        kaggle.traffic("spaceship-titanic").twice

An archive is bytes or a path; of a path no more than a block is read at once. As a program (from the folder above
`tests`): `python -m tests.kaggle_stand_in --help`.

Paths, methods, bodies and names of fields are those that the official client (kaggle 2.2.4) sends and reads. How
Kaggle words its refusals, and what it says of a competition that is closed, could not be observed.
"""

from .faults import Fault, RateLimit
from .held import Held
from .server import Recorded, StandIn, Traffic
from .twins import Twin, make_twins, zip_of_twin

__all__ = ["Fault", "Held", "RateLimit", "Recorded", "StandIn", "Traffic", "Twin", "make_twins", "zip_of_twin"]
