# Shared by the scripts in this folder. It reads a credentials file without any other tool, and keeps secrets out of
# command lines, which every user of the machine can see: printf is a shell builtin, and curl reads from stdin.
# For a certificate from a private CA: export CURL_CA_BUNDLE=ca.pem.
CREDENTIALS=${1:-${TIDEGATE_CREDENTIALS:-data/demo-client.json}}
STREAM_SCOPE=exchange:read_aggregated_marketdata_stream

# member NAME: prints the value of a member of the credentials file.
member() {
  sed -n 's/.*"'"$1"'": *"\([^"]*\)".*/\1/p' "$CREDENTIALS"
}

# token_answer SCOPE: prints the token endpoint's response; the credentials are sent in the body.
token_answer() {
  printf 'grant_type=client_credentials&client_id=%s&client_secret=%s&scope=%s' \
    "$(member client_id)" "$(member client_secret)" "$1" |
    curl --silent --show-error --data @- "$(member auth_url)/oauth2/token"
}

# token SCOPE: prints only the access token.
token() {
  token_answer "$1" | sed -n 's/.*"access_token":"\([^"]*\)".*/\1/p'
}

# curl_with_token TOKEN ARGUMENTS…: runs curl with the token in the Authorization header.
curl_with_token() {
  bearer=$1
  shift
  printf 'header = "Authorization: Bearer %s"\n' "$bearer" | curl --config - "$@"
}
