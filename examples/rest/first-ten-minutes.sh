#!/bin/sh
# The first ten minutes with the REST API: an account with a profile, a deposit address, a rule, paginated lists, and
# error responses. Every response is printed below its request line.
#   sh first-ten-minutes.sh [demo-client.json]
set -eu
. "$(dirname "$0")/../curl/lib.sh"

base=$(member base_url)
run=$(date +%s)-$$

# field NAME: prints the value of the first member of this name in the response on standard input.
field() {
  grep -o '"'"$1"'":"[^"]*"' | head -n 1 | cut -d '"' -f 4
}

# call METHOD PATH [BODY]: sends a request, prints the request line and the response, and stores it in $answer.
call() {
  echo "# $1 $2"
  if [ $# -eq 3 ]; then
    set -- "$1" "$2" --header 'Content-Type: application/json' --data "$3"
  fi
  method=$1 path=$2
  shift 2
  answer=$(curl_with_token "$token" --silent --show-error --request "$method" "$@" "$base$path")
  printf '%s\n\n' "$answer"
}

accounts=/v2/identity/accounts
addresses=/v2/transfer/deposit-addresses
rules=/v2/orchestration/rules

# 1. A token for everything below. Scopes are separated by spaces, which a form encodes as +.
token=$(token identity:read_account+identity:write_account+transfer:read_deposit_address+\
transfer:write_deposit_address+orchestration:read_orchestration_rule+orchestration:write_orchestration_rule)

# 2. An account with a profile. The ref_id is ours: repeating the request cannot create a second account.
new_account='{"account":{"identity_id":"person-'$run'","ref_id":"savings-'$run'"},"create_profile":true}'
call POST $accounts "$new_account"
profile=$(echo "$answer" | field profile_id)
call POST $accounts '{"account":{"identity_id":"person-'"$run"'","ref_id":"more-'"$run"'"}}'

# 3. Lists are paginated: pass the cursor of the previous page with the same filters. The last page has no cursor.
call GET "$accounts?identity_id=person-$run&order=ASC&limit=1"
cursor=$(echo "$answer" | field next_page_cursor)
call GET "$accounts?identity_id=person-$run&order=ASC&limit=1&page_cursor=$cursor"

# 4. A deposit address. It is real, and is assigned to this profile only.
call POST $addresses '{"profile_id":"'"$profile"'","crypto_network":"BITCOIN","ref_id":"address-'"$run"'"}'

# 5. A rule: BTC deposits are converted to US dollars, which are paid to a bank account.
call POST $rules '{"ref_id":"rule-'"$run"'","profile_id":"'"$profile"'","source_asset":"BTC","destination_asset":"USD",
  "source":{"crypto":{"network":"BITCOIN"}},"destination":{"fiat":{"fiat_account_id":"bank-account-1"}}}'
rule=$(echo "$answer" | field id)

# 6. List both. The address of the rule is one of the profile's addresses.
call GET "$addresses?profile_ids=$profile"
call GET "$rules?ids=$rule&status=ACTIVE&status=PENDING"

# 7. Error responses. Programs should check `code`.
call GET "$accounts?limit=0"
call GET "$accounts?page_cursor=not-a-cursor"
call GET "$accounts/00000000-0000-7000-8000-000000000000"
call PATCH $accounts
call POST $accounts "$new_account"
call POST $accounts '{"account":{"identity_id":""},"unknown":1}'
echo "# POST $accounts, not as JSON"
curl_with_token "$token" --silent --show-error --data 'account=1' "$base$accounts"
printf '\n\n'
echo "# POST $accounts, over 1 MiB"
large=$(mktemp)
head -c 1048577 /dev/zero | tr '\0' ' ' >"$large"
curl_with_token "$token" --silent --show-error --header 'Content-Type: application/json' \
  --data-binary "@$large" "$base$accounts"
rm "$large"
printf '\n\n'
echo "# GET $accounts, without a token"
curl --silent --show-error "$base$accounts"
printf '\n\n'
token=not-a-token
call GET $accounts
token=$(token identity:read_account)
call GET $rules
echo '# a token for an unknown scope'
token_answer no:such_scope
printf '\n\n'

# 8. A rule cannot be changed, only deleted. Deleting it again is not an error.
token=$(token orchestration:write_orchestration_rule)
call DELETE "$rules/$rule"
call DELETE "$rules/$rule"
