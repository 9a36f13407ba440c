/** Attacks with requests that never end: heads, bodies, idle connections, and repeated faults. */
import { connect, type Socket } from 'node:net'
import { RawPeer, readAnswer, type Target } from '../raw-peer.ts'
import { handshakeHead } from '../stream-peer.ts'
import { type Attack, type AttackRun, Findings } from './attack.ts'
import { settledSockets } from './operator.ts'
import { paced, pause, pooled, statusText } from './requests.ts'

const MEGABYTE = 1_048_576
/** The budget for unfinished heads and bodies, and for garbage not yet collected. */
const GROWTH_MEGABYTES_MAX = 400
const SOCKETS_SLACK = 4

const HEAD = `GET / HTTP/1.1\r\nHost: tidegate.test\r\nX-Filling: ${'x'.repeat(500_000)}`

/** Opens connections that each send the same bytes. Refused or closed ones are left out. */
async function openAll(target: Target, count: number, bytes: string): Promise<RawPeer[]> {
  const shared = Buffer.from(bytes)
  const peers = await pooled(count, 50, async () => {
    const peer = await RawPeer.connect(target).catch(() => undefined)
    peer?.send(shared)
    return peer
  })
  return peers.filter((peer) => peer !== undefined)
}

/** Keeps requests open, lets an honest client use the service meanwhile, and measures the process's growth. */
async function holdOpen({ stage }: AttackRun, count: number, bytes: string, heldMilliseconds: number) {
  const findings = new Findings()
  const { reader } = await stage.field()
  const before = stage.watch.residentBytes
  const peers = await openAll(stage.target, count, bytes)
  const honest = await paced(10, 10_000 / heldMilliseconds, async () => ({
    status: await handshakeStatus(stage.target, reader.token),
  }))
  if (!stage.isAlive) throw new Error(`the process ended (${stage.ended}) with ${peers.length} unfinished requests`)
  const growth = Math.round((stage.watch.residentBytesMax - before) / MEGABYTE)
  findings.check(growth <= GROWTH_MEGABYTES_MAX, `the process grew by ${growth} MB`)
  findings.check(
    honest.every(({ status }) => status === 101),
    `honest handshakes: ${statusText(honest)}`,
  )
  const answers = peers
    .filter(({ hasEnded }) => hasEnded)
    .map(({ received }) => ({ status: readAnswer(received)?.status ?? 0 }))
  const isKnown = answers.every(({ status }) => [0, 408, 429, 431, 503].includes(status))
  findings.check(isKnown, `evicted with ${statusText(answers)}`)
  for (const peer of peers) peer.destroy()
  const evicted = answers.length === 0 ? 'none evicted' : `${answers.length} evicted (${statusText(answers)})`
  return {
    findings,
    seen: `${peers.length} opened, ${evicted}; grew by ${growth} MB; honest handshakes ${statusText(honest)}`,
  }
}

async function handshakeStatus(target: Target, token: string): Promise<number> {
  const peer = await RawPeer.connect(target).catch(() => undefined)
  if (peer === undefined) return 0
  peer.send(handshakeHead(token))
  await peer.until('an answer', () => peer.hasEnded || readAnswer(peer.received) !== undefined).catch(() => undefined)
  const status = readAnswer(peer.received)?.status ?? 0
  peer.destroy()
  return status
}

export const unfinishedHeads: Attack = {
  name: 'unfinished-heads',
  sent: '1,500 connections without a token, each with a head of 500 KB that does not end, held for 3 s',
  holds: `the process grows by at most ${GROWTH_MEGABYTES_MAX} MB, the oldest are evicted (408, 503 or cut), honest handshakes are accepted`,
  isolation: 'own',
  isInTests: false,
  async run(run) {
    const { findings, seen } = await holdOpen(run, run.scale === 'full' ? 1_500 : 300, HEAD, 3_000)
    return findings.outcome(seen)
  },
}

export const unfinishedBodies: Attack = {
  name: 'unfinished-bodies',
  sent: '800 connections with a token, each with 1,000,000 bytes of a body of 1 MiB that does not end, held for 3 s',
  holds: `the process grows by at most ${GROWTH_MEGABYTES_MAX} MB, others are evicted or refused, honest handshakes are accepted`,
  isolation: 'own',
  isInTests: false,
  // One client, whose rate would otherwise refuse most of them before their bodies are read.
  settings: { 'rest.rate_per_second': '100000' },
  async run(run) {
    const { token } = await run.stage.customer()
    const head = [
      'POST /v2/identity/accounts HTTP/1.1',
      'Host: tidegate.test',
      `Authorization: Bearer ${token}`,
      'Content-Type: application/json',
      `Content-Length: ${MEGABYTE}`,
      '\r\n',
    ].join('\r\n')
    const bytes = `${head}{"account":{"description":"${'x'.repeat(1_000_000)}`
    const { findings, seen } = await holdOpen(run, run.scale === 'full' ? 800 : 200, bytes, 3_000)
    return findings.outcome(seen)
  },
}

/** A head's timeout, plus time for its check, a busy machine and connecting. */
const HEAD_SECONDS_MAX = 20

