"""The commands do what they say, print what can be read, and end with the code that says how it went."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from fix_gateway import (
    ALICE,
    BOB,
    CHEMIST,
    CLINIC,
    KEY,
    NASTY,
    Installation,
    Typed,
    environment,
    gateway,
    limits,
)
from fix_ledger import declare_ledger
from warm_python import forks

from gateway.auth.keys import parse_key
from gateway.budget.account import Currency, Ledger
from gateway.budget.guarantees import Guarantee
from gateway.cli import budget
from gateway.errors import BudgetExhausted
from gateway.state.anchor import GENESIS
from gateway.trail.chain import canonical_json
from gateway.units import Delta, Epsilon

# ---- subject ----


def test_subject_is_suspended_listed_and_resumed(typed: Typed) -> None:
    """Each act is told, is done once, and has its record; names that nobody has are refused."""
    with typed.installation.open() as clerk:
        clerk.open_books()
    said = typed.done("subject", "suspend", "alice", "--dataset", "clinic")
    assert said == "alice is suspended on clinic\n"
    assert typed.done("subject", "suspend", "alice") == "alice is suspended on every dataset\n"
    assert typed.done("subject", "suspend", "alice") == "alice is already suspended\n"
    listed = json.loads(typed.done("subject", "list", "--json"))["subjects"]
    suspended = {one["subject"]: [each["dataset"] for each in one["suspended"]] for one in listed}
    assert suspended["alice"] == [None, "clinic"]
    assert suspended["bob"] == []
    assert "every dataset since" in typed.done("subject", "list")
    assert len(typed.done("subject", "resume", "alice").splitlines()) == 2
    assert typed.done("subject", "resume", "alice") == "alice is not suspended\n"
    for arguments, code in ((("mallory",), "GW810"), (("alice", "--dataset", "clinik"), "GW815")):
        done = typed.run("subject", "suspend", *arguments)
        assert done.code == 2
        assert code in done.err
    kinds = typed.installation.rows(
        "SELECT kind FROM trail_records WHERE kind LIKE 'subject%' ORDER BY seq"
    )
    assert [kind for (kind,) in kinds] == ["subject_suspended"] * 2 + ["subject_resumed"] * 2
    assert "intact" in typed.done("audit", "verify")


# ---- key ----


def test_key_create_prints_the_key_alone(typed: Typed) -> None:
    """A script can take standard output as the key; the state does not hold it."""
    out = typed.done("key", "create", "alice")
    key = parse_key(out.removesuffix("\n"))
    assert key is not None
    secret = key.secret.get_secret_value()
    for (row,) in typed.installation.rows(
        "SELECT row(k.*, t.*)::text FROM api_keys k, trail_records t"
    ):
        assert secret not in str(row)
    assert typed.installation.rows("SELECT kind, subject FROM trail_records") == [
        ("key_created", "alice")
    ]


def test_key_create_is_refused_when_there_is_no_such_subject(typed: Typed) -> None:
    """Only who stands in the policies gets a key, and a bad name is told without its tricks."""
    for subject in ("mallory", "", "alice\n", "ALICE", "\x1b[2J", "a" * 5000):
        done = typed.run("key", "create", subject)
        assert (done.code, done.out) == (2, "")
        assert "GW810" in done.err
        assert "\x1b" not in done.err
        assert len(done.err.splitlines()) == 2
    assert typed.installation.rows("SELECT FROM trail_records") == []


def test_key_create_is_refused_when_the_duration_is_none(typed: Typed) -> None:
    """A duration that cannot be understood makes no key at all, least of all one without an end."""
    for duration in ("", "90", "0d", "-1d", "1y", "1.5d", "9" * 100 + "d", "99999w"):
        done = typed.run("key", "create", "alice", f"--expires={duration}")
        assert (done.code, done.out) == (2, "")
        assert "GW815" in done.err
    assert typed.installation.rows("SELECT FROM api_keys") == []


def test_key_create_says_so_when_there_are_no_subjects(typed: Typed) -> None:
    """A missing subjects file is told by its name."""
    (typed.installation.home / "policies" / "subjects.yaml").unlink()
    done = typed.run("key", "create", "alice")
    assert done.code == 2
    assert "subjects.yaml" in done.err


def test_key_list_shows_every_key_and_no_secret(typed: Typed) -> None:
    """A key's life is listed, with JSON for programs; nothing in it opens a door."""
    keys = [parse_key(typed.done("key", "create", name).strip()) for name in ("alice", "bob")]
    expiring = parse_key(typed.done("key", "create", "eve", "--expires", "12h").strip())
    assert keys[0] is not None
    assert expiring is not None
    assert f"key {keys[0].id} of alice is revoked" in typed.done("key", "revoke", keys[0].id)
    table, listed = typed.done("key", "list"), json.loads(typed.done("key", "list", "--json"))
    by_id = {one["id"]: one for one in listed["keys"]}
    assert len(by_id) == 3
    assert by_id[keys[0].id]["revoked_at"]
    assert by_id[expiring.id]["expires_at"]
    assert not by_id[expiring.id]["revoked_at"]
    for key in (*keys, expiring):
        assert key is not None
        assert key.id in table
        assert key.secret.get_secret_value() not in table + str(listed)


