"""Credentials from AWS profiles, which obstore does not read itself."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ozx.errors import ResourceError
from ozx.extras import install_hint

_KEYS = ("access_key_id", "aws_access_key_id", "skip_signature", "aws_skip_signature", "credential_provider")
_KEY_VARIABLES = ("AWS_ACCESS_KEY_ID", "AWS_SKIP_SIGNATURE")


def profile_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return obstore's options for the AWS profile named in ``AWS_PROFILE``, or else for the default profile.

    Examples
    --------
    >>> profile_options({"skip_signature": True})
    {}
    """
    named = os.environ.get("AWS_PROFILE")
    if any(options.get(key) for key in _KEYS) or any(map(os.environ.get, _KEY_VARIABLES)):
        return {}
    files = (
        os.environ.get("AWS_SHARED_CREDENTIALS_FILE") or "~/.aws/credentials",
        os.environ.get("AWS_CONFIG_FILE") or "~/.aws/config",
    )
    if not named and not any(os.path.isfile(os.path.expanduser(file)) for file in files):
        return {}  # obstore uses the role of the computer
    try:
        import boto3  # noqa: PLC0415 (an extra)
        from botocore.exceptions import BotoCoreError  # noqa: PLC0415
        from obstore.auth.boto3 import Boto3CredentialProvider  # noqa: PLC0415
    except ImportError as error:
        if not named:
            return {}
        raise ResourceError(
            f"reading the profile {named!r} needs the package boto3: {error}", hint=install_hint("s3")
        ) from None
    try:
        session = boto3.Session()
        if session.get_credentials() is None:
            return {}
    except BotoCoreError as error:
        raise ResourceError(f"cannot use the AWS profile {named!r}: {error}", hint="Check AWS_PROFILE.") from None
    found: dict[str, Any] = {"credential_provider": Boto3CredentialProvider(session)}
    if session.region_name and not (options.get("region") or os.environ.get("AWS_REGION")):
        found["region"] = session.region_name
    return found
