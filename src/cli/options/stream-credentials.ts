/**
 * A client's credentials on the command line and its service's addresses, from a credentials file or from the
 * environment. The result contains the secret. No error contains one: parse errors, which quote the file, are replaced.
 */
import { readFile } from 'node:fs/promises'

/** As the demo writes them to its file. */
export interface StreamCredentials {
  readonly client_id: string
  readonly client_secret: string
  /** The token endpoint's base address, without a trailing slash: tokens are at `/oauth2/token` below it. */
  readonly auth_url: string
  /** The stream's base address, without a trailing slash. */
  readonly ws_url: string
  /** The REST API's base address, without a trailing slash. */
  readonly base_url: string
  /** Markets from the credentials file, if it names any. */
  readonly markets: readonly string[]
}

export interface CredentialsOptions {
  /** `--credentials`. Absent = the environment, else the demo's file. */
  readonly credentials?: string
  /**
   * `--url`: the service's base address, `http(s)` or `ws(s)`. The token endpoint and the stream are derived from it.
   */
  readonly url?: string
}

/** A credentials file's content, without addresses where `--url` gives them. */
type CredentialsFile = Pick<StreamCredentials, 'client_id' | 'client_secret'> & Partial<StreamCredentials>

const DEFAULT_FILE = './data/demo-client.json'

export async function loadCredentials(
  options: CredentialsOptions,
  variables: Readonly<Record<string, string | undefined>>,
): Promise<StreamCredentials> {
  const clientId = variables.TIDEGATE_CLIENT_ID
  const clientSecret = variables.TIDEGATE_CLIENT_SECRET
  if (options.credentials === undefined && (clientId || clientSecret)) {
    if (!clientId || !clientSecret)
      throw new Error('TIDEGATE_CLIENT_ID and TIDEGATE_CLIENT_SECRET must be set together')
    if (options.url === undefined) {
      throw new Error(
        'TIDEGATE_CLIENT_ID is set, so --url is required: the service’s address, such as http://127.0.0.1:8080',
      )
    }
    return { client_id: clientId, client_secret: clientSecret, markets: [], ...addressesBelow(options.url) }
  }
  const { credentials: path, url } = options
  const file = await readCredentialsFile(path ?? DEFAULT_FILE, path === undefined, url === undefined)
  const addresses = url === undefined ? addressesOf(file) : addressesBelow(url)
  const { client_id, client_secret, markets = [] } = file
  return { client_id, client_secret, markets, ...addresses }
}

async function readCredentialsFile(
  path: string,
  isDefault: boolean,
  needsAddresses: boolean,
): Promise<CredentialsFile> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    const hint = isDefault
      ? 'start the demo (`npm start`) in this folder, or give --credentials FILE, or set TIDEGATE_CLIENT_ID and TIDEGATE_CLIENT_SECRET with --url'
      : 'give the path of a file like the one the demo writes'
    throw new Error(`no credentials at ${path} (${(error as NodeJS.ErrnoException).code}): ${hint}`)
  }
  const value = parseWithoutQuoting(text)
  if (typeof value !== 'object' || value === null) throw new Error(`${path} is not a JSON object`)
  const record = value as Record<string, unknown>
  const needed = ['client_id', 'client_secret', ...(needsAddresses ? ['auth_url', 'ws_url'] : [])]
  for (const member of needed) {
    if (typeof record[member] === 'string' && record[member] !== '') continue
    const hint = member.endsWith('_url') ? ': --url gives the service’s address' : ''
    throw new Error(`${path} has no ${member}${hint}`)
  }
  const markets = record.markets
  if (markets !== undefined && !(Array.isArray(markets) && markets.every((market) => typeof market === 'string'))) {
    throw new Error(`${path}: markets is not a symbol list`)
  }
  return record as unknown as CredentialsFile
}

/** The parser's own message quotes the text around the mistake, which may be a secret. */
function parseWithoutQuoting(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

type Addresses = Pick<StreamCredentials, 'auth_url' | 'ws_url' | 'base_url'>

function addressesOf({ auth_url = '', ws_url = '', base_url = auth_url }: CredentialsFile): Addresses {
  const http = ['http:', 'https:']
  return {
    auth_url: address(auth_url, http),
    ws_url: address(ws_url, ['ws:', 'wss:']),
    base_url: address(base_url, http),
  }
}

/** The addresses below one base address, given as `http` or `ws`: API and stream have the same listener. */
function addressesBelow(url: string): Addresses {
  const base = address(url.replace(/^ws(?=s?:)/i, 'http'), ['http:', 'https:'])
  return { auth_url: base, ws_url: base.replace(/^http/, 'ws'), base_url: base }
}

/** Checks an address and takes trailing slashes off. */
function address(text: string, protocols: readonly string[]): string {
  const wanted = protocols.map((protocol) => `${protocol}//`).join(' or ')
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !protocols.includes(url.protocol)) throw new Error(`'${text}' must begin with ${wanted}`)
  if (url.username !== '' || url.password !== '') throw new Error('an address must not contain a user name or password')
  return `${url.protocol}//${url.host}${url.pathname.replace(/\/+$/, '')}`
}
