/** Attacks on the operator listener: rejected WebSocket handshakes, requests from foreign pages, token guesses. */
import { RawPeer, readAnswer, type Target } from '../raw-peer.ts'
import { type Attack, Findings } from './attack.ts'
import { bearer, pause, pooled, send, statusText } from './requests.ts'
import { within } from './stage.ts'

/** Other sockets that may be open: the measured customer's. */
const SOCKETS_SLACK = 4
const SETTLED_MILLISECONDS_MAX = 8_000
/** Only for a service that never answers. */
const ANSWER_MILLISECONDS_MAX = 30_000

function handshake(host: string, origin?: string): string {
  return [
    'GET / HTTP/1.1',
    `Host: ${host}`,
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ...(origin === undefined ? [] : [`Origin: ${origin}`]),
    '\r\n',
  ].join('\r\n')
}

export const operatorResets: Attack = {
  name: 'operator-resets',
  sent: '720 WebSocket handshakes without a token, each followed by a TCP reset, half of them on each listener',
  holds: 'the process runs on and keeps no socket',
  isolation: 'shared',
  isInTests: true,
  async run({ stage, random, scale }) {
    const findings = new Findings()
    const count = scale === 'full' ? 720 : 120
    const socketsBefore = stage.watch.openSockets
    let sent = 0
    await pooled(count, 16, async (index) => {
      if (!stage.isAlive) return
      const target = index % 2 === 0 ? stage.operatorTarget : stage.target
      const peer = await RawPeer.connect(target).catch(() => undefined)
      if (peer === undefined) return
      peer.send(handshake(`${target.host}:${target.port}`))
      sent++
      // From before the request was read until after it was answered.
      await pause(random.integer(12))
      peer.reset()
    })
    findings.check(stage.isAlive, `the process ended (${stage.ended}) after ${sent} handshakes`)
    if (!stage.isAlive) return findings.outcome(`${sent} handshakes`)
    const socketsAfter = await settledSockets(stage.watch, socketsBefore + SOCKETS_SLACK)
    findings.check(
      socketsAfter <= socketsBefore + SOCKETS_SLACK,
      `${socketsAfter - socketsBefore} more sockets than before`,
    )
    return findings.outcome(`${sent} handshakes, sockets ${socketsBefore} before and ${socketsAfter} after`)
  },
}

/** Waits for a limited time until there are at most this many. @returns the last number */
export async function settledSockets(watch: { readonly openSockets: number }, socketsMax: number): Promise<number> {
  const begun = performance.now()
  while (watch.openSockets > socketsMax && performance.now() - begun < SETTLED_MILLISECONDS_MAX) await pause(100)
  return watch.openSockets
}

export const operatorOpenHandshakes: Attack = {
  name: 'operator-open-handshakes',
  sent: '50 WebSocket handshakes on the operator listener that are left open, then SIGTERM',
  holds: 'each is answered with a refusal or closed; the process ends with code 0 within 12 s of SIGTERM',
  isolation: 'once',
  isInTests: false,
  async run({ stage }) {
    const findings = new Findings()
    const { host, port } = stage.operatorTarget
    const peers = await pooled(50, 10, () => RawPeer.connect(stage.operatorTarget))
    for (const peer of peers) peer.send(handshake(`${host}:${port}`))
    const answers = await pooled(50, 50, async (index) => {
      const peer = peers[index]!
      await within(
        3_000,
        peer.until('an answer', () => peer.hasEnded || readAnswer(peer.received) !== undefined),
      )
      return { status: readAnswer(peer.received)?.status ?? 0, hasEnded: peer.hasEnded }
    })
    const unanswered = answers.filter(({ status, hasEnded }) => status === 0 && !hasEnded).length
    findings.check(unanswered === 0, `${unanswered} of 50 handshakes were neither answered nor closed`)
    findings.check(!answers.some(({ status }) => status === 101), 'a handshake was accepted')
    stage.signal('SIGTERM')
    const begun = performance.now()
    const ended = await stage.untilEnded(12_000)
    const seconds = ((performance.now() - begun) / 1_000).toFixed(1)
    findings.check(ended === 'code 0', `${ended ?? 'still running'} ${seconds} s after SIGTERM`)
    for (const peer of peers) peer.destroy()
    return findings.outcome(`${statusText(answers)}; ended with ${ended} after ${seconds} s`)
  },
}

interface HostCase {
  readonly name: string
  /** `PORT` is replaced by the listener's port. */
  readonly host: string
  readonly origin?: string
  readonly isAllowed: boolean
}

