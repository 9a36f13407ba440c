#!/usr/bin/env python3
"""Requests a token with requests-oauthlib, in both ways of RFC 6749 section 2.3.1, and prints its scopes.

    apt install python3-requests-oauthlib     (Debian; elsewhere: pip install requests-oauthlib)
    python3 token_requests_oauthlib.py [demo-client.json]

The credentials file is the argument, or $TIDEGATE_CREDENTIALS, or data/demo-client.json. For a certificate from a
private CA: export REQUESTS_CA_BUNDLE=ca.pem. Tokens are not printed.
"""

import json
import os
import sys
from urllib.parse import urlsplit

from oauthlib.oauth2 import BackendApplicationClient, OAuth2Error
from requests.auth import HTTPBasicAuth
from requests_oauthlib import OAuth2Session

# The library joins this list with spaces. Either all scopes are granted, or the request is refused.
SCOPES = ["exchange:read_aggregated_marketdata_stream"]


def read_credentials():
    path = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("TIDEGATE_CREDENTIALS", "data/demo-client.json")
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def fetch_token(credentials, scopes, **how):
    client = BackendApplicationClient(client_id=credentials["client_id"], scope=scopes)
    with OAuth2Session(client=client) as session:
        return session.fetch_token(credentials["auth_url"] + "/oauth2/token", timeout=10, **how)


def main():
    credentials = read_credentials()
    client_id, secret = credentials["client_id"], credentials["client_secret"]
    if urlsplit(credentials["auth_url"]).hostname in ("127.0.0.1", "::1", "localhost"):
        # The library requires https. On the loopback interface plain http cannot be intercepted by other machines.
        os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"
    ways = {
        "basic": {"auth": HTTPBasicAuth(client_id, secret)},
        "body": {"include_client_id": True, "client_secret": secret},
    }
    for name, how in ways.items():
        token = fetch_token(credentials, SCOPES, **how)
        print(f"{name}: {token['token_type']} for {token['expires_in']} s, scope {' '.join(token['scope'])}")
    try:
        fetch_token(credentials, ["no:such_scope"], **ways["basic"])
    except OAuth2Error as error:
        print(f"refused: {error.error}: {error.description}")


if __name__ == "__main__":
    main()
