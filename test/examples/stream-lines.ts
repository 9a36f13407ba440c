/** What the streaming examples print, and how long to wait for it. */
import type { RunningCommand } from '../support/command-line.ts'

/** `TIME MARKET BID x AMOUNT ASK x AMOUNT`, every number in digits. */
export const BEST_LINE =
  /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) BTCUSD (\d+\.\d{2}) x (\d+\.\d{8}) (\d+\.\d{2}) x (\d+\.\d{8})$/

/** Resolves to the first `count` lines of stdout. */
export async function firstLines(program: RunningCommand, count: number): Promise<string[]> {
  const lines = () => program.stdout().split('\n').slice(0, -1)
  await program.line(() => lines().length >= count)
  return lines().slice(0, count)
}

/** What no sound book shows: lines of another form, crossed prices, times that do not advance, a line said twice. */
export function flawsOf(lines: readonly string[]): string[] {
  return lines.filter((line, index) => {
    const [, time = '', bid = '', , ask = ''] = BEST_LINE.exec(line) ?? []
    const before = lines[index - 1]
    if (before !== undefined && time <= before.slice(0, time.length)) return true
    return time === '' || bid.length > ask.length || (bid.length === ask.length && bid >= ask)
  })
}
