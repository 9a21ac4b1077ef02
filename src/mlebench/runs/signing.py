"""proof.sig: an Ed25519 signature of the bytes of proof.json. Needs the package cryptography (extra `sign`)."""

from __future__ import annotations

import base64
import hashlib
import os
from datetime import UTC, datetime
from pathlib import Path

from mlebench.errors import MlebenchError, UsageError
from mlebench.files import write_json, write_text
from mlebench.runs.proof import PROOF, proof_changes, seal_run
from mlebench.runs.store import read_object

try:
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
        load_pem_private_key,
        load_pem_public_key,
    )
except ImportError as error:
    raise UsageError("signatures need the package cryptography: pip install 'mlebench[sign]'") from error

SIGNATURE = "proof.sig"


def sign_run(run: Path, key_path: Path) -> Path:
    """Sign proof.json with the private key and write proof.sig; returns its path.

    Raises UsageError if attempts are still to come or the key is none, MlebenchError if files are no longer as
    proof.json has them: nobody should sign that unknowingly.
    """
    key = read_private_key(key_path)
    proof = seal_run(run)
    if proof is None:
        raise UsageError(f"{run} can't be signed before all its attempts are done; --resume goes on with it")
    if changed := proof_changes(run):
        raise MlebenchError(f"{', '.join(changed)} changed after {PROOF} was written, so it is not signed")
    content = proof.read_bytes()
    signature = {
        "algorithm": "Ed25519",
        "signed": datetime.now(UTC).isoformat(timespec="seconds"),
        "sha256": hashlib.sha256(content).hexdigest(),
        "public_key": _pem(key.public_key()),
        "signature": base64.b64encode(key.sign(content)).decode(),
    }
    write_json(run / SIGNATURE, signature)
    return run / SIGNATURE


def signed_by(run: Path) -> Ed25519PublicKey | None:
    """The public key that the signature of proof.json fits; None if it is not signed.

    Raises MlebenchError if the signature does not fit, or is none. Whose key that is must be learnt another way.
    """
    path = run / SIGNATURE
    if not path.exists():
        return None
    content = read_object(path)
    try:
        key = _public_key(str(content["public_key"]).encode(), path)
        signature = base64.b64decode(content["signature"], validate=True)
    except (KeyError, ValueError, TypeError, UsageError) as error:
        raise MlebenchError(f"it holds no signature: {error}") from error
    try:
        key.verify(signature, (run / PROOF).read_bytes())
    except FileNotFoundError as error:
        raise MlebenchError(f"{PROOF}, which it signs, is gone") from error
    except InvalidSignature as error:
        raise MlebenchError(f"it is no signature of this {PROOF}") from error
    return key


def new_key(path: Path) -> Path:
    """Write a new private key to `path` (PEM, for its owner alone), the public one beside it; returns the latter.

    Raises UsageError if there is a file already.
    """
    public = path.with_name(f"{path.name}.pub")
    for there in (path, public):
        if there.exists():
            raise UsageError(f"{there} exists already, and a key is never overwritten: name another file")
    key = Ed25519PrivateKey.generate()
    content = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
    write_text(public, _pem(key.public_key()))
    return public


def read_private_key(path: Path) -> Ed25519PrivateKey:
    """An Ed25519 key in PEM. Raises UsageError if the file holds none."""
    try:
        key = load_pem_private_key(_read(path), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise UsageError(f"{path} holds no private key in PEM without a password: {error}") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise UsageError(f"{path} holds a key of another kind than Ed25519; --new-key makes one")
    return key


def read_public_key(path: Path) -> Ed25519PublicKey:
    """An Ed25519 key in PEM. Raises UsageError if the file holds none."""
    return _public_key(_read(path), path)


def fingerprint(key: Ed25519PublicKey) -> str:
    """SHA-256 of the 32 bytes of a public key, to be compared by eye."""
    return hashlib.sha256(key.public_bytes_raw()).hexdigest()


def _public_key(content: bytes, path: Path) -> Ed25519PublicKey:
    try:
        key = load_pem_public_key(content)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise UsageError(f"{path} holds no public key in PEM: {error}") from error
    if not isinstance(key, Ed25519PublicKey):
        raise UsageError(f"{path} holds a key of another kind than Ed25519")
    return key


def _pem(key: Ed25519PublicKey) -> str:
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"the key {path} can't be read: {error.strerror}") from error
