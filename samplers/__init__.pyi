from .draws import Draws as Draws
