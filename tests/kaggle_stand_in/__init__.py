"""A server that stands in for Kaggle: the API and its storage over true HTTP, with faults on demand.

    with StandIn() as kaggle:
        kaggle.add("spaceship-titanic", zip_of_twin("spaceship-titanic", tmp_path).read_bytes())
        kaggle.fail("storage", Fault.cut(1000))
        Client(kaggle.credentials, kaggle.url)

Paths, methods, bodies and names of fields are those that the official client (kaggle 2.2.4) sends and reads. How
Kaggle words its refusals, and what it says of a competition that is closed, could not be observed.
"""

from .faults import Fault
from .server import StandIn
from .twins import zip_of_twin

__all__ = ["Fault", "StandIn", "zip_of_twin"]
