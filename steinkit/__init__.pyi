from . import plots as plots
from . import samplers as samplers
from . import targets as targets
from .discrepancy.geometry import Graph as Graph
from .discrepancy.geometry import complete_graph as complete_graph
from .discrepancy.geometry import dilation as dilation
from .discrepancy.geometry import sorted_graph as sorted_graph
from .discrepancy.graph import graph_stein_discrepancy as graph_stein_discrepancy
from .discrepancy.reference import Reference as Reference
from .discrepancy.reference import reference_discrepancy as reference_discrepancy
from .discrepancy.result import GraphSteinDiscrepancy as GraphSteinDiscrepancy
from .discrepancy.spanner import greedy_spanner as greedy_spanner
from .errors import InputError as InputError
from .errors import MissingDependencyError as MissingDependencyError
from .errors import OutputError as OutputError
from .errors import SolverError as SolverError
from .errors import SteinkitError as SteinkitError
from .errors import SteinkitWarning as SteinkitWarning
from .errors import UsageError as UsageError
from .files import read_sample as read_sample
from .files import write_sample as write_sample
from .posterior import Posterior as Posterior
from .sample import DistinctSample as DistinctSample
from .sample import Sample as Sample
from .target import ScoreCheck as ScoreCheck
from .target import Target as Target

__version__: str
