#!/bin/sh
# Subscribes to one market with wscat and prints the messages of a few seconds.
#   npm install --global wscat
#   sh stream.sh BTCUSD [demo-client.json]          with the Authorization header
#   TOKEN_AS=subprotocol sh stream.sh BTCUSD        with subprotocols, as a browser does
# SECONDS_LONG: seconds to run (default 5; -1 = until Ctrl-C). For a certificate from a private CA:
# export NODE_EXTRA_CA_CERTS=ca.pem CURL_CA_BUNDLE=ca.pem.
# wscat takes a token only as an argument, which other users of the machine can see: use it on your own machine.
# wscat ends when its standard input ends. To type requests by hand, remove --execute and --wait.
set -eu
market=${1:?usage: stream.sh MARKET [CREDENTIALS]}
shift
. "$(dirname "$0")/../curl/lib.sh"

access_token=$(token "$STREAM_SCOPE")
subscribe='{"type":"subscribe","channels":[{"type":"market_data","params":{"market":"'$market'"}},{"type":"heartbeat"}]}'

set -- --connect "$(member ws_url)/" --execute "$subscribe" --wait "${SECONDS_LONG:-5}"
if [ "${TOKEN_AS:-header}" = subprotocol ]; then
  exec wscat "$@" --subprotocol tidegate.default --subprotocol "bearer.$access_token"
else
  exec wscat "$@" --header "Authorization: Bearer $access_token"
fi
