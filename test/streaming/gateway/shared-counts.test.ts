/** A gateway process's side of the connection counts. */
import { expect, test } from 'vitest'
import type { ConnectionCounts } from '../../../src/streaming/gateway/process-messages.ts'
import { HolderCounts } from '../../../src/streaming/gateway/session-index.ts'
import { SharedCounts } from '../../../src/streaming/gateway/shared-counts.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

test("a process reports what its customers and clients use once per 50 ms, and counts the others' use", () => {
  const clock = new VirtualClock()
  const reports: ConnectionCounts[] = []
  const counts = new SharedCounts(clock, (report) => reports.push(report))
  const uses = new HolderCounts()
  const hub = { sessions: { size: 3 } as never, uses }
  const holders = { customerId: 'acme', clientId: 'a' }
  const changeBy = (connections: number, subscriptions: number) => {
    uses.add(holders, { connections, subscriptions })
    counts.changed(holders, hub)
  }
  changeBy(1, 0)
  changeBy(2, 5)
  expect(reports).toEqual([])
  clock.advance(50)
  const use = { connections: 3, subscriptions: 5 }
  const reported = [
    ['acme', use],
    ['a', use],
  ]
  expect(reports).toEqual([{ total: 3, holders: reported }])
  clock.advance(1_000)
  expect(reports).toHaveLength(1)
  changeBy(-3, -5)
  expect([...uses.holderIds]).toEqual([])

  const none = { connections: 0, subscriptions: 0 }
  counts.receive({ total: 7, holders: [['a', use]] })
  expect([counts.total, counts.useOf('a'), counts.useOf('b')]).toEqual([7, use, none])
  counts.receive({ total: 0, holders: [['a', none]] })
  expect([counts.total, counts.useOf('a')]).toEqual([0, none])
})