export const drippedHeads: Attack = {
  name: 'dripped-heads',
  sent: '300 connections that send one byte of a head each second',
  holds: `each is answered 408 or cut within ${HEAD_SECONDS_MAX} s`,
  isolation: 'once',
  isInTests: false,
  async run({ stage }) {
    const findings = new Findings()
    const peers = await openAll(stage.target, 300, 'G')
    const rest = `ET / HTTP/1.1\r\nHost: tidegate.test\r\nX-Filling: ${'x'.repeat(100)}`
    for (let second = 0; second < HEAD_SECONDS_MAX && peers.some(({ hasEnded }) => !hasEnded); second++) {
      for (const peer of peers) peer.send(rest[second]!)
      await pause(1_000)
    }
    const left = peers.filter(({ hasEnded }) => !hasEnded).length
    findings.check(left === 0, `${left} of ${peers.length} still open after ${HEAD_SECONDS_MAX} s`)
    const answers = peers
      .filter(({ hasEnded }) => hasEnded)
      .map(({ received }) => ({ status: readAnswer(received)?.status ?? 0 }))
    for (const peer of peers) peer.destroy()
    return findings.outcome(`${peers.length - left} of ${peers.length} ended: ${statusText(answers)}`)
  },
}

const FAULT_SECONDS_MAX = 15

/** A connection whose own side stays open when the service ends the other. */
function openHalf({ host, port }: Target, bytes: string): Socket {
  const socket = connect({ host, port, allowHalfOpen: true }, () => socket.write(bytes))
  socket.resume()
  // A reset is reported as an error here, and is followed by 'close'.
  socket.on('error', () => undefined)
  return socket
}

export const drippedFaults: Attack = {
  name: 'dripped-faults',
  sent: '50 connections that are answered 400, keep their side open and send a byte each 500 ms',
  holds: `each is cut within ${FAULT_SECONDS_MAX} s of the answer`,
  isolation: 'once',
  isInTests: false,
  async run({ stage }) {
    const findings = new Findings()
    const sockets = Array.from({ length: 50 }, () => openHalf(stage.target, 'hello\r\n\r\n'))
    for (let half = 0; half < 2 * FAULT_SECONDS_MAX && sockets.some(({ closed }) => !closed); half++) {
      for (const socket of sockets) if (!socket.closed) socket.write('x')
      await pause(500)
    }
    const left = sockets.filter(({ closed }) => !closed).length
    findings.check(left === 0, `${left} of ${sockets.length} still open after ${FAULT_SECONDS_MAX} s`)
    for (const socket of sockets) socket.destroy()
    return findings.outcome(`${sockets.length - left} of ${sockets.length} cut`)
  },
}

export const connectionFloods: Attack = {
  name: 'connection-floods',
  sent: '1,500 connections that ask for nothing, and 1,500 more that are closed or reset at once',
  holds: 'honest handshakes are accepted, and no socket is left when the connections are gone',
  isolation: 'own',
  isInTests: true,
  async run(run) {
    const { stage, random, scale } = run
    const count = scale === 'full' ? 1_500 : 200
    const socketsBefore = stage.watch.openSockets
    await pooled(count, 50, async () => {
      const peer = await RawPeer.connect(stage.target).catch(() => undefined)
      if (random.chance(0.5)) peer?.reset()
      else peer?.destroy()
    })
    const { findings, seen } = await holdOpen(run, count, '', 500)
    const socketsAfter = await settledSockets(stage.watch, socketsBefore + SOCKETS_SLACK)
    findings.check(
      socketsAfter <= socketsBefore + SOCKETS_SLACK,
      `${socketsAfter - socketsBefore} more sockets than before`,
    )
    return findings.outcome(`${seen}; sockets ${socketsBefore} before and ${socketsAfter} after`)
  },
}

export const unfinishedMix: Attack = {
  name: 'unfinished-mix',
  sent: '600 connections that stop at every place of a request: before it, in its line, its fields, its body, its chunks',
  holds: 'honest handshakes are accepted, and no socket is left when the connections are gone',
  isolation: 'own',
  isInTests: true,
  async run({ stage, random, scale }) {
    const findings = new Findings()
    const socketsBefore = stage.watch.openSockets
    const { reader } = await stage.field()
    const form =
      'POST /oauth2/token HTTP/1.1\r\nHost: tidegate.test\r\nContent-Type: application/x-www-form-urlencoded\r\n'
    const requests = [
      handshakeHead(reader.token),
      `${form}Content-Length: 60000\r\n\r\n${'x'.repeat(50_000)}`,
      `${form}Transfer-Encoding: chunked\r\n\r\nffff\r\n${'x'.repeat(60_000)}`,
      `${form}Transfer-Encoding: chunked\r\n\r\n1;${'y'.repeat(10_000)}`,
    ]
    const peers = await pooled(scale === 'full' ? 600 : 120, 30, async () => {
      const request = random.pick(requests)
      const peer = await RawPeer.connect(stage.target).catch(() => undefined)
      // Never complete: the last byte is missing.
      peer?.send(request.slice(0, random.integer(request.length - 1)))
      return peer
    })
    const honest = await paced(5, 10, async () => ({ status: await handshakeStatus(stage.target, reader.token) }))
    findings.check(
      honest.every(({ status }) => status === 101),
      `honest handshakes: ${statusText(honest)}`,
    )
    for (const peer of peers) {
      if (random.chance(0.5)) peer?.reset()
      else peer?.destroy()
    }
    const socketsAfter = await settledSockets(stage.watch, socketsBefore + SOCKETS_SLACK)
    findings.check(stage.isAlive, `the process ended (${stage.ended})`)
    findings.check(
      socketsAfter <= socketsBefore + SOCKETS_SLACK,
      `${socketsAfter - socketsBefore} more sockets than before`,
    )
    return findings.outcome(`${peers.length} connections; sockets ${socketsBefore} before and ${socketsAfter} after`)
  },
}
