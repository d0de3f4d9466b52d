"""Readers: each format on a handwritten file, each quirk, one bad file per error."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvbound.instances import load, read_trace
from kvbound.models import InputError

AZURE = "TIMESTAMP,ContextTokens,GeneratedTokens"
GOOD = {
    "Azure CSV": f"{AZURE}\r\n2023-11-16 18:15:46.6805900,374,44\r\n2023-11-16 18:15:50.9951690,396,1",
    "vidur replay CSV": "arrived_at,num_prefill_tokens,num_decode_tokens\n0.0,374,44\n4.314579,396,1\n",
    "vidur length CSV": (
        "num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio\n374,44,418,8.5\n396,1,397,396.0\n"
    ),
    "Mooncake JSONL": (
        '{"timestamp": 0, "input_length": 374, "output_length": 44, "hash_ids": [0]}\n'
        '{"timestamp": 4314, "input_length": 396, "output_length": 1, "hash_ids": [0]}\n'
    ),
    "BurstGPT CSV": (
        "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
        "5,ChatGPT,374,44,418,Conversation log\n9.3,GPT-4,396,1,397,API log\n"
    ),
    "plain CSV": "prompt,output\n374,44\n396,1\n",
}


@pytest.fixture
def write(tmp_path: Path):
    def put(text: str | bytes, name: str = "file.txt") -> str:
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return str(path)

    return put


@pytest.mark.parametrize("form", GOOD)
@pytest.mark.parametrize("variant", ["as is", "crlf", "bom", "no final newline", "blank lines at the end"])
def test_format_is_found_by_content(write, form: str, variant: str) -> None:
    text = GOOD[form]
    text = {
        "as is": text,
        "crlf": text.replace("\r\n", "\n").replace("\n", "\r\n"),
        "bom": "\ufeff" + text,
        "no final newline": text.rstrip("\r\n"),
        "blank lines at the end": text + "\n\n  \n",
    }[variant]
    trace = read_trace(write(text, "anything.dat"))
    assert (trace.format, trace.prompt.tolist(), trace.output.tolist()) == (form, [374, 396], [44, 1])
    first = 1 if form == "Mooncake JSONL" else 2
    assert trace.line.tolist() == [first, first + 1]


def test_times_are_exact_in_every_clock(write) -> None:
    gaps = {}
    for form, text in GOOD.items():
        trace = read_trace(write(text))
        if trace.time is not None:
            gaps[form] = int(trace.time[1] - trace.time[0])
    assert gaps == {
        "Azure CSV": 4_314_579_000,
        "vidur replay CSV": 4_314_579_000,
        "Mooncake JSONL": 4_314_000_000,
        "BurstGPT CSV": 4_300_000_000,
    }


def test_float_noise_makes_no_difference_to_steps(write) -> None:
    rows = "".join(f"{t},5,5\n" for t in ("0.0", "5.8926549999999995", "11.836632999999999"))
    loaded = load(write("arrived_at,num_prefill_tokens,num_decode_tokens\n" + rows), step_seconds=0.000001)
    assert loaded.problem.requests.arrival.tolist() == [0, 5_892_655, 11_836_633]


def test_azure_with_zone_and_seven_digits(write) -> None:
    rows = "2024-05-10 00:00:00.009930+00:00,1,1\n2024-05-10 02:00:01.0099301+02:00,1,1\n"
    trace = read_trace(write(f"{AZURE}\n{rows}"))
    assert int(trace.time[1] - trace.time[0]) == 1_000_000_100


def test_burstgpt_3_and_failed_requests(write) -> None:
    path = write(
        "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
        "1,a,0.1,ChatGPT,10,0,10,API log\n2,a,0.1,ChatGPT,0,7,7,API log\n3,a,0.1,GPT-4,8,9,99,API log\n"
    )
    loaded = load(path)
    assert loaded.dropped == 1
    assert loaded.problem.requests.prompt.tolist() == [0, 8]  # prompt 0 is legal
    assert any("1 failed request(s) left out" in note and "line 2" in note for note in loaded.notes)
    assert any("Total tokens is not prompt + output" in note and "line 4" in note for note in loaded.notes)


def test_all_failed(write) -> None:
    with pytest.raises(InputError, match="every request failed"):
        read_trace(write("Timestamp,Request tokens,Response tokens\n1,10,0\n"))


def test_unsorted_and_tied_arrivals_are_sorted_stably(write) -> None:
    rows = "3,1,1\n1,2,1\n3,3,1\n1,4,1\n0,5,1\n"
    loaded = load(write("arrived_at,num_prefill_tokens,num_decode_tokens\n" + rows), step_seconds=1.0)
    assert loaded.problem.requests.prompt.tolist() == [5, 2, 4, 1, 3]
    assert loaded.problem.requests.arrival.tolist() == [0, 1, 1, 3, 3]
    assert any("sorted" in note for note in loaded.notes)


def test_plain_csv_keeps_its_order_and_steps(write) -> None:
    loaded = load(write("output,arrival,prompt,user\n4,9,1,x\n5,2,0,y\n"))
    requests = loaded.problem.requests
    assert requests.prompt.tolist() == [1, 0]
    assert requests.arrival.tolist() == [9, 2]


def test_quoted_fields_and_whole_floats(write) -> None:
    trace = read_trace(write('"prompt","output"\n"12.0"," 7 "\n'))
    assert (trace.prompt.tolist(), trace.output.tolist()) == ([12], [7])


def plain(*rows: str) -> str:
    return "\n".join(("prompt,output,arrival", *rows)) + "\n"


BAD = {
    "empty": ("", "is empty"),
    "only blanks": ("\n \n", "is empty"),
    "no rows": (f"{AZURE}\n", "no rows"),
    "missing column": ("TIMESTAMP,ContextTokens\n1,2\n", "missing column 'GeneratedTokens'.*Azure"),
    "unknown header": ("a,b\n1,2\n", "unknown header 'a,b'.*num_prefill_tokens"),
    "no header": ("1,2\n3,4\n", "add a header"),
    "semicolons": ("prompt;output\n1;2\n", "commas"),
    "column twice": ("prompt,output,prompt\n1,2,3\n", "'prompt' stands twice"),
    "blank first line": ("\nprompt,output\n1,2\n", "line 1 is blank"),
    "blank line inside": (plain("1,1,0", "", "1,1,0"), "line 3 is blank"),
    "short row": (plain("1,1,0", "1,1"), r"line 3 has 2 field\(s\), the header has 3"),
    "negative": (plain("1,1,0", "-5,1,0"), "line 3: prompt is '-5'"),
    "zero output": (plain("1,0,0"), "line 2: output is '0'.*from 1"),
    "fraction": (plain("1.5,1,0"), "line 2: prompt is '1.5'"),
    "huge": (plain("1,100000001,0"), "line 2: output is '100000001'"),
    "very huge": (plain("1," + "9" * 5000 + ",0"), "line 2: output is '9+"),
    "nan": (plain("NaN,1,0"), "line 2: prompt is 'NaN'"),
    "empty cell": (plain(",1,0"), "line 2: prompt is ''"),
    "words": (plain("many,1,0"), "line 2: prompt is 'many'"),
    "negative arrival": (plain("1,1,-1"), "line 2: arrival is '-1'"),
    "open quote": ('prompt,output\n"1,2\n', "not valid CSV"),
    "bad date": (f"{AZURE}\n2023-13-16 18:15:46,1,1\n", "line 2: TIMESTAMP is '2023-13-16"),
    "no date": (f"{AZURE}\nyesterday,1,1\n", "line 2: TIMESTAMP is 'yesterday'"),
    "nan time": ("arrived_at,num_prefill_tokens,num_decode_tokens\nnan,1,1\n", "line 2: arrived_at is 'nan'"),
    "negative time": ("arrived_at,num_prefill_tokens,num_decode_tokens\n-1,1,1\n", "line 2: arrived_at is '-1'"),
    "truncated json": ('{"timestamp": 0, "input_length": 5, "outp', "line 1: not valid JSON.*cut off"),
    "truncated second row": (
        '{"timestamp": 0, "input_length": 5, "output_length": 5}\n{"timest',
        "line 2: not valid JSON",
    ),
    "json array": ("[1, 2]\n", "line 1: expected a JSON object"),
    "json key": ('{"timestamp": 0, "input_length": 5}\n', "line 1: missing key 'output_length'"),
    "json zero": ('{"timestamp": 0, "input_length": 5, "output_length": 0}\n', "line 1: output_length is 0"),
    "json nan": ('{"timestamp": 0, "input_length": NaN, "output_length": 1}\n', "line 1: input_length is nan"),
    "json bool": ('{"timestamp": 0, "input_length": true, "output_length": 1}\n', "line 1: input_length is True"),
    "json string time": ('{"timestamp": "x", "input_length": 1, "output_length": 1}\n', "timestamp is 'x'"),
    "json depth": ("[" * 100_000, "line 1: not valid JSON"),
    "json blank": ('{"timestamp": 0, "input_length": 1, "output_length": 1}\n\n{}', "line 2 is blank"),
    "latin-1": (b"prompt,output\n1,2\n3,\xe9\n", "line 3: byte 0xe9 is not UTF-8"),
    "utf-16": ("prompt,output\n1,2\n".encode("utf-16"), "UTF-16"),
    "gzip": (b"\x1f\x8b\x08\x00abc", "gzip"),
    "binary": (b"\x00\x01\x02\x03", "unknown header"),
    "schedule": ('{"format": "kvbound-schedule"}', "its format is 'kvbound-schedule'"),
    "cut instance": ('{"format":"kvbound-instance","schema_version":1,"na', "not valid JSON.*cut off"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_file(write, case: str) -> None:
    content, message = BAD[case]
    path = write(content)
    with pytest.raises(InputError, match=message) as caught:
        load(path)
    assert path in str(caught.value)
    assert len(str(caught.value)) < 700


def test_missing_file_directory_and_null_byte(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        load(str(tmp_path / "nothing.csv"))
    with pytest.raises(InputError, match="is a directory"):
        load(str(tmp_path))
    with pytest.raises(InputError, match="cannot be read"):
        load("a\0b.csv")


def test_an_instance_is_not_a_trace(write) -> None:
    with pytest.raises(InputError, match="is an instance"):
        read_trace(write('{"format": "kvbound-instance"}'))
