/** The output of the streaming examples, and waiting for it. */
import type { RunningCommand } from '../support/command-line.ts'

/** `TIME MARKET BID x AMOUNT ASK x AMOUNT`, without exponents. */
export const BEST_LINE =
  /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) BTCUSD (\d+\.\d{2}) x (\d+\.\d{8}) (\d+\.\d{2}) x (\d+\.\d{8})$/

/** Resolves to the first `count` lines of stdout. */
export async function firstLines(program: RunningCommand, count: number): Promise<string[]> {
  const lines = () => program.stdout().split('\n').slice(0, -1)
  await program.line(() => lines().length >= count)
  return lines().slice(0, count)
}

/**
 * Returns problems that a correct book never shows: malformed lines, crossed prices, times that do not advance,
 * repeated lines.
 * @param reconnects how often the first line of a new connection may have the time of the last one before it: a market
 * that has not changed sends the same book
 */
export function flawsOf(lines: readonly string[], reconnects = 0): string[] {
  let repeated = 0
  return lines.filter((line, index) => {
    const [, time = '', bid = '', , ask = ''] = BEST_LINE.exec(line) ?? []
    const before = lines[index - 1]
    const timeBefore = before?.slice(0, time.length)
    const isRepeated = time !== '' && time === timeBefore && ++repeated <= reconnects
    if (timeBefore !== undefined && time <= timeBefore && !isRepeated) return true
    return time === '' || bid.length > ask.length || (bid.length === ask.length && bid >= ask)
  })
}
