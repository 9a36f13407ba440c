/**
 * Families of hostile traffic. Each knows the expected responses from the public documentation, and runs one attack at
 * a time from a seed: the same seed, family and serial number produce the same bytes.
 */
import type { Random } from '../support/random.ts'
import type { Target } from './raw-peer.ts'

/** The service's properties that attacks need. */
export interface AttackContext {
  readonly stream: Target
  readonly operator: Target
  readonly operatorToken: string
  readonly markets: readonly string[]
  readonly subscriptionsMax: number
  /** The setting `stream.inbound_bytes_max`. */
  readonly inboundBytesMax: number
  /** The setting `http.header_bytes_max`. */
  readonly headerBytesMax: number
  /** A client with access to the stream. */
  readonly reader: Credentials
  /** A client with all scopes except the stream's. */
  readonly scopeless: Credentials
  /** A client whose customer is not on the allow list. */
  readonly unlisted: Credentials
}

export interface Credentials {
  readonly clientId: string
  readonly clientSecret: string
  readonly token: string
}

export interface Attack {
  readonly field: AttackContext
  readonly random: Random
  /** Unique for every attack in a run. */
  readonly serial: number
}

export interface Family {
  readonly name: string
  /** Its share of a run's requests. */
  readonly share: number
  /** Sends some requests, checks every response, and resolves with their number. Throws what was wrong. */
  run(attack: Attack): Promise<number>
}

/** Part of every secret invented by an attack, so that one search finds any of them in an output. */
export const SECRET_MARK = 'Hostile-Secret'

/** Names with a meaning for JavaScript's prototypes. */
export const PROTOTYPE_NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'valueOf',
  '__defineGetter__',
  'isPrototypeOf',
  'length',
] as const

/** Throws unless `actual` is `expected`. `what` is shown, truncated. */
export function demand(actual: unknown, expected: unknown, what: string): void {
  if (Object.is(actual, expected)) return
  throw new Error(`expected ${String(expected)}, found ${String(actual)}: ${shown(what)}`)
}

const SHOWN_MAX = 600

export function shown(text: string): string {
  return text.length <= SHOWN_MAX ? text : `${text.slice(0, SHOWN_MAX)}… (${text.length} characters)`
}
