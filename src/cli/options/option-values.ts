/** Parsers for option values. The command line reports their errors with the option's name. */
import { InvalidArgumentError } from 'commander'

export function positiveInteger(text: string): number {
  if (!/^[1-9][0-9]{0,6}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1 to 9999999.')
  return Number(text)
}

const SECONDS_OF: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 }

/** `90`, `90s`, `10m`, `2h`, `1d`, in seconds. */
export function durationSeconds(text: string): number {
  const [, count, unit = 's'] = /^([1-9][0-9]{0,6})([smhd]?)$/.exec(text) ?? []
  if (count === undefined) throw new InvalidArgumentError('It must be a time like 90s, 10m, 2h or 1d.')
  return Number(count) * (SECONDS_OF[unit === '' ? 's' : unit] as number)
}

/** A whole number, which may be negative. */
export function integer(text: string): number {
  if (!/^-?[0-9]{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}
