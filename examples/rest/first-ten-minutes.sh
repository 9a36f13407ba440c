#!/bin/sh
# The first ten minutes with the REST API: an account with a profile, a deposit address, a rule, lists page by page, and
# how things are refused. Every answer is printed under the line that says what was asked.
#   sh first-ten-minutes.sh [demo-client.json]
set -eu
. "$(dirname "$0")/../curl/lib.sh"

base=$(member base_url)
run=$(date +%s)-$$

# field NAME: the text of the first member of this name in the answer on standard input.
field() {
  grep -o '"'"$1"'":"[^"]*"' | head -n 1 | cut -d '"' -f 4
}

# call METHOD PATH [BODY]: prints what was asked and the answer, and keeps the answer.
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

# 1. A token for everything below: scopes are separated by blanks, which a form writes as +.
token=$(token identity:read_account+identity:write_account+transfer:read_deposit_address+\
transfer:write_deposit_address+orchestration:read_orchestration_rule+orchestration:write_orchestration_rule)

# 2. An account with a profile. The ref_id is ours: repeating the request cannot make a second account.
new_account='{"account":{"identity_id":"person-'$run'","ref_id":"savings-'$run'"},"create_profile":true}'
call POST $accounts "$new_account"
profile=$(echo "$answer" | field profile_id)
call POST $accounts '{"account":{"identity_id":"person-'"$run"'","ref_id":"more-'"$run"'"}}'

# 3. Lists, page by page: the cursor of the page before, with the same filters. The last page has none.
call GET "$accounts?identity_id=person-$run&order=ASC&limit=1"
cursor=$(echo "$answer" | field next_page_cursor)
call GET "$accounts?identity_id=person-$run&order=ASC&limit=1&page_cursor=$cursor"

# 4. A deposit address: real, and never given to anybody else.
call POST $addresses '{"profile_id":"'"$profile"'","crypto_network":"BITCOIN","ref_id":"address-'"$run"'"}'

# 5. A rule: what arrives as BTC becomes dollars, and goes to a bank account.
call POST $rules '{"ref_id":"rule-'"$run"'","profile_id":"'"$profile"'","source_asset":"BTC","destination_asset":"USD",
  "source":{"crypto":{"network":"BITCOIN"}},"destination":{"fiat":{"fiat_account_id":"bank-account-1"}}}'
rule=$(echo "$answer" | field id)

# 6. List them. The address of the rule is one of the profile's.
call GET "$addresses?profile_ids=$profile"
call GET "$rules?ids=$rule&status=ACTIVE&status=PENDING"

# 7. How things are refused: `code` is what a program looks at.
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
echo '# a token for a scope that does not exist'
token_answer no:such_scope
printf '\n\n'

# 8. A rule never changes; it is deleted. Once more is no error.
token=$(token orchestration:write_orchestration_rule)
call DELETE "$rules/$rule"
call DELETE "$rules/$rule"
