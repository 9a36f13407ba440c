/** The epochs of a market's sequencers, as text that ascends over leases and restarts. */
import { newId } from '../../platform/base/ids.ts'

/** Digits for a time in milliseconds, hexadecimal: enough until the year 10889. */
const EPOCH_TIME_DIGITS = 12
const LEASE_EPOCH_DIGITS = 8
const LEASE_EPOCH = new RegExp(`^[0-9a-f]{${LEASE_EPOCH_DIGITS}}-`)

/**
 * An epoch greater, as text, than for all earlier sequencers on the market: the lease orders it after other processes,
 * the time after earlier sequencers in this process and in runs before it. The time is later than their every commit,
 * also after the wall clock was set back.
 * @param leaseEpoch 0 where there is no lease
 */
export function newEpoch(leaseEpoch: number, milliseconds: number): string {
  const time = milliseconds.toString(16).padStart(EPOCH_TIME_DIGITS, '0')
  return `${earliestEpoch(leaseEpoch)}${time}-${newId()}`
}

/** What is later than every epoch with a smaller lease epoch, and earlier than every other with this one. */
export function earliestEpoch(leaseEpoch: number): string {
  return `${leaseEpoch.toString(16).padStart(LEASE_EPOCH_DIGITS, '0')}-`
}

/** The lease epoch in a sequencer's epoch. Undefined for other texts. */
export function leaseEpochIn(epoch: string): number | undefined {
  return LEASE_EPOCH.test(epoch) ? Number.parseInt(epoch.slice(0, LEASE_EPOCH_DIGITS), 16) : undefined
}
