/**
 * Splits reports into waves to be recorded one after the other. A wave has at most one report per payment and per name
 * from a source. Reports about one payment keep their order.
 */
import { paymentKey, type Report } from './report.ts'

export function wavesOf<Item extends { readonly report: Report }>(
  items: readonly Item[],
): readonly (readonly Item[])[] {
  const waves: Item[][] = []
  const next = new Map<string, number>()
  for (const item of items) {
    const { source, externalId } = item.report
    const keys = [JSON.stringify({ source, externalId }), paymentKey(item.report) ?? []].flat()
    const number = Math.max(...keys.map((key) => next.get(key) ?? 0))
    for (const key of keys) next.set(key, number + 1)
    const wave = waves[number] ?? []
    wave.push(item)
    waves[number] = wave
  }
  return waves
}
