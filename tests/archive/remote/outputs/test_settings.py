"""Settings of uploads: those of reading, over the environment."""

import pytest

from ozx.archive.remote.access import storage_options
from ozx.archive.remote.outputs.settings import store_settings
from ozx.errors import ResourceError, UsageError

pytest.importorskip("obstore", reason="obstore is not installed")


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name, value in {
        "AZURE_STORAGE_ACCOUNT_NAME": "of-environment",
        "AZURE_STORAGE_SAS_TOKEN": "sv=1&sig=x",
        "AZURE_CONTAINER_NAME": "other",
        "AZURE_OF_ANOTHER_PROGRAM": "x",
        "GOOGLE_BASE_URL": "http://127.0.0.1:1",
    }.items():
        monkeypatch.setenv(name, value)


def test_options_win_over_the_environment():
    assert store_settings("az://c/k") == {
        "account_name": "of-environment",
        "sas_key": "sv=1&sig=x",
        "container_name": "c",
    }
    with storage_options(anonymous=True, azure_storage_account_name="given"):
        found = store_settings("az://c/k", {"account_key": "YWFhYQ=="})
    assert (found["account_name"], found["account_key"], found["skip_signature"]) == ("given", "YWFhYQ==", "true")
    found = store_settings("abfss://c@account.dfs.core.windows.net/k")
    assert (found["container_name"], found["account_name"]) == ("c", "account")
    assert store_settings("gs://b/k", {"client_options": {}}) == {"base_url": "http://127.0.0.1:1", "bucket": "b"}


def test_an_unknown_option():
    with pytest.raises(UsageError, match="accountname") as caught:
        store_settings("az://c/k", {"accountname": "SECRET"})
    assert "SECRET" not in f"{caught.value!r} {caught.value.__context__!r}"


def test_credentials_of_azure(monkeypatch):
    pytest.importorskip("azure.identity", reason="azure-identity is not installed")
    from ozx.archive.remote.outputs.azure import AzureObject  # noqa: PLC0415 - needs the extra

    def kind(**options):
        client = AzureObject("az://c/k", options)._blob
        return type(client.credential).__name__, client.url

    assert kind() == ("AzureSasCredential", "https://of-environment.blob.core.windows.net/c/k")
    monkeypatch.delenv("AZURE_STORAGE_SAS_TOKEN")
    assert kind()[0] == "DefaultAzureCredential"
    assert kind(tenant_id="t", client_id="c", client_secret="s")[0] == "ClientSecretCredential"
    assert kind(token="t")[0] == "Token"
    assert kind(account_key="YWFhYQ==")[0] == "SharedKeyCredentialPolicy"
    assert kind(skip_signature=True)[0] == "NoneType"
    assert kind(use_emulator=True, account_name="devstoreaccount1")[1] == "http://127.0.0.1:10000/devstoreaccount1/c/k"
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME")
    with pytest.raises(UsageError, match="Account must be specified"):
        kind()


def test_credentials_of_google(monkeypatch, tmp_path):
    pytest.importorskip("google.cloud.storage", reason="google-cloud-storage is not installed")
    from ozx.archive.remote.outputs.gcs import GcsObject  # noqa: PLC0415 - needs the extra

    def client(**options):
        return GcsObject("gs://b/k", options)._bucket.client

    assert type(client(bearer_token="t")._credentials).__name__ == "Credentials"
    monkeypatch.delenv("GOOGLE_BASE_URL")
    account = tmp_path / "account.json"
    account.write_text(
        '{"gcs_base_url": "http://127.0.0.1:2", "disable_oauth": true, "client_email": "", "private_key": "", '
        '"private_key_id": ""}'
    )
    emulator = client(service_account=str(account))
    assert type(emulator._credentials).__name__ == "AnonymousCredentials"
    assert emulator._connection.API_BASE_URL == "http://127.0.0.1:2"
    account.write_text("{}")
    with pytest.raises((ResourceError, UsageError)):
        client(service_account=str(account))
