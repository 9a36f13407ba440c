#!/bin/sh
# Shows the handshake of the stream: 101 Switching Protocols. curl does not speak WebSocket, so it hangs up afterwards.
#   sh handshake.sh [demo-client.json]
set -eu
. "$(dirname "$0")/lib.sh"

# HTTP/1.1, because HTTP/2 has no Upgrade. The address is the stream's, as curl writes it.
address=$(member ws_url | sed 's/^ws/http/')
status=0
curl_with_token "$(token "$STREAM_SCOPE")" --silent --include --http1.1 --max-time 1 \
  --header 'Connection: Upgrade' --header 'Upgrade: websocket' --header 'Sec-WebSocket-Version: 13' \
  --header "Sec-WebSocket-Key: $(head -c 16 /dev/urandom | base64)" \
  "$address/" || status=$?
# 28: the second is over, as it should be.
[ "$status" -eq 28 ]
