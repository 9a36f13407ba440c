/**
 * What `demo` and `replay` print when they are ready: the addresses, the credentials file, and commands to try next,
 * which can be pasted into a shell in the same folder. It contains no secret, and no command downloads anything.
 */
import { relative, resolve } from 'node:path'

export interface DemoBanner {
  readonly verb: 'demo' | 'replay'
  readonly symbols: readonly string[]
  /** The public address. */
  readonly publicUrl: string
  /** The live ladder's address for a browser on this machine. Absent = not served. */
  readonly pageUrl?: string
  readonly ws: string
  readonly operator: string
  readonly operatorTokenFile: string
  /** The demo client's credentials file, or the external issuer. */
  readonly access: { readonly credentialsFile: string; readonly tokenRequestFile: string } | { readonly issuer: string }
  /** The program file, as in `process.argv[1]`. */
  readonly program: string
  /** The working directory. */
  readonly folder: string
}

/** The default credentials file for `watch`. */
const DEFAULT_CREDENTIALS = 'data/demo-client.json'

/** At most 15 lines. */
export function demoBanner({ verb, symbols, publicUrl, pageUrl, ws, operator, access, ...where }: DemoBanner): string {
  const path = (file: string): string => shellPath(file, where.folder)
  const operatorLine = `${operator}  (token in ${path(where.operatorTokenFile)})`
  if ('issuer' in access) {
    return `Tidegate ${verb}: ${symbols.join(', ')}

  tokens       from ${access.issuer}, there is no demo client
  stream       ${ws}
  operator     ${operatorLine}

Ctrl-C ends the ${verb}.
`
  }
  const credentials = path(access.credentialsFile)
  const browser = `${pageUrl === undefined ? '' : `${pageUrl}/ (a live ladder), `}${pageUrl ?? publicUrl}/docs/ (the API)`
  const flag = credentials === DEFAULT_CREDENTIALS ? '' : ` --credentials ${credentials}`
  return `Tidegate ${verb}: ${symbols.join(', ')}

  browser      ${browser}
  tokens       ${publicUrl}/oauth2/token
  stream       ${ws}
  operator     ${operatorLine}
  credentials  ${credentials}

Get a token:
  curl -s -d @${path(access.tokenRequestFile)} ${publicUrl}/oauth2/token
Watch a market, in a second terminal:
  node ${path(where.program)} watch ${symbols[0] ?? 'MARKET'}${flag}
Ctrl-C ends the ${verb}.
`
}

/** A path as it can be pasted into a shell in this folder. */
function shellPath(path: string, folder: string): string {
  const short = relative(folder, resolve(folder, path))
  const text = short.startsWith('..') ? path : short
  return /^[\w./@%+=:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
