"""The exceptions of kvbound: one root, a few branches that a caller may want to tell apart."""


class KvboundError(Exception):
    """Root of every error that kvbound raises on purpose; its message is meant to be shown to a user."""


class InputError(KvboundError):
    """The data are wrong: the message names the file, the row, the value and the way out."""


class OptionError(KvboundError):
    """An option or a name (policy, method, limit) is not one that kvbound knows or accepts."""


class ScheduleError(KvboundError):
    """A schedule breaks a rule of the problem; the message lists the first violations."""


class CertificateError(KvboundError):
    """A bound certificate is malformed, belongs to another instance or claims more than it proves."""


class SizeError(KvboundError):
    """A model would exceed a memory or size limit; the message gives the estimate and a method that fits."""


class SolverError(KvboundError):
    """A solver contradicted itself or the checker (a claimed bound above a checked schedule, an unknown status)."""


class LimitError(KvboundError):
    """A limit came before there was any answer; the message says which one to raise."""
