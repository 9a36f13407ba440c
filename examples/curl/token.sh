#!/bin/sh
# Prints two responses of the token endpoint: with the credentials in the body, and with HTTP Basic.
#   sh token.sh [demo-client.json]
set -eu
. "$(dirname "$0")/lib.sh"

token_answer "$STREAM_SCOPE"
echo

printf 'user = "%s:%s"\n' "$(member client_id)" "$(member client_secret)" |
  curl --config - --silent --show-error --data grant_type=client_credentials --data "scope=$STREAM_SCOPE" \
    "$(member auth_url)/oauth2/token"
echo
