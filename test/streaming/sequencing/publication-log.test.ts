/** The numbers of a market's messages, where this process has withdrawn the book very often. */
import { expect, it } from 'vitest'
import { PublicationLog } from '../../../src/streaming/sequencing/publication-log.ts'

it('a relay resumes at each number since the last 1,024 withdrawals by this process, and at no other', () => {
  const log = new PublicationLog('AAAUSD')
  const texts: string[] = []
  const append = (base: number, isPublished: boolean) => {
    const version = texts.length + 1
    log.append(undefined, { id: 'e', base }, version, isPublished)
    texts.push(`${log.epochText}.${log.seqAt(version)}`)
  }
  const withdrawals: number[] = []
  append(0, true)
  while (withdrawals.length < 1_030) {
    append(withdrawals.length, true)
    // A withdrawal has a version here and none in the epoch: its number is that of the book before it.
    withdrawals.push(texts.length + 1)
    append(withdrawals.length, true)
    append(withdrawals.length, true)
  }
  const lastForgotten = withdrawals.at(-1_025) as number
  const wrong = texts.flatMap((text, index) => {
    const version = index + 1
    const expected = version > lastForgotten ? version : undefined
    const resumed = log.resumable(text)?.version
    return resumed === expected || withdrawals.includes(version) ? [] : [{ version, expected, resumed }]
  })
  expect(wrong).toEqual([])
})
