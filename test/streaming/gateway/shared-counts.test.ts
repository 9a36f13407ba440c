/** A gateway process's side of the connection counts. */
import { expect, test } from 'vitest'
import type { ConnectionCounts } from '../../../src/streaming/gateway/process-messages.ts'
import { SharedCounts } from '../../../src/streaming/gateway/shared-counts.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

test("a process reports its clients' connections once per 50 ms, and counts the others'", () => {
  const clock = new VirtualClock()
  const reports: ConnectionCounts[] = []
  const counts = new SharedCounts(clock, (report) => reports.push(report))
  const open = new Map<string, number>()
  const hub = { sessions: { size: 3 } as never, connectionsOfClient: (id: string) => open.get(id) ?? 0 }
  open.set('a', 1)
  counts.changed('a', hub)
  open.set('a', 3)
  counts.changed('a', hub)
  counts.changed('gone', hub)
  expect(reports).toEqual([])
  clock.advance(50)
  const clients = [
    ['a', 3],
    ['gone', 0],
  ]
  expect(reports).toEqual([{ total: 3, clients }])
  clock.advance(1_000)
  expect(reports).toHaveLength(1)

  counts.receive({ total: 7, clients: [['a', 5]] })
  expect([counts.total, counts.ofClient('a'), counts.ofClient('b')]).toEqual([7, 5, 0])
  counts.receive({ total: 0, clients: [['a', 0]] })
  expect([counts.total, counts.ofClient('a')]).toEqual([0, 0])
})