@pytest.mark.parametrize("way", ["id", "key"])
def test_key_revoke_takes_a_key_or_its_id(typed: Typed, way: str) -> None:
    """Who found a key lying about can revoke it with what was found."""
    text = typed.done("key", "create", "alice").strip()
    key = parse_key(text)
    assert key is not None
    typed.done("key", "revoke", key.id if way == "id" else text)
    again = typed.run("key", "revoke", key.id)
    assert again.code == 2
    assert "already revoked" in again.err


def test_key_revoke_is_refused_when_there_is_no_such_key(typed: Typed) -> None:
    """A mistyped key is not repeated: it may be most of a real one."""
    text = typed.done("key", "create", "alice").strip()
    for mistyped in ("aaaaaaaaaaaa", text[:-1], "\x1b[2J"):
        done = typed.run("key", "revoke", mistyped)
        assert done.code == 2
        assert "GW811" in done.err
        assert text[20:-1] not in done.err
        assert "\x1b" not in done.err


# ---- budget ----


def with_books(typed: Typed) -> None:
    with typed.installation.open() as clerk:
        clerk.open_books()
        clerk.ask(ALICE, "0.1")
        clerk.ask(CHEMIST, "0.1", delta="1e-9")


def test_budget_show_prints_every_account(typed: Typed) -> None:
    """Cap, spent and remaining are there for people and, as numbers, for programs."""
    assert typed.done("budget", "show") == "no accounts are open\n"
    assert json.loads(typed.done("budget", "show", "--json")) == {"accounts": []}
    with_books(typed)
    accounts = {
        one["account"]: one
        for one in json.loads(typed.done("budget", "show", "--json"))["accounts"]
    }
    assert len(accounts) == 6
    assert accounts[ALICE]["dataset"] == "clinic"
    assert (accounts[ALICE]["epsilon_limit"], accounts[ALICE]["epsilon_spent"]) == (2, 0.1)
    assert accounts[ALICE]["epsilon_remaining"] == 1.9
    assert accounts[ALICE]["window"]["epsilon_remaining"] == 1.4
    assert accounts[BOB]["window"] is None
    table = typed.done("budget", "show")
    for account in accounts:
        assert account in table
    assert "1.4 of 1.5 left this month" in table


def test_budget_show_prints_one_dataset_when_it_is_named(typed: Typed) -> None:
    """An unknown dataset has no accounts, which is no error."""
    with_books(typed)
    shown = json.loads(typed.done("budget", "show", "--json", "--dataset", "labs"))
    assert {one["dataset"] for one in shown["accounts"]} == {"labs"}
    assert typed.done("budget", "show", "--dataset", "none'; --") == "no accounts are open\n"


