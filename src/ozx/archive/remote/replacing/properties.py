"""Properties that an object keeps when it is replaced: headers, tags, access rights, encryption, storage class.

An object that an upload creates has default properties, unless the upload states others. If a property cannot be read
or kept, the replacement is refused; the caller can drop tags and access rights.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from ozx.archive.remote.errors import printable_url
from ozx.archive.remote.s3 import client_errors, error_code_of, explain_client_error
from ozx.errors import UnsupportedError

# Properties that the answer to a HEAD request and the arguments of an upload contain under the same name.
_SAME_NAMES = (
    "CacheControl",
    "ContentDisposition",
    "ContentEncoding",
    "ContentLanguage",
    "ContentType",
    "Expires",
    "Metadata",
    "ServerSideEncryption",
    "SSEKMSKeyId",
    "BucketKeyEnabled",
    "StorageClass",
    "WebsiteRedirectLocation",
)
_LOCKS = ("ObjectLockMode", "ObjectLockRetainUntilDate", "ObjectLockLegalHoldStatus")
# Error codes of servers that have no tags or access rights.
_ABSENT = ("NotImplemented", "501", "MethodNotAllowed", "405", "NoSuchTagSet", "AccessControlListNotSupported")
_GRANTS = {
    "FULL_CONTROL": "GrantFullControl",
    "READ": "GrantRead",
    "READ_ACP": "GrantReadACP",
    "WRITE_ACP": "GrantWriteACP",
}
_DROP_HINT = "Give --drop-attributes (drop_attributes=True) to edit the object without keeping these properties."


def kept_properties(
    client: Any, target: Mapping[str, str], head: Mapping[str, Any], url: str, *, drop: bool
) -> dict[str, Any]:
    """Return boto3 arguments that give a new object the properties of the existing object."""
    name = printable_url(url)
    lock = next((head[field] for field in _LOCKS if head.get(field) not in (None, "OFF")), None)
    if lock is not None:
        raise UnsupportedError(
            f"the object is locked ({lock}) and must not change",
            path=name,
            hint="Copy it to another name, and edit the copy.",
        )
    if head.get("SSECustomerAlgorithm"):
        raise UnsupportedError("the object is encrypted with a key that only its owner has", path=name)
    kept = {field: head[field] for field in _SAME_NAMES if head.get(field) not in (None, "", {})}
    return kept | _tags(client, target, url, drop=drop) | _grants(client, target, url, drop=drop)


def _tags(client: Any, target: Mapping[str, str], url: str, *, drop: bool) -> dict[str, str]:
    answer = _ask(client.get_object_tagging, target, "tags", url, drop=drop)
    tags = {tag["Key"]: tag["Value"] for tag in answer.get("TagSet", ())}
    return {"Tagging": urlencode(tags)} if tags else {}


def _grants(client: Any, target: Mapping[str, str], url: str, *, drop: bool) -> dict[str, str]:
    """Return boto3 arguments for the access rights of an object; no arguments if only the owner has rights."""
    answer = _ask(client.get_object_acl, target, "access rights", url, drop=drop)
    owner = answer.get("Owner", {}).get("ID")
    by_right: dict[str, list[str]] = {}
    for grant in answer.get("Grants", ()):
        grantee, right = grant.get("Grantee", {}), grant.get("Permission")
        if right == "FULL_CONTROL" and grantee.get("ID", owner) == owner and "URI" not in grantee:
            continue
        named = f'uri="{grantee["URI"]}"' if "URI" in grantee else f'id="{grantee.get("ID", "")}"'
        if right not in _GRANTS:
            if drop:
                continue
            raise UnsupportedError(
                f"the object has the access right {right}, which an upload cannot give",
                path=printable_url(url),
                hint=_DROP_HINT,
            )
        by_right.setdefault(_GRANTS[right], []).append(named)
    if not by_right:
        return {}
    if owner is not None:  # grants replace the default, under which the owner has all rights
        by_right.setdefault("GrantFullControl", []).append(f'id="{owner}"')
    return {argument: ",".join(named) for argument, named in by_right.items()}


def _ask(method: Any, target: Mapping[str, str], what: str, url: str, *, drop: bool) -> dict[str, Any]:
    try:
        return dict(method(**target))
    except client_errors() as error:
        code = error_code_of(error)
        if code in _ABSENT or (drop and code in ("AccessDenied", "403")):
            return {}
        if code in ("AccessDenied", "403"):
            raise UnsupportedError(
                f"the {what} of the object cannot be read, so the new object would not have them",
                path=printable_url(url),
                hint=_DROP_HINT,
            ) from None
        raise explain_client_error(error, url, doing="read") from None
