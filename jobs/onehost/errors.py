"""The one exception of this package."""


class ClusterError(Exception):
    """Something that the user can cure; the message says how."""
