/**
 * A client for the operator API: its address, its token, and one call. An API problem becomes a one-line error with the
 * problem's code. The token is never taken from the command line, where every user on the machine could read it, and
 * never shown.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createSystemClock } from '../../platform/base/clock.ts'
import { membersOf, parseJson } from '../../platform/base/json-value.ts'
import { withDeadline } from '../../platform/base/time-limit.ts'
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

/** @param stop ends the call, which then rejects */
export async function callOperator(
  { url, token }: OperatorApi,
  { method, path, query, body }: OperatorCall,
  stop?: AbortSignal,
): Promise<unknown> {
  const target = new URL(`${url}/admin/v1${path}`)
  for (const [name, value] of Object.entries(query ?? {})) if (value !== undefined) target.searchParams.set(name, value)
  const headers: Record<string, string> = { authorization: `Bearer ${token}` }
  if (body !== undefined) headers['content-type'] = 'application/json'
  const sent = body === undefined ? {} : { body: JSON.stringify(body) }
  const { status, text } = await reach(url, target, { method, headers, ...sent }, CALL_MILLISECONDS_MAX, stop)
  const answer = parseJson(text)
  if (status < 200 || status > 299) throw new Error(refusalOf(status, answer))
  if (answer === undefined) throw new Error(`${url} answered ${status} without JSON: is it the operator API?`)
  return answer
}

/** The `/readyz` document, ready or not. */
export async function readReadiness({ url }: Pick<OperatorApi, 'url'>): Promise<Readiness> {
  const { status, text } = await reach(url, `${url}/readyz`, {}, READINESS_MILLISECONDS_MAX)
  const answer = parseJson(text)
  if (answer === undefined) throw new Error(`${url} answered ${status} without JSON: is it the operator API?`)
  return answer as Readiness
}

/** The whole answer, in time. */
async function reach(
  url: string,
  target: string | URL,
  init: RequestInit,
  milliseconds: number,
  stop?: AbortSignal,
): Promise<{ readonly status: number; readonly text: string }> {
  const late = (): Error => new Error(`no whole answer in ${milliseconds / 1_000} s`)
  const asked = withDeadline({ clock: createSystemClock(), milliseconds, stop, late }, async (signal) => {
    const response = await fetch(target, { ...init, signal })
    return { status: response.status, text: await response.text() }
  })
  return await asked.catch((error: Error) => {
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
function refusalOf(status: number, answer: unknown): string {
  const { code, detail, meta } = membersOf(answer)
  if (typeof code !== 'string') return `the operator API answered ${status} without a problem document`
  return `${code} (${status}): ${String(detail)}${meta === undefined ? '' : ` ${JSON.stringify(meta)}`}`
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
