/** Attacks by a client with access to the stream: requests with many entries, fragmented messages, unread replies. */
import { frameBytes, OPCODES, StreamPeer } from '../stream-peer.ts'
import { type Attack, Findings } from './attack.ts'
import { pause, pooled } from './requests.ts'
import { type Stage, within } from './stage.ts'

const MEGABYTE = 1_048_576
const SUBSCRIPTIONS_MAX = 1_000
const INBOUND_BYTES_MAX = 65_536
const INBOUND_BURST = 1_000
const INBOUND_PER_SECOND = 50
/** Only for a service that does not close. */
const CLOSED_MILLISECONDS_MAX = 30_000

async function openStream(stage: Stage): Promise<StreamPeer> {
  return StreamPeer.open(stage.target, (await stage.field()).reader.token)
}

/** A subscribe request with this many entries, each as short as possible. */
function entriesRequest(count: number): string {
  return `{"type":"subscribe","channels":[${Array.from({ length: count }, () => '{}').join()}]}`
}

export const largeRequests: Attack = {
  name: 'large-requests',
  sent: '40 stream requests of 64 KiB with 21,800 entries each, on 20 connections',
  holds:
    'each is MALFORMED_REQUEST as a whole: its reply is smaller than it, and it costs at most 15 ms of processor time',
  isolation: 'own',
  isInTests: true,
  async run({ stage, scale }) {
    const findings = new Findings()
    const request = entriesRequest(21_800)
    // Entries count against a connection's rate, whose burst allows two such messages.
    const [connections, count] = [scale === 'full' ? 20 : 5, 2]
    const peers = await pooled(connections, 10, () => openStream(stage))
    const before = stage.busyMilliseconds
    for (const peer of peers) for (let index = 0; index < count; index++) peer.sendText(request)
    for (const peer of peers) await peer.reply(count - 1)
    if (!stage.isAlive) throw new Error(`the process ended (${stage.ended})`)
    const cost = Math.round((stage.busyMilliseconds - before) / (connections * count))
    const replies = peers.flatMap((peer) => peer.replies)
    const longest = Math.max(...replies.map((reply) => reply.length))
    findings.check(
      replies.length === connections * count,
      `${replies.length} replies to ${connections * count} requests`,
    )
    findings.check(longest < request.length, `a reply of ${longest} bytes to a request of ${request.length}`)
    findings.check(
      replies.every((reply) => reply.includes('MALFORMED_REQUEST')),
      `a reply was ${replies[0]?.slice(0, 100)}`,
    )
    findings.check(cost <= 15, `${cost} ms of processor time for each`)
    for (const peer of peers) peer.destroy()
    return findings.outcome(`longest reply ${longest} bytes, ${cost} ms of processor time for each`)
  },
}

export const manyEntries: Attack = {
  name: 'many-entries',
  sent: `200 stream requests of ${SUBSCRIPTIONS_MAX} entries at once on one connection`,
  holds: 'a request counts as 1 + entries/50 against the rate of the connection: in 2 s at most 60 are answered',
  isolation: 'own',
  isInTests: false,
  async run({ stage, scale }) {
    const findings = new Findings()
    const request = entriesRequest(SUBSCRIPTIONS_MAX)
    const count = scale === 'full' ? 200 : 100
    const peer = await openStream(stage)
    const begun = performance.now()
    for (let index = 0; index < count; index++) peer.sendText(request)
    await pause(2_000)
    const seconds = (performance.now() - begun) / 1_000
    const answered = peer.replies.length
    const budget = INBOUND_BURST + seconds * INBOUND_PER_SECOND
    const most = Math.ceil(budget / (1 + SUBSCRIPTIONS_MAX / 50)) + 1
    findings.check(stage.isAlive, `the process ended (${stage.ended})`)
    findings.check(answered <= most, `${answered} of ${count} were answered in ${seconds.toFixed(1)} s`)
    peer.destroy()
    return findings.outcome(`${answered} answered in ${seconds.toFixed(1)} s, at most ${most} allowed`)
  },
}

const GROWTH_MEGABYTES_MAX = 200