def test_budget_grant_changes_what_it_names_and_nothing_else(typed: Typed) -> None:
    """What is left out stays as it is, and every change is recorded with who made it."""
    with_books(typed)
    before = typed.installation.limits()
    out = typed.done("budget", "grant", ALICE, "--epsilon", "0.75")
    assert f"{ALICE}: epsilon 2 -> 0.75" in out
    after = typed.installation.limits()
    assert after[ALICE] == ("3/4", *before[ALICE][1:])
    assert {name: value for name, value in after.items() if name != ALICE} == {
        name: value for name, value in before.items() if name != ALICE
    }
    typed.done("budget", "grant", ALICE, "--epsilon", "1", "--delta", "1e-9", "--window", "day:0.5")
    assert typed.installation.limits()[ALICE] == ("1/1", "1/1000000000", "day", "1/2")
    typed.done("budget", "grant", ALICE, "--epsilon", "1", "--window", "none")
    assert typed.installation.limits()[ALICE] == ("1/1", "1/1000000000", None, None)
    actors = typed.installation.rows(
        "SELECT DISTINCT body::jsonb ->> 'actor' FROM trail_records WHERE kind = 'limits_set'"
    )
    assert len(actors) == 1
    assert str(actors[0][0]).startswith("os:")
    assert typed.installation.verdict().intact


def test_budget_grant_lowers_below_what_is_spent(typed: Typed) -> None:
    """What was given stays given; nothing remains, and less than nothing is not shown."""
    with_books(typed)
    typed.done("budget", "grant", ALICE, "--epsilon", "0.05")
    (alice,) = (
        one
        for one in json.loads(typed.done("budget", "show", "--json"))["accounts"]
        if one["account"] == ALICE
    )
    assert (alice["epsilon_spent"], alice["epsilon_remaining"]) == (0.1, 0)


@pytest.mark.parametrize("account", [ALICE, CHEMIST])
def test_budget_show_lists_accounts_with_limits_of_zero(typed: Typed, account: str) -> None:
    """Zero in epsilon and delta: the account is closed, and what was released and promised stays as it was."""

    def found() -> dict[str, Any]:
        shown = json.loads(typed.done("budget", "show", "--json"))["accounts"]
        return next(one for one in shown if one["account"] == account)

    with_books(typed)
    before = found()
    typed.done("budget", "grant", account, "--epsilon", "0", "--delta", "0")
    after = found()
    assert (after["epsilon_limit"], after["delta_limit"]) == (0, 0)
    for told in ("promised", "released"):
        assert after[told] == before[told]
    row = next(line for line in typed.done("budget", "show").splitlines() if account in line)
    assert f"{after['released']['epsilon']:g}" in row


def test_budget_show_says_none_where_no_epsilon_holds() -> None:
    """The text that docs/budget.md gives."""
    assert budget.told(Guarantee(None, Delta.zero())) == "none"
    assert budget.told(Guarantee(Epsilon.parse("1.5"), Delta.zero())) == "1.5"


def test_budget_grant_is_refused_when_an_amount_is_none(typed: Typed) -> None:
    """A slip of the finger changes no cap."""
    with typed.installation.open() as clerk:
        clerk.open_books()
    before = typed.installation.limits()
    for epsilon in ("abc", "-1", "nan", "inf", "1e999", "1/2", "", "0x10", "\u0661", "9" * 100):
        done = typed.run("budget", "grant", ALICE, f"--epsilon={epsilon}")
        assert (done.code, done.out) == (2, ""), epsilon
        assert "GW815" in done.err
    for more in (
        *("--delta=1", "--delta=-1", "--delta=x", "--window=year:1", "--window=month"),
        *("--window=month:", "--window=month:x", "--window="),
    ):
        done = typed.run("budget", "grant", ALICE, "--epsilon=1", more)
        assert (done.code, done.out) == (2, ""), more
        assert "GW815" in done.err
    assert typed.installation.limits() == before


