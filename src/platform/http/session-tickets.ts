/**
 * The keys that encrypt a listener's TLS session tickets. All processes that are given the same chain derive the same
 * keys, so a client resumes its session on any of them. The keys change every six hours. Each process forgets the old
 * ones: a later key does not reveal an earlier one.
 */
import { hkdfSync, randomBytes } from 'node:crypto'

/** Advanced in place, so that its owner does not keep an earlier period's secret. */
export interface TicketChain {
  secret: Uint8Array
  /** Counted from the Unix epoch. */
  period: number
}

const PERIOD_MILLISECONDS = 6 * 3_600_000
const SECRET_BYTES = 32
/** As Node defines ticket keys. */
const KEYS_BYTES = 48

/** A chain with a random secret. */
export function newTicketChain(wallMilliseconds: number): TicketChain {
  return { secret: randomBytes(SECRET_BYTES), period: periodAt(wallMilliseconds) }
}

/** Advances the chain to this time's period. The clock may step back, the chain does not. */
export function ticketKeysAt(chain: TicketChain, wallMilliseconds: number): Buffer {
  const period = periodAt(wallMilliseconds)
  while (chain.period < period) {
    chain.secret = derive(chain.secret, 'next period', SECRET_BYTES)
    chain.period += 1
  }
  return derive(chain.secret, 'ticket keys', KEYS_BYTES)
}

/** Milliseconds until the next period. */
export function untilNextPeriod(wallMilliseconds: number): number {
  return PERIOD_MILLISECONDS - (wallMilliseconds % PERIOD_MILLISECONDS)
}

function periodAt(wallMilliseconds: number): number {
  return Math.floor(wallMilliseconds / PERIOD_MILLISECONDS)
}

function derive(secret: Uint8Array, purpose: string, bytes: number): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `tidegate ${purpose}`, bytes))
}
