#!/bin/sh
# Shows the WebSocket handshake: 101 Switching Protocols. curl closes the connection afterwards.
#   sh handshake.sh [demo-client.json]
# SECONDS_LONG: seconds to wait for the response and the first frame after it (default 1).
set -eu
. "$(dirname "$0")/lib.sh"

# HTTP/1.1, because HTTP/2 has no Upgrade. curl takes the stream's address with http instead of ws.
address=$(member ws_url | sed 's/^ws/http/')
curl_with_token "$(token "$STREAM_SCOPE")" --silent --include --no-buffer --http1.1 --max-time "${SECONDS_LONG:-1}" \
  --header 'Connection: Upgrade' --header 'Upgrade: websocket' --header 'Sec-WebSocket-Version: 13' \
  --header "Sec-WebSocket-Key: $(head -c 16 /dev/urandom | base64)" \
  "$address/" | sed '/^.$/q' | grep .
