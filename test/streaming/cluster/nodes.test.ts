import { describe, expect, it } from 'vitest'
import {
  decodeAnnouncement,
  definitionsDigest,
  encodeAnnouncement,
} from '../../../src/streaming/cluster/announcement.ts'
import { captureLog } from '../../support/captured-log.ts'
import { NodeExchange, testNode } from '../../support/node-exchange.ts'
import { testMarket } from '../../support/stream-simulation.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

function pair(log = captureLog()) {
  const clock = new VirtualClock()
  const exchange = new NodeExchange(clock)
  const [here, there] = [
    testNode({ clock, exchange, name: 'a:1', log: log.log }),
    testNode({ clock, exchange, name: 'b:1' }),
  ] as const
  clock.advance(10)
  return { clock, exchange, here, there, lines: log.lines }
}

const statesOf = ({ nodes }: ReturnType<typeof testNode>) => nodes.all.map(({ name, state }) => `${name} ${state}`)

describe('nodes', () => {
  it("nodes know each other within a second, with each node's report about itself", () => {
    const { clock, here, there } = pair()
    there.state.ready = false
    clock.advance(1_010)
    expect(here.nodes.all).toEqual([
      expect.objectContaining({ id: here.id, name: 'a:1', self: true, ready: true, state: 'present' }),
      {
        id: there.id,
        name: 'b:1',
        roles: ['gateway'],
        version: '1.2.3',
        started_at: '2026-11-23T00:00:00.000Z',
        ready: false,
        markets: 1,
        definitions: 'd1',
        self: false,
        state: 'present',
        same_definitions: true,
        seen_at: expect.stringMatching(/^20/),
      },
    ])
    expect(statesOf(there)).toEqual(['b:1 present', 'a:1 present'])
  })

  it('silent nodes are shown as such for five minutes; those that stop are forgotten at once', () => {
    const { clock, exchange, here, there } = pair()
    exchange.cut.add(there.id)
    clock.advance(3_000)
    expect(statesOf(here)).toEqual(['a:1 present', 'b:1 present'])
    clock.advance(2_000)
    expect(statesOf(here)).toEqual(['a:1 present', 'b:1 silent'])
    clock.advance(290_000)
    expect(statesOf(here)).toHaveLength(2)
    clock.advance(10_000)
    expect(statesOf(here)).toEqual(['a:1 present'])
    exchange.cut.clear()
    clock.advance(1_010)
    expect(statesOf(here)).toEqual(['a:1 present', 'b:1 present'])
    there.nodes.stop()
    clock.advance(10)
    expect(statesOf(here)).toEqual(['a:1 present'])
  })

  it('nodes that are started again in the same place replace their earlier run', () => {
    const { clock, exchange, here, there } = pair()
    exchange.cut.add(there.id)
    testNode({ clock, exchange, name: 'b:1' })
    clock.advance(5_000)
    expect(statesOf(here)).toEqual(['a:1 present', 'b:1 present'])
  })

  it('nodes with other market definitions are counted, and logged once each time', async () => {
    const { clock, exchange, here, there, lines } = pair()
    const differing = async () =>
      (await here.metrics.getSingleMetric('tidegate_nodes_differing')?.get())?.values[0]?.value
    clock.advance(3_000)
    expect([here.nodes.differing, await differing(), lines]).toEqual([[], 0, []])
    there.state.definitions = { markets: 2, definitions: 'd2' }
    clock.advance(3_000)
    expect(here.nodes.differing.map(({ name }) => name)).toEqual(['b:1'])
    expect(here.nodes.all[1]?.same_definitions).toBe(false)
    expect(await differing()).toBe(1)
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ node: 'b:1', markets: 2, definitions: 'd2' }])
    // A node that is gone has no definitions.
    exchange.cut.add(there.id)
    clock.advance(5_000)
    expect(await differing()).toBe(0)
    exchange.cut.clear()
    clock.advance(2_000)
    expect(lines).toHaveLength(2)
  })
})

it('the directory versions of other nodes are known while they are present and report one', () => {
  const { clock, exchange, here, there } = pair()
  expect(here.nodes.directoryVersions).toEqual([])
  there.state.directoryVersion = 12
  clock.advance(1_010)
  expect(here.nodes.directoryVersions).toEqual([12])
  expect(there.nodes.directoryVersions).toEqual([])
  exchange.cut.add(there.id)
  clock.advance(4_000)
  expect(here.nodes.directoryVersions).toEqual([])
})

describe('an announcement', () => {
  const announcement = {
    id: '018f0000-0000-7000-8000-000000000000',
    name: 'a:1',
    roles: ['feed'],
    version: '1.2.3',
    started_at: '2026-11-23T00:00:00.000Z',
    ready: true,
    markets: 2,
    definitions: 'd1',
  }

  it('an announcement is read with members that this release does not know, and refused without one that it needs', () => {
    const bytes = Buffer.from(JSON.stringify({ ...announcement, later: { release: 1 } }))
    expect(decodeAnnouncement(bytes)).toEqual(announcement)
    expect(decodeAnnouncement(encodeAnnouncement({ ...announcement, stopped: true }))?.stopped).toBe(true)
    for (const name of Object.keys(announcement)) {
      expect(
        decodeAnnouncement(Buffer.from(JSON.stringify({ ...announcement, [name]: undefined }))),
        name,
      ).toBeUndefined()
    }
    const wrong = [{ id: '../x' }, { roles: [1] }, { name: 'x'.repeat(301) }, { started_at: 'today' }, { markets: 0.5 }]
    for (const members of wrong) {
      expect(decodeAnnouncement(Buffer.from(JSON.stringify({ ...announcement, ...members })))).toBeUndefined()
    }
    for (const version of [-1, 0.5, '7']) {
      const bytes = Buffer.from(JSON.stringify({ ...announcement, directory_version: version }))
      expect(decodeAnnouncement(bytes)).toEqual(announcement)
    }
    const reporting = { ...announcement, directory_version: 7 }
    expect(decodeAnnouncement(encodeAnnouncement(reporting))).toEqual(reporting)
    for (const text of ['', 'null', '[]', '{', ' '.repeat(5_000) + JSON.stringify(announcement)]) {
      expect(decodeAnnouncement(Buffer.from(text))).toBeUndefined()
    }
  })

  it('an announcement has the same digest for the same definitions in any order', () => {
    const [a, b] = [testMarket('AAAUSD', 5), testMarket('BBBUSD', 5)]
    expect(definitionsDigest([a, b])).toMatch(/^[0-9a-f]{16}$/)
    expect(definitionsDigest([b, a])).toBe(definitionsDigest([a, b]))
    const others = [[a], [a, testMarket('BBBUSD', 6)], [a, { ...b, priceDecimals: b.priceDecimals + 1 }]]
    for (const other of others) expect(definitionsDigest(other)).not.toBe(definitionsDigest([a, b]))
  })
})
