/**
 * A client for the operator API: its address, its token, and one call. An API problem becomes a one-line error with the
 * problem's code. The token is never taken from the command line, where every user on the machine could read it, and
 * never shown.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../service/config/settings.ts'
import type { Readiness } from '../../service/health/readiness.ts'
import { addressText, reachable } from '../options/listener-address.ts'

export interface OperatorApi {
  /** Without a trailing slash. */
  readonly url: string
  readonly token: string
}

export interface OperatorCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Relative to `/admin/v1`, percent-encoded. */
  readonly path: string
  readonly query?: Readonly<Record<string, string | undefined>>
  readonly body?: Readonly<Record<string, unknown>>
}

/** Options for the operator API, in addition to the configuration. */
export interface OperatorApiOptions {
  readonly operatorUrl?: string
  readonly operatorTokenFile?: string
}

/** Longer than the service's own limit for a request. */
const CALL_MILLISECONDS_MAX = 15_000
/** Readiness is read from memory: a slower answer means a hanging service. */
const READINESS_MILLISECONDS_MAX = 5_000

/** The address from the options, else from the configuration, and its token. */
export function operatorApi(config: Config, { operatorUrl, operatorTokenFile }: OperatorApiOptions): OperatorApi {
  const url = operatorUrl ?? configuredUrl(config)
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) throw new Error(`--operator-url '${url}' is not an http address`)
  const configured = operatorTokenFile === undefined ? config['operator.token'] : ''
  const token = configured || readTokenFile(operatorTokenFile ?? join(config.data_dir, 'operator-token'))
  return { url: url.replace(/\/+$/, ''), token }
}

export async function callOperator(
  { url, token }: OperatorApi,
  { method, path, query, body }: OperatorCall,
): Promise<unknown> {
  const target = new URL(`${url}/admin/v1${path}`)
  for (const [name, value] of Object.entries(query ?? {})) if (value !== undefined) target.searchParams.set(name, value)
  const headers: Record<string, string> = { authorization: `Bearer ${token}` }
  if (body !== undefined) headers['content-type'] = 'application/json'
  const sent = body === undefined ? {} : { body: JSON.stringify(body) }
  const response = await reach(url, target, { method, headers, ...sent }, CALL_MILLISECONDS_MAX)
  const text = await response.text()
  if (!response.ok) throw new Error(refusalOf(response.status, text))
  return JSON.parse(text)
}

/** The `/readyz` document, ready or not. */
export async function readReadiness({ url }: Pick<OperatorApi, 'url'>): Promise<Readiness> {
  const response = await reach(url, `${url}/readyz`, {}, READINESS_MILLISECONDS_MAX)
  return (await response.json()) as Readiness
}

async function reach(url: string, target: string | URL, init: RequestInit, millisecondsMax: number): Promise<Response> {
  const signal = AbortSignal.timeout(millisecondsMax)
  return await fetch(target, { ...init, signal }).catch((error: Error) => {
    throw new Error(`the operator API at ${url} does not answer (${reasonOf(error)}): is the service running?`)
  })
}

function configuredUrl(config: Config): string {
  const port = config['operator.port']
  if (port === 0) throw new Error('operator.port is 0, so --operator-url is required')
  if (config['operator.public_url'] !== '') return config['operator.public_url']
  const scheme = config['operator.tls.cert_file'] === '' ? 'http' : 'https'
  return `${scheme}://${addressText(reachable(config['operator.host']), port)}`
}

function reasonOf(error: Error): string {
  const cause = error.cause as NodeJS.ErrnoException | undefined
  return cause?.code ?? cause?.message ?? error.message
}

/** One line: the problem's code, detail and `meta`. */
function refusalOf(status: number, text: string): string {
  try {
    const { code, detail, meta } = JSON.parse(text) as { code: string; detail: string; meta?: unknown }
    return `${code} (${status}): ${detail}${meta === undefined ? '' : ` ${JSON.stringify(meta)}`}`
  } catch (error) {
    return `the operator API answered ${status} without a problem document (${(error as Error).name})`
  }
}

function readTokenFile(path: string): string {
  let text: string
  try {
    text = readFileSync(path, 'utf8').trim()
  } catch (error) {
    throw new Error(
      `no operator token at ${path} (${(error as NodeJS.ErrnoException).code}): ` +
        'use --operator-token-file, TIDEGATE_OPERATOR_TOKEN, or the running service’s --data_dir',
    )
  }
  if (!/^[!-~]+$/.test(text)) throw new Error(`${path} does not contain a token`)
  return text
}