def test_budget_grant_is_refused_when_there_is_no_such_account(typed: Typed) -> None:
    """An account is opened by a policy, not by a typing mistake."""
    for name in ("nobody", "", "\x1b[2J", f"{CLINIC} "):
        done = typed.run("budget", "grant", name, "--epsilon", "1")
        assert done.code == 2
        assert "does not exist" in done.err
        assert "\x1b" not in done.err


def test_budget_grant_is_refused_when_the_cap_would_buy_nothing(typed: Typed) -> None:
    """In a Gaussian ledger epsilon without delta is a mistake, and is told."""
    with typed.installation.open() as clerk:
        clerk.open_books()
    done = typed.run("budget", "grant", CHEMIST, "--epsilon", "1", "--delta", "0")
    assert done.code == 1
    assert "delta" in done.err
    assert typed.run("budget", "grant", ALICE, "--epsilon", "1", "--delta", "0").code == 0


@pytest.mark.parametrize("price", ["0.7", "0.123456789012345678", "1e-9"])
def test_budget_remaining_can_be_had_when_it_is_asked_for_exactly(typed: Typed, price: str) -> None:
    """What is shown as remaining is never rounded up, so a question at that price is answered."""
    with typed.installation.open() as clerk:
        clerk.open_books()
        for account in (CHEMIST, ALICE):
            clerk.limit(account, limits("3"))
            clerk.ask(account, price)
            shown = json.loads(typed.done("budget", "show", "--json"))["accounts"]
            (left,) = (one["epsilon_remaining"] for one in shown if one["account"] == account)
            clerk.ask(account, repr(left))
            with pytest.raises(BudgetExhausted):
                clerk.ask(account, "1e-7")


# ---- data ----


def test_data_refreshed_begins_a_new_epoch_of_the_dataset_it_names(typed: Typed) -> None:
    """The act is in the trail with who did it, and in the log of that dataset alone."""
    with_books(typed)
    out = typed.done("data", "refreshed", "--dataset", "labs")
    assert out == "labs: earlier answers will not be reused\n"
    typed.done("data", "refreshed", "--dataset", "labs")
    events = typed.installation.rows("SELECT dataset, ordinal, kind, release FROM asked_events")
    assert sorted(events) == [("labs", 1, "refreshed", None), ("labs", 2, "refreshed", None)]
    records = typed.installation.rows(
        "SELECT dataset, body::jsonb ->> 'actor' FROM trail_records WHERE kind = 'data_refreshed'"
    )
    assert [dataset for dataset, _ in records] == ["labs", "labs"]
    assert all(str(actor).startswith("os:") for _, actor in records)
    assert typed.installation.verdict().intact


def test_data_refreshed_means_the_only_dataset_when_none_is_named(typed: Typed) -> None:
    """Where there are several, or none, nothing is done and they are named."""
    assert "GW815" in typed.run("data", "refreshed").err
    with typed.installation.open() as clerk:
        ledger = Ledger(CLINIC, "postgresql://source", "patient", Currency.PURE)
        declare_ledger(clerk.journal, clerk.trail, ledger, limits("1"), clerk.now)
    assert typed.done("data", "refreshed").startswith("clinic: ")
    with typed.installation.open() as clerk:
        ledger = Ledger("dataset:labs", "postgresql://labs", "patient", Currency.PURE)
        declare_ledger(clerk.journal, clerk.trail, ledger, limits("1"), clerk.now)
    done = typed.run("data", "refreshed")
    assert (done.code, done.out) == (2, "")
    assert "--dataset, one of clinic, labs" in done.err
    assert typed.installation.rows("SELECT count(*) FROM asked_events") == [(1,)]


