import subprocess
import sys

import pytest
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from django.test import override_settings
from hypothesis import given
from hypothesis import strategies as st

from llm_foundation.encryption import decrypt, encrypt, keyring, new_key, place, sign, verify
from llm_foundation.exceptions import DecryptionFailed, KeyRingMissing

OLD = "b2xkIGtleSBvbGQga2V5IG9sZCBrZXkgb2xkIGtleSE="
NEW = "bmV3IGtleSBuZXcga2V5IG5ldyBrZXkgbmV3IGtleSE="
PLACE = place(table="llm_foundation_note", column="body", row="7")


def ring(*keys):
    return override_settings(LLM_FOUNDATION={"ENCRYPTION_KEYS": list(keys)})


@given(st.binary() | st.text(st.characters()))
def test_what_was_encrypted_comes_back(plain):
    expected = plain if isinstance(plain, bytes) else plain.encode("utf-8", "surrogatepass")
    assert decrypt(encrypt(plain, context=PLACE), context=PLACE) == expected


def test_token_does_not_show_its_content_and_is_new_each_time():
    tokens = {encrypt("the plain text", context=PLACE) for _ in range(3)}
    assert len(tokens) == 3
    assert all("plain" not in token for token in tokens)


@pytest.mark.parametrize(
    "elsewhere",
    [
        place(table="llm_foundation_other", column="body", row="7"),
        place(table="llm_foundation_note", column="title", row="7"),
        place(table="llm_foundation_note", column="body", row="8"),
    ],
)
def test_token_moved_to_another_place_does_not_open(elsewhere):
    token = encrypt("mine", context=PLACE)
    with pytest.raises(DecryptionFailed) as caught:
        decrypt(token, context=elsewhere)
    assert elsewhere in str(caught.value)
    assert token not in str(caught.value)


@pytest.mark.parametrize("damaged", ["", "nonsense", "gAAAAA", "ключ", "\ud800", "====", "gAAAAABn" + "A" * 100])
def test_damaged_token_is_a_typed_error(damaged):
    with pytest.raises(DecryptionFailed):
        decrypt(damaged, context=PLACE)


def test_changed_token_does_not_open():
    token = encrypt("mine", context=PLACE)
    changed = token[:40] + ("A" if token[40] != "A" else "B") + token[41:]
    with pytest.raises(DecryptionFailed):
        decrypt(changed, context=PLACE)


def test_old_key_still_opens_and_the_newest_one_encrypts():
    with ring(OLD):
        written_before = encrypt("before", context=PLACE)
    with ring(NEW, OLD):
        written_after = encrypt("after", context=PLACE)
        assert decrypt(written_before, context=PLACE) == b"before"
    with ring(NEW):
        assert decrypt(written_after, context=PLACE) == b"after"
        with pytest.raises(DecryptionFailed, match="no longer in"):
            decrypt(written_before, context=PLACE)


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ([], "is empty"),
        ([""], "Entry 1 .* is not 32 bytes"),
        (["short"], "Entry 1 .* is not 32 bytes"),
        ([NEW, "b2xk"], "Entry 2 .* is not 32 bytes"),
        ([NEW[:-1]], "Entry 1 .* is not 32 bytes"),
        (["ключ"], "Entry 1 .* is not 32 bytes"),
    ],
)
def test_missing_or_malformed_ring_says_how_to_make_a_key_and_shows_none(keys, problem):
    with ring(*keys), pytest.raises(KeyRingMissing, match=problem) as caught:
        encrypt("anything", context=PLACE)
    assert 'python -c "from llm_foundation.encryption import new_key; print(new_key())"' in str(caught.value)
    assert not any(key in str(caught.value) for key in keys if key)


def test_new_key_is_fit_for_the_ring_and_never_the_same():
    assert new_key() != new_key()
    with ring(new_key()):
        assert decrypt(encrypt("x", context=PLACE), context=PLACE) == b"x"


def test_command_of_the_hint_prints_a_key_without_a_project():
    command = [sys.executable, "-c", "from llm_foundation.encryption import new_key; print(new_key())"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert len(printed.strip()) == 44


def test_signature_holds_for_its_message_and_purpose_only():
    signature = sign(b"refund 12.00", purpose="decision")
    assert len(signature) == 73
    assert verify(b"refund 12.00", signature, purpose="decision")
    assert not verify(b"refund 99.00", signature, purpose="decision")
    assert not verify(b"refund 12.00", signature, purpose="digest")


@pytest.mark.parametrize("forged", ["", ".", "0" * 73, "00000000." + "0" * 64, "ключ", "\ud800.\ud800"])
def test_what_is_no_signature_verifies_as_nothing(forged):
    assert not verify(b"refund 12.00", forged, purpose="decision")


def test_signature_of_an_older_key_holds_while_the_ring_has_that_key():
    with ring(OLD):
        signature = sign(b"refund", purpose="decision")
    with ring(NEW, OLD):
        assert verify(b"refund", signature, purpose="decision")
        assert sign(b"refund", purpose="decision") != signature
    with ring(NEW):
        assert not verify(b"refund", signature, purpose="decision")


def test_token_and_signature_of_known_keys_stay_readable_for_later_versions():
    with ring(OLD):
        assert decrypt(TOKEN_OF_VERSION_0_1, context="llm_foundation_note|body|7") == b"written by 0.1"
        assert verify(b"refund", SIGNATURE_OF_VERSION_0_1, purpose="decision")


TOKEN_OF_VERSION_0_1 = (
    "gAAAAABrDd4Vu-KyK6yEeTfbsj3luF6NtgU8410ekT8mz2M_8SqGonQ3ulbt5c7SQS5RdzCFEnZFwu7tfPmiLLMoVRZAgKGVDg=="
)
SIGNATURE_OF_VERSION_0_1 = "bc5e81b0.3a408a3474426e40bfda4ab48052b4ba72e8261320d07c7bdaa7e84c525aa8d3"


@given(st.binary(min_size=32, max_size=32), st.text())
def test_keys_are_derived_as_hkdf_says(key, info):
    library = HKDFExpand(algorithm=SHA256(), length=32, info=info.encode()).derive(key)
    assert keyring._derived(key, info) == library
