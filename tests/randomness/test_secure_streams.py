"""Secret bits: never the same words twice, in threads, after forks, under new keys, with and without the cipher."""

from __future__ import annotations

import multiprocessing
import os
import threading

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from hush import SecureSource, SeededSource
from hush.randomness import source as sources

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")


def child_words(count: int) -> list[int]:
    """What a forked child draws first."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover
        os.write(writer, SecureSource().words(count).tobytes())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        received = pipe.read()
    os.waitpid(child, 0)
    return np.frombuffer(received, dtype=np.uint64).tolist()


@needs_fork
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_children_and_their_parent_draw_different_words() -> None:
    SecureSource().words(1)  # the parent has a key before it forks
    drawn = [*child_words(64), *child_words(64), *SecureSource().words(64).tolist()]
    assert len(set(drawn)) == 192


@needs_fork
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_fork_is_seen_even_if_the_number_of_the_process_comes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    number = os.getpid()
    SecureSource().words(1)
    monkeypatch.setattr(sources.os, "getpid", lambda: number)
    assert not set(child_words(64)) & set(SecureSource().words(64).tolist())


def test_a_new_process_number_is_seen_without_the_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy made below Python, where no hook runs."""
    SecureSource().words(1)
    before = sources._KEYSTREAM.encryptor
    monkeypatch.setattr(sources.os, "getpid", lambda: -1)
    SecureSource().words(1)
    assert sources._KEYSTREAM.encryptor is not before


def draw_in_worker(_: int) -> list[int]:
    return SecureSource().words(64).tolist()


@needs_fork
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_workers_draw_different_words() -> None:
    SecureSource().words(1)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        drawn = sum(pool.map(draw_in_worker, range(6)), SecureSource().words(64).tolist())
    assert len(set(drawn)) == 7 * 64


def test_threads_draw_different_words() -> None:
    drawn: list[int] = []

    def work() -> None:
        for _ in range(50):
            drawn.extend(SecureSource().words(20).tolist())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(drawn) == len(set(drawn)) == 4000


def test_the_stream_is_that_of_the_cipher_and_a_used_up_key_is_renewed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two keys of known bytes, each good for 64 bytes: the words are AES-256-CTR of zeros under one, then the other."""
    keys = iter([bytes([1]) * 32, bytes([2]) * 32])
    monkeypatch.setattr(
        sources, "_encryptor", lambda: Cipher(algorithms.AES256(next(keys)), modes.CTR(bytes(16))).encryptor()
    )
    monkeypatch.setattr(sources, "RENEW", 64)
    monkeypatch.setattr(sources, "_KEYSTREAM", sources._Keystream())
    found = [*SecureSource().words(5).tolist(), *SecureSource().words(3).tolist(), *SecureSource().words(8).tolist()]
    expected = b"".join(
        Cipher(algorithms.AES256(bytes([k]) * 32), modes.CTR(bytes(16))).encryptor().update(bytes(64)) for k in (1, 2)
    )
    assert found == np.frombuffer(expected, dtype=np.uint64).tolist()


def test_long_draws_are_pieced_together_without_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "PIECE", 1 << 10)
    words = SecureSource().words(3000)
    assert len(set(words.tolist())) == 3000


def test_bits_are_fair_with_and_without_the_cipher(monkeypatch: pytest.MonkeyPatch) -> None:
    for installed in (True, False):
        monkeypatch.setattr(sources, "_ciphers", lambda installed=installed: installed)
        words = SecureSource().words(40_000)
        assert words.dtype == np.uint64
        share = ((words[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)).mean(axis=0)
        assert np.abs(share - 0.5).max() < 6 * 0.5 / 200
        assert len(SecureSource().words(0)) == 0


def test_a_seed_gives_these_words_for_ever() -> None:
    """SHAKE-256: the same on every machine and with every version."""
    source = SeededSource(1)
    assert source.words(2).tolist() == [GOLDEN[0], GOLDEN[1]]
    assert source.words(1).tolist() == [GOLDEN[2]]


GOLDEN = (7676280269564738861, 5452028785127885280, 13217896338187622995)