export const streamFragments: Attack = {
  name: 'stream-fragments',
  sent: '100 connections with a message in 4,000 pieces of one byte that does not end, then 10,000 empty pieces',
  holds: `each is closed with 1008 after 64 pieces, and the process grows by at most ${GROWTH_MEGABYTES_MAX} MB`,
  isolation: 'own',
  isInTests: true,
  async run({ stage, scale }) {
    const findings = new Findings()
    const count = scale === 'full' ? 100 : 10
    const before = stage.watch.residentBytes
    const begin = frameBytes({ opcode: OPCODES.text, payload: '{', isFinal: false })
    const piece = frameBytes({ opcode: OPCODES.continuation, payload: ' ', isFinal: false })
    const empty = frameBytes({ opcode: OPCODES.continuation, isFinal: false })
    const bytes = Buffer.concat([begin, ...Array.from({ length: 4_000 }, () => piece)])
    const more = Buffer.concat(Array.from({ length: 10_000 }, () => empty))
    const peers = await pooled(count, 20, () => openStream(stage))
    for (const peer of peers) peer.peer.send(bytes)
    await within(CLOSED_MILLISECONDS_MAX, Promise.allSettled(peers.map((peer) => peer.closeCode())))
    const closedEarly = peers.filter(({ close }) => close?.code === 1008).length
    for (const peer of peers) peer.peer.send(more)
    const codes = await pooled(count, count, (index) => peers[index]!.closeCode().catch(() => undefined))
    if (!stage.isAlive) throw new Error(`the process ended (${stage.ended})`)
    const growth = Math.round((stage.watch.residentBytesMax - before) / MEGABYTE)
    const wrong = codes.filter((code) => code !== 1008).length
    findings.check(wrong === 0, `${wrong} of ${count} were not closed with 1008`)
    findings.check(closedEarly === count, `${count - closedEarly} of ${count} were still open after 4,001 pieces`)
    findings.check(growth <= GROWTH_MEGABYTES_MAX, `the process grew by ${growth} MB`)
    for (const peer of peers) peer.destroy()
    return findings.outcome(`${closedEarly} of ${count} closed with 1008 after 4,001 pieces; grew by ${growth} MB`)
  },
}

export const streamFloods: Attack = {
  name: 'stream-floods',
  sent: '20 connections with 3,000 small requests each whose replies are not read, 10 with 2,000 pings',
  holds: 'no connection gets more than its burst and rate, floods of pings are closed with 1008, memory stays',
  isolation: 'own',
  isInTests: true,
  async run({ stage, scale }) {
    const findings = new Findings()
    const [asking, pinging] = scale === 'full' ? [20, 10] : [4, 2]
    const before = stage.watch.residentBytes
    const requests = repeated(frameBytes({ opcode: OPCODES.text, payload: '{"type":"subscription_list"}' }), 3_000)
    const pings = repeated(frameBytes({ opcode: OPCODES.ping, payload: 'x' }), 2_000)
    const askers = await pooled(asking, 10, () => openStream(stage))
    const pingers = await pooled(pinging, 10, () => openStream(stage))
    const begun = performance.now()
    for (const peer of askers) peer.peer.send(requests)
    for (const peer of pingers) peer.peer.send(pings)
    const codes = await pooled(pinging, pinging, (index) => pingers[index]!.closeCode().catch(() => undefined))
    await pause(1_000)
    const seconds = (performance.now() - begun) / 1_000
    const most = Math.ceil(INBOUND_BURST + seconds * INBOUND_PER_SECOND) + 1
    const answered = Math.max(...askers.map((peer) => peer.replies.length))
    if (!stage.isAlive) throw new Error(`the process ended (${stage.ended})`)
    const growth = Math.round((stage.watch.residentBytesMax - before) / MEGABYTE)
    findings.check(
      codes.every((code) => code === 1008),
      `floods of pings were closed with ${codes.join()}`,
    )
    findings.check(answered <= most, `${answered} requests of one connection were answered in ${seconds.toFixed(1)} s`)
    findings.check(growth <= GROWTH_MEGABYTES_MAX, `the process grew by ${growth} MB`)
    for (const peer of [...askers, ...pingers]) peer.destroy()
    return findings.outcome(`at most ${answered} answered in ${seconds.toFixed(1)} s; grew by ${growth} MB`)
  },
}

function repeated(frame: Buffer, count: number): Buffer {
  const bytes = Buffer.alloc(frame.length * count)
  for (let index = 0; index < count; index++) frame.copy(bytes, index * frame.length)
  return bytes
}

/** The largest message that a connection may buffer in the process, for each of many connections. */
export const heldMessages: Attack = {
  name: 'held-messages',
  sent: '300 connections, each with a message of 64 KiB that lacks its last byte, held for 2 s',
  holds: `the process grows by at most ${GROWTH_MEGABYTES_MAX} MB`,
  isolation: 'own',
  isInTests: false,
  async run({ stage, scale }) {
    const findings = new Findings()
    const count = scale === 'full' ? 300 : 50
    const before = stage.watch.residentBytes
    const frame = frameBytes({ opcode: OPCODES.text, payload: ' '.repeat(INBOUND_BYTES_MAX) })
    const peers = await pooled(count, 20, () => openStream(stage))
    for (const peer of peers) peer.peer.send(frame.subarray(0, -1))
    await pause(2_000)
    if (!stage.isAlive) throw new Error(`the process ended (${stage.ended})`)
    const growth = Math.round((stage.watch.residentBytesMax - before) / MEGABYTE)
    findings.check(growth <= GROWTH_MEGABYTES_MAX, `the process grew by ${growth} MB`)
    for (const peer of peers) peer.destroy()
    return findings.outcome(`${count} held; grew by ${growth} MB`)
  },
}
