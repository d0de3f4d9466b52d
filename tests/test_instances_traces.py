"""The real traces, when they are there (`../shared/traces` or KVBOUND_TRACES): rows and summary statistics.

Expected values are the published summary of the trace collection: rows, then min, median, mean, p95, max.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from kvbound.instances import load, read_trace
from kvbound.instances.describe import summarise

FOLDER = Path(os.environ.get("KVBOUND_TRACES", Path(__file__).resolve().parents[2] / "shared" / "traces"))
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no traces in {FOLDER}; set KVBOUND_TRACES")

ARXIV = "arxiv_summarization_stats_llama2_tokenizer_filtered_v2.csv"
CONV, CODE = "AzureLLMInferenceTrace_conv.csv", "AzureLLMInferenceTrace_code.csv"
TABLE = {
    CONV: (19366, (2, 1020, 1154.7, 4083, 14050), (7, 129, 211.1, 451, 1000)),
    CODE: (8819, (3, 1469, 2047.8, 7315, 7437), (6, 13, 27.9, 90, 1899)),
    "splitwise_conv.csv": (19366, (2, 1020, 1154.7, 4083, 14050), (7, 129, 211.1, 451, 1000)),
    "splitwise_code.csv": (8819, (3, 1469, 2047.8, 7315, 7437), (6, 13, 27.9, 90, 1899)),
    ARXIV: (28257, (1, 2730, 2588.1, 3813, 4054), (5, 167, 291.4, 737, 4056)),
    "sharegpt_8k_filtered_stats_llama2_tokenizer.csv": (
        30731,
        (1, 1730, 2340.0, 6563, 8141),
        (2, 415, 438.7, 920, 1024),
    ),
    # The table says 7601, the midpoint of the two middle values 7598 and 7604; the inverted CDF is 7598.
    "mooncake_conversation_trace.head.jsonl": (
        5980,
        (891, 7598, 12793.3, 41392, 123192),
        (1, 356, 346.9, 708, 2000),
    ),
    "mooncake_synthetic_trace.jsonl": (3993, (13, 11587, 15325.5, 49009, 191378), (1, 69, 149.1, 519, 893)),
}


@pytest.mark.parametrize("name", TABLE)
def test_rows_and_statistics(name: str) -> None:
    rows, prompt, output = TABLE[name]
    trace = read_trace(FOLDER / name)
    assert len(trace) == rows
    assert trace.notes == ()
    for values, expected in ((trace.prompt, prompt), (trace.output, output)):
        s = summarise(values)
        assert (s.min, s.median, s.p95, s.max) == (expected[0], expected[1], expected[3], expected[4])
        assert s.mean == pytest.approx(expected[2], abs=0.051)


@pytest.mark.parametrize(
    ("name", "span"),
    [
        (CONV, 3501.7),
        (CODE, 3435.9),
        ("mooncake_conversation_trace.head.jsonl", 1866.0),
        ("mooncake_synthetic_trace.jsonl", 1022.0),
    ],
)
def test_arrivals_in_steps(name: str, span: float) -> None:
    arrival = load(str(FOLDER / name), memory=200_000, step_seconds=0.001).problem.requests.arrival
    assert arrival[0] == 0
    assert arrival.max() / 1000 == pytest.approx(span, abs=0.051)
    assert (np.diff(arrival) >= 0).all()


@pytest.mark.parametrize(("azure", "vidur"), [(CONV, "splitwise_conv.csv"), (CODE, "splitwise_code.csv")])
def test_two_formats_of_one_trace_give_one_problem(azure: str, vidur: str) -> None:
    a, b = (load(str(FOLDER / name), step_seconds=0.0375).problem for name in (azure, vidur))
    assert a.fingerprint() == b.fingerprint()


def test_main_job_sources() -> None:
    for name in (CONV, ARXIV):
        loaded = load(str(FOLDER / name), memory=16492, limit=2000)
        assert (loaded.problem.n, loaded.dropped) == (2000, 0)


def test_burstgpt_fixture() -> None:
    trace = read_trace(FOLDER / "BurstGPT_1.head5.csv")
    assert trace.format == "BurstGPT CSV"
    assert trace.output.tolist() == [18, 230, 276, 647, 215]
