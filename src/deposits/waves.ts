/** Which reports can be recorded together: those of one payment follow each other, each in a transaction of its own. Pure. */
import { paymentKey, type Report } from './report.ts'

/** Reports of one payment, or with one name, go into waves that follow each other in the order of the reports. */
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