def test_data_refreshed_is_refused_when_there_is_no_such_dataset(typed: Typed) -> None:
    """A mistyped dataset is not refreshed in place of the right one, and is told without its tricks."""
    with_books(typed)
    for name in ("", "clinics", "dataset:clinic", "\x1b[2J"):
        done = typed.run("data", "refreshed", f"--dataset={name}")
        assert (done.code, done.out) == (2, "")
        assert "does not exist" in done.err
        assert "\x1b" not in done.err
    assert typed.installation.rows("SELECT FROM asked_events") == []


# ---- audit ----


def test_audit_verify_says_so_when_the_trail_is_intact(typed: Typed) -> None:
    """Exit code 0, and how much was read and anchored."""
    with typed.installation.open() as clerk:
        clerk.live()
    ((count,),) = typed.installation.rows("SELECT count(*) FROM trail_records")
    out = typed.done("audit", "verify")
    assert out.startswith(f"the trail is intact: {count} records, anchored at {count}")
    assert json.loads(typed.done("audit", "verify", "--json")) == {
        "intact": True,
        "records": count,
        "anchored": count,
        "problem": None,
        "first_bad": None,
    }


def test_audit_verify_fails_when_the_trail_is_not_intact(typed: Typed) -> None:
    """Exit code 1 and one line that names the record; JSON for programs beside it."""
    with typed.installation.open() as clerk:
        clerk.live()
    typed.installation.change("UPDATE trail_records SET subject = 'mallory' WHERE seq = 17")
    done = typed.run("audit", "verify")
    assert (done.code, done.out) == (1, "")
    assert "GW814" in done.err
    assert "record 17 " in done.err
    done = typed.run("audit", "verify", "--json")
    assert done.code == 1
    assert (done.json["intact"], done.json["first_bad"]) == (False, 17)


def test_audit_search_prints_what_matches(typed: Typed) -> None:
    """Filters narrow, `-n` keeps the newest, JSON lines and the table agree."""
    with typed.installation.open() as clerk:
        clerk.live()

    def lines(*words: str) -> list[dict[str, object]]:
        return [json.loads(line) for line in typed.done("audit", *words, "--json").splitlines()]

    charged = lines("search", "--kind", "charged", "--subject", "alice")
    assert len(charged) == 5
    assert all(one["subject"] == "alice" for one in charged)
    assert lines("search", "--kind", "charged", "--subject", "alice", "-n", "2") == charged[-2:]
    assert lines("tail", "-n", "3") == lines("search")[-3:]
    assert lines("search", "--since", "2200-01-01") == []
    assert lines("search", "--until", "2200-01-01T00:00+02:00") == lines("search")
    assert lines("search", "--query-id", str(charged[0]["query_id"]))[0] == charged[0]
    assert typed.done("audit", "search", "--subject", "nobody\udcff") == "no records match\n"
    assert len(typed.done("audit", "tail", "-n", "3").splitlines()) == 2 + 3


def test_audit_search_is_refused_when_the_time_is_none(typed: Typed) -> None:
    """A time that is none is a usage error, not an empty answer."""
    for moment in ("garbage", "", "2026-13-01", "12:00", "2026-02-30", "9" * 500):
        done = typed.run("audit", "search", f"--since={moment}")
        assert (done.code, done.out) == (2, ""), moment
        assert "GW815" in done.err


def test_audit_output_cannot_be_forged_by_what_analysts_write(typed: Typed) -> None:
    """One line a record, in the table, in JSON and in an export: no escape sequence, no second line."""
    with typed.installation.open() as clerk:
        clerk.open_books()
        clerk.ask(ALICE, "0.1", sql=NASTY)
        clerk.turn_away(NASTY)
    table = typed.done("audit", "tail")
    as_json, export = typed.done("audit", "tail", "--json"), typed.done("audit", "export")
    count = len(typed.installation.rows("SELECT FROM trail_records"))
    assert [len(shown.splitlines()) for shown in (table, as_json, export)] == [
        count + 2,
        count,
        count,
    ]
    for line in (table + as_json + export).splitlines():
        assert line.isprintable()
    assert export.isascii()
    assert "SELECT '·[2J··" in table
    widths = {len(line) for line in table.splitlines()[2:]}
    assert max(widths) < 160


