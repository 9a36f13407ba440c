#!/bin/sh
# Shows the handshake of the stream: 101 Switching Protocols. curl does not speak WebSocket, so it hangs up afterwards.
#   sh handshake.sh [demo-client.json]
# SECONDS_LONG says how long it waits for the answer, and at most for the first frame behind it (default 1).
set -eu
. "$(dirname "$0")/lib.sh"

# HTTP/1.1, because HTTP/2 has no Upgrade. The address is the stream's, as curl writes it.
address=$(member ws_url | sed 's/^ws/http/')
curl_with_token "$(token "$STREAM_SCOPE")" --silent --include --no-buffer --http1.1 --max-time "${SECONDS_LONG:-1}" \
  --header 'Connection: Upgrade' --header 'Upgrade: websocket' --header 'Sec-WebSocket-Version: 13' \
  --header "Sec-WebSocket-Key: $(head -c 16 /dev/urandom | base64)" \
  "$address/" | sed '/^.$/q' | grep .