const HOST_CASES: readonly HostCase[] = [
  { name: 'the address itself', host: '127.0.0.1:PORT', isAllowed: true },
  { name: 'localhost', host: 'localhost:PORT', isAllowed: true },
  { name: 'another IP literal', host: '[::1]:PORT', isAllowed: true },
  { name: 'its own origin', host: '127.0.0.1:PORT', origin: 'http://127.0.0.1:PORT', isAllowed: true },
  { name: 'a rebound name', host: 'rebound.example:PORT', isAllowed: false },
  { name: 'a rebound name without a port', host: 'rebound.example', isAllowed: false },
  { name: 'a name that begins like the address', host: '127.0.0.1.rebound.example:PORT', isAllowed: false },
  { name: 'a name that begins like localhost', host: 'localhost.rebound.example:PORT', isAllowed: false },
  { name: 'a name that ends like localhost', host: 'rebound-localhost:PORT', isAllowed: false },
  { name: 'a foreign origin', host: '127.0.0.1:PORT', origin: 'https://rebound.example', isAllowed: false },
  { name: 'an origin that is null', host: '127.0.0.1:PORT', origin: 'null', isAllowed: false },
  { name: 'an origin on another port', host: '127.0.0.1:PORT', origin: 'http://127.0.0.1:1', isAllowed: false },
]

const HOST_PATHS = ['/livez', '/readyz', '/metrics', '/admin/v1/customers'] as const
/** 421: not this host (RFC 9110). 403: not this origin. 400 and 404 are refusals as well. */
const REFUSALS = [400, 403, 404, 421]

export const operatorForeignHosts: Attack = {
  name: 'operator-foreign-hosts',
  sent: 'requests and handshakes with names and origins of others on the operator listener, with the right token',
  holds: 'a foreign Host is 421, a foreign Origin is refused; IP literals, localhost and its own origin are answered',
  cases: HOST_CASES.map(({ name }) => name),
  isolation: 'shared',
  isInTests: true,
  async run({ stage }) {
    const findings = new Findings()
    let asked = 0
    for (const { name, isAllowed, ...fields } of HOST_CASES) {
      const portIn = (text: string) => text.replace('PORT', String(stage.operatorTarget.port))
      const host = portIn(fields.host)
      const origin = fields.origin === undefined ? undefined : portIn(fields.origin)
      for (const path of HOST_PATHS) {
        const headers = { ...bearer(stage.operator.token), host, ...(origin === undefined ? {} : { origin }) }
        const { status } = await send(`${stage.operator.url}${path}`, { headers })
        asked++
        const isRefused = origin === undefined ? status === 421 : REFUSALS.includes(status)
        findings.check(isAllowed ? status === 200 : isRefused, `${name}: ${path} was answered ${status}`)
      }
      const upgraded = await handshakeStatus(stage.operatorTarget, handshake(host, origin))
      asked++
      findings.check(upgraded !== undefined && upgraded !== 101, `${name}: a handshake got ${upgraded ?? 'no answer'}`)
    }
    return findings.outcome(`${asked} requests in ${HOST_CASES.length} cases, ${findings.count} not as expected`)
  },
}

/** The response's status, 0 if the connection was closed without one, undefined if nothing happened. */
async function handshakeStatus(target: Target, head: string): Promise<number | undefined> {
  const peer = await RawPeer.connect(target)
  try {
    peer.send(head)
    await within(
      ANSWER_MILLISECONDS_MAX,
      peer.until('an answer', () => peer.hasEnded || readAnswer(peer.received) !== undefined),
    )
    return readAnswer(peer.received)?.status ?? (peer.hasEnded ? 0 : undefined)
  } finally {
    peer.destroy()
  }
}

export const operatorTokenGuesses: Attack = {
  name: 'operator-token-guesses',
  sent: '1,000 guesses at the operator token, 8 at a time, then the right one',
  holds: 'guesses are limited (429 after the first hundreds at most), the right token is accepted',
  isolation: 'own',
  isInTests: true,
  async run({ stage, scale }) {
    const findings = new Findings()
    const count = scale === 'full' ? 1_000 : 400
    const url = `${stage.operator.url}/admin/v1/customers?limit=1`
    const answers = await pooled(count, 8, (index) =>
      send(url, { headers: bearer(`guess-${index}-${'x'.repeat(20)}`) }),
    )
    const checked = answers.filter(({ status }) => status === 401).length
    findings.check(
      answers.every(({ status }) => status === 401 || status === 429),
      `answers: ${statusText(answers)}`,
    )
    findings.check(checked < 300, `${checked} of ${count} guesses were checked`)
    const right = await send(url, { headers: bearer(stage.operator.token) })
    findings.check(right.status === 200, `the right token was answered ${right.status}`)
    return findings.outcome(`${statusText(answers)}; the right token: ${right.status}`)
  },
}