def test_audit_output_goes_on_when_a_record_is_unreadable(typed: Typed) -> None:
    """Who tampers with one record does not keep an auditor from reading the others."""
    with typed.installation.open() as clerk:
        clerk.live()
    count = len(typed.installation.rows("SELECT FROM trail_records"))
    for seq, body in enumerate(
        (
            "no json",
            "{}",
            "[]",
            "5",
            "",
            '{"at": 1, "kind": "x"}',
            "NaN",
            "[" * 100_000,
            '{"at":NaN}',
        ),
        start=3,
    ):
        typed.installation.change(
            "UPDATE trail_records SET body = :b WHERE seq = :s", b=body, s=seq
        )
    table = typed.done("audit", "tail", "-n", "1000")
    assert table.count("unreadable") == 9
    for words in (("tail", "-n", "1000", "--json"), ("export",)):
        lines = [json.loads(line) for line in typed.done("audit", *words).splitlines()]
        assert [line["seq"] for line in lines] == list(range(1, count + 1))
        assert lines[2]["body"] == "no json"
    assert typed.run("audit", "verify").err.count("record 3 ") == 1


def test_audit_table_can_be_printed_when_the_terminal_knows_few_signs(typed: Typed) -> None:
    """A terminal of another encoding shows what it can, and nothing fails."""
    with typed.installation.open() as clerk:
        clerk.open_books()
        clerk.ask(ALICE, "0.1", sql="SELECT '漢字😀é'" + "x" * 100)
    for encoding in ("ascii", "latin-1"):
        env = environment(typed.installation, PYTHONIOENCODING=encoding)
        done = subprocess.run(
            [sys.executable, "-m", "gateway", "audit", "tail"],
            env=env,
            cwd="/",
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert b"\\u6f22" in done.stdout


def test_audit_export_verifies_again_from_its_lines_alone(typed: Typed) -> None:
    """An export carries the evidence with it: with the key, the chain is computed anew."""
    with typed.installation.open() as clerk:
        clerk.live()
    position = GENESIS
    for line in typed.done("audit", "export").splitlines():
        said = json.loads(line)
        seq, mac = said.pop("seq"), said.pop("mac")
        position = KEY.link(position, canonical_json(said))
        assert (seq, mac) == (position.seq, position.mac)
    assert position.seq >= 40


def test_audit_export_is_quiet_when_its_reader_leaves(typed: Typed) -> None:
    """`gateway audit export | head -1` prints one line and no complaint, long or short."""
    with typed.installation.open() as clerk:
        clerk.open_books()
        for words in (("export",), ("verify", "--json")):
            first = _read_one_line(typed.installation, words)
            assert first.startswith("{")
        for _ in range(30):
            clerk.ask(ALICE, "0.001", sql="SELECT " + "x" * 10_000)
        assert _read_one_line(typed.installation, ("export",)).startswith("{")


def test_audit_export_waits_for_its_reader_when_that_is_slow(typed: Typed) -> None:
    """Whoever pages through an export may take longer than a question may idle."""
    with typed.installation.open() as clerk:
        clerk.open_books()
        for _ in range(30):
            clerk.ask(ALICE, "0.001", sql="SELECT " + "x" * 10_000)
    with forks():
        exporting = subprocess.Popen(
            [sys.executable, "-m", "gateway", "audit", "export"],
            env=environment(typed.installation),
            cwd="/",
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert exporting.stdout is not None
    exporting.stdout.readline()
    time.sleep(5.5)
    out, err = exporting.communicate(timeout=60)
    assert (exporting.returncode, err) == (0, "")
    assert json.loads(out.splitlines()[-1])["query_id"] == "q-0030"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_audit_export_is_one_clear_line_when_the_disk_is_full(typed: Typed) -> None:
    """An export that could not be written ends with 1 and says so."""
    with typed.installation.open() as clerk:
        clerk.live()
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "gateway", "audit", "export"],
            env=environment(typed.installation),
            cwd="/",
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["gateway: there is no space left where this is written to"]


# ---- db ----


def test_db_upgrade_and_current_say_the_revision(typed: Typed) -> None:
    """An empty database is told as such, upgraded, and upgraded again without harm."""
    installation = typed.installation
    installation.lose()
    for name, value in environment(installation).items():
        os.environ[name] = value  # put back by the fixture
    (installation.home / "anchor").unlink(missing_ok=True)
    done = typed.run("budget", "show")
    assert done.code == 1
    assert "gateway db upgrade" in done.err
    for _ in range(2):
        assert re.fullmatch(r"the state is at revision \w+\n", typed.done("db", "upgrade"))
        assert re.fullmatch(r"(\w+) \(this gateway needs \1\)\n", typed.done("db", "current"))
    typed.done("budget", "show")


def test_db_backup_and_restore_bring_everything_back(typed: Typed) -> None:
    """The two commands an operator needs on a bad day, and what they tell."""
    with typed.installation.open() as clerk:
        clerk.live()
        key = clerk.key("bob").key
    assert "the state up to trail record 41" in typed.done("db", "backup", "today")
    assert typed.run("db", "backup", "today").code == 1
    with typed.installation.open() as clerk:
        clerk.ask(ALICE, "0.1")
        clerk.limit(BOB, limits("0.2"))
        clerk.revoke(key.id)
    spent, allowed = typed.installation.spent(), typed.installation.limits()
    refused = typed.run("db", "restore", "today")
    assert refused.code == 1
    assert "--replace" in refused.err
    out = typed.done("db", "restore", "today", "--replace")
    assert f"charged 1/10 to {ALICE}: given, but unknown to this state" in out
    assert f"set the limits of {BOB} again, to epsilon 0.2" in out
    assert f"revoked key {key.id} of bob again" in out
    assert "nothing that was spent is forgotten" in out
    assert (typed.installation.spent(), typed.installation.limits()) == (spent, allowed)
    typed.done("audit", "verify")


def test_db_restore_does_not_promise_when_there_is_no_anchor(typed: Typed) -> None:
    """Without an anchor nobody knows what was lost, and the command does not say otherwise."""
    with typed.installation.open() as clerk:
        clerk.live()
    typed.done("db", "backup", "today")
    (typed.installation.home / "anchor").unlink()
    out = typed.done("db", "restore", "today", "--replace")
    assert "not known" in out
    assert "forgotten" not in out


def test_db_commands_fail_clearly_when_the_state_goes_away(installation: Installation) -> None:
    """A database that is gone is one line, whichever command meets it."""
    env = environment(installation)
    env["GATEWAY_STATE_URL"] = env["GATEWAY_STATE_URL"].replace("/test_", "/gone_")
    done = gateway("budget", "show", env=env)
    assert done.code == 1
    assert "GW805" in done.err
    assert "does not exist" in done.err
    assert str(installation.urls.application.password) not in done.err


def _read_one_line(installation: Installation, words: tuple[str, ...]) -> str:
    with forks():
        command = subprocess.Popen(
            [sys.executable, "-m", "gateway", "audit", *words],
            env=environment(installation),
            cwd="/",
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert command.stdout is not None
    assert command.stderr is not None
    line = command.stdout.readline()
    command.stdout.close()
    complaint = command.stderr.read()
    command.stderr.close()
    assert command.wait(timeout=60) in {0, 1}
    assert complaint == ""
    return line
