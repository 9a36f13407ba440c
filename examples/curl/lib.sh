# Shared by the scripts of this folder: reads a credentials file without any other tool, and keeps secrets out of
# command lines, where every user of a machine can see them: printf is part of the shell, and curl reads its stdin.
# For a certificate of your own authority: export CURL_CA_BUNDLE=ca.pem.
CREDENTIALS=${1:-${TIDEGATE_CREDENTIALS:-data/demo-client.json}}
STREAM_SCOPE=exchange:read_aggregated_marketdata_stream

# member NAME: the text of a member of the credentials file.
member() {
  sed -n 's/.*"'"$1"'": *"\([^"]*\)".*/\1/p' "$CREDENTIALS"
}

# token_answer SCOPE: what the token endpoint says to the client's credentials, sent in the body.
token_answer() {
  printf 'grant_type=client_credentials&client_id=%s&client_secret=%s&scope=%s' \
    "$(member client_id)" "$(member client_secret)" "$1" |
    curl --silent --show-error --data @- "$(member auth_url)/oauth2/token"
}

# token SCOPE: the access token alone.
token() {
  token_answer "$1" | sed -n 's/.*"access_token":"\([^"]*\)".*/\1/p'
}

# curl_with_token TOKEN ARGUMENTS…: curl with the token in the Authorization header.
curl_with_token() {
  bearer=$1
  shift
  printf 'header = "Authorization: Bearer %s"\n' "$bearer" | curl --config - "$@"
}
