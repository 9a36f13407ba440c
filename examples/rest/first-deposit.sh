#!/bin/sh
# A deposit that a rule converts and delivers, on a service with `rest.sandbox` such as the demo. Creates an account with a
# profile, a rule and a test deposit, and prints what the customer sees of it. No payment is made.
#   sh first-deposit.sh [demo-client.json] [amount]
set -eu
amount=${2:-100}
. "$(dirname "$0")/../curl/lib.sh"

base=$(member base_url)
run=$(date +%s)-$$

# field NAME: prints the value of the first member of this name in the response on standard input.
field() {
  grep -o '"'"$1"'":"[^"]*"' | head -n 1 | cut -d '"' -f 4
}

# request METHOD PATH [BODY]: sends a request and stores the response in $answer. A response other than 2xx ends the script.
request() {
  if [ $# -eq 3 ]; then
    set -- "$1" "$2" --header 'Content-Type: application/json' --data "$3"
  fi
  method=$1 path=$2
  shift 2
  answer=$(curl_with_token "$token" --silent --show-error --fail-with-body --request "$method" "$@" "$base$path") || {
    printf '%s\n' "$method $path failed: $answer" >&2
    exit 1
  }
}

# call METHOD PATH [BODY]: sends a request, and prints the request line and the response.
call() {
  echo "# $1 $2"
  request "$@"
  printf '%s\n\n' "$answer"
}

token=$(token identity:write_account+orchestration:write_orchestration_rule+orchestration:read_orchestration+\
funding:write_sandbox_deposit+funding:read_profile+transfer:read_transfer+events:read_event)
[ -n "$token" ] || { echo "no token: check the credentials in $CREDENTIALS, and that the service runs" >&2; exit 1; }

# 1. An account with a profile, and a rule: USDC received on Ethereum is delivered as USDG to an external address.
call POST /v2/identity/accounts '{"account":{"identity_id":"person-'"$run"'"},"create_profile":true}'
profile=$(echo "$answer" | field profile_id)
call POST /v2/orchestration/rules '{"ref_id":"rule-'"$run"'","profile_id":"'"$profile"'",
  "source_asset":"USDC","destination_asset":"USDG","source":{"crypto":{"network":"ETHEREUM"}},
  "destination":{"crypto":{"network":"ETHEREUM","address":"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"}}}'

# 2. The deposit. Some amounts and destinations force an outcome; the guide lists them. The ref_id is ours: repeating the
# request cannot create a second deposit.
call POST "/v2/sandbox/profiles/$profile/deposit" '{"ref_id":"deposit-'"$run"'","asset":"USDC","amount":"'"$amount"'"}'

# 3. The result. This script polls once a second until the state is final, for at most ten seconds.
for _ in 1 2 3 4 5 6 7 8 9 10; do
  request GET "/v2/orchestration/orchestrations?profile_id=$profile"
  case $answer in *'"status":"PROCESSING"'*) sleep 1 ;; *) break ;; esac
done
call GET "/v2/orchestration/orchestrations?profile_id=$profile"
call GET "/v2/transfer/transfers?profile_id=$profile&order=ASC"
call GET "/v2/profiles/$profile/balances"

# 4. The same as events, which the service also sends to webhook endpoints and over the stream.
call GET "/v2/events?types=transfer.deposit.completed&types=orchestration.orchestration.completed&order=DESC&limit=2"
