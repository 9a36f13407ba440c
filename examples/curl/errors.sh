#!/bin/sh
# Shows error responses: each status with its headers and its body, application/problem+json (RFC 9457), or
# {error, error_description} at the token endpoint (RFC 6749 section 5.2).
#   sh errors.sh [demo-client.json]
set -eu
. "$(dirname "$0")/lib.sh"

stream=$(member ws_url | sed 's/^ws/http/')/

echo '# The stream without a token: 401'
curl --silent --show-error --include --http1.1 \
  --header 'Connection: Upgrade' --header 'Upgrade: websocket' --header 'Sec-WebSocket-Version: 13' \
  --header 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==' "$stream"
echo

echo '# With a malformed token: 401'
curl_with_token not-a-token --silent --show-error --include "$stream"
echo

echo '# With a token for another scope: 403'
curl_with_token "$(token identity:read_account)" --silent --show-error --include "$stream"
echo

echo '# With a valid token, but without an Upgrade header: 426'
curl_with_token "$(token "$STREAM_SCOPE")" --silent --show-error --include "$stream"
echo

echo '# An unknown scope: 400 from the token endpoint'
token_answer no:such_scope
echo
