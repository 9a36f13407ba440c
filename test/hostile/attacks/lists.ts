/** Attacks with responses that the client does not read: pages with large records, requested repeatedly. */
import { connect, type Socket } from 'node:net'
import type { Target } from '../raw-peer.ts'
import { type Attack, type AttackRun, Findings } from './attack.ts'
import { bearer, json, pause, pooled, sendUntilServed, statusText } from './requests.ts'
import { type Customer, type Stage, within } from './stage.ts'

const MEGABYTE = 1_048_576
const LIST = '/v2/identity/accounts?limit='
/** An account's metadata: the maximum number of members, with the longest names and widest characters. */
const MEMBERS_MAX = 100
const NAME = '𝄞'.repeat(199)
const ROLES = ['BENEFICIAL_OWNER', 'AUTHORIZED_USER', 'FINANCIAL_ADVISOR']
/**
 * Allowed memory growth while nothing is read: twice the budget for unread responses, because of the garbage collector.
 */
const GROWTH_MEGABYTES_MAX = 500

/** Each stage's attacker, whose records are created once. */
const attackers = new WeakMap<Stage, Customer>()

async function prepareAccounts({ stage, scale }: AttackRun): Promise<void> {
  const customer = await stage.customer()
  const members = Array.from({ length: MEMBERS_MAX }, (_, index) => ({
    identity_id: `${NAME}${String.fromCharCode(0x4e00 + index)}`,
    roles: ROLES,
  }))
  const metadata = { text: 'x'.repeat(16_000) }
  const account = { identity_id: 'attack', description: '𝄞'.repeat(1_000), metadata, members }
  const count = scale === 'full' ? 300 : 40
  const answers = await pooled(count, 4, () =>
    sendUntilServed(`${stage.http}/v2/identity/accounts`, {
      method: 'POST',
      ...withToken(customer.token, json({ account })),
    }),
  )
  const made = answers.filter(({ status }) => status === 200)
  if (made.length < count * 0.9) throw new Error(`accounts could not be made: ${statusText(answers)}`)
  attackers.set(stage, customer)
}

function withToken<Sent extends { readonly headers: Readonly<Record<string, string>> }>(token: string, sent: Sent) {
  return { ...sent, headers: { ...sent.headers, ...bearer(token) } }
}

/** Sends requests and reads nothing: the socket is not read until `resume` is called. */
function askAndWait({ host, port }: Target, head: string): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port }, () => {
      socket.pause()
      socket.write(head)
      resolve(socket)
    })
    // The service may close the connection at any time, which is one of the valid reactions.
    socket.on('error', () => resolve(undefined))
  })
}

function listHead(token: string, limit: number): string {
  const fields = `Host: tidegate.test\r\nAuthorization: Bearer ${token}\r\nConnection: close`
  return `GET ${LIST}${limit} HTTP/1.1\r\n${fields}\r\n\r\n`
}

/** How long the attacker sends requests, and how many at most in that time. */
const ASKING_MILLISECONDS_MAX = 30_000
const ANSWERS_MAX = 100
/** A busy machine's store may refuse a large page. Smaller ones succeed, and still fill the kernel buffers. */
const LIMITS = [50, 100, 200, 1_000] as const

export const unreadLists: Attack = {
  name: 'unread-lists',
  sent: `300 accounts of 110 KiB, then up to ${ANSWERS_MAX} connections that ask for 50 to 1,000 of them and read only the first bytes`,
  holds: `the process runs on and grows by at most ${GROWTH_MEGABYTES_MAX} MB; further requests are 429, 503 or cut; another customer's list is answered`,
  isolation: 'own',
  isInTests: false,
  prepare: prepareAccounts,
  async run({ stage, scale }) {
    const findings = new Findings()
    const other = await stage.customer()
    const { token } = attackers.get(stage)!
    const before = stage.watch.residentBytes
    const begun = performance.now()
    const sockets: (Socket | undefined)[] = []
    // The next request is sent when a response has begun, because that response is then queued in the process.
    const statuses = await pooled(scale === 'full' ? ANSWERS_MAX : 20, 2, async (index) => {
      if (!stage.isAlive || performance.now() - begun > ASKING_MILLISECONDS_MAX) return { status: -1 }
      const socket = await askAndWait(stage.target, listHead(token, LIMITS[index % LIMITS.length]!))
      sockets.push(socket)
      return await firstStatus(socket)
    })
    const answers = statuses.filter(({ status }) => status >= 0)
    if (!stage.isAlive) throw new Error(`the process ended (${stage.ended}) with ${answers.length} unread answers`)
    const others = await pooled(3, 3, () =>
      sendUntilServed(`${stage.http}/v2/identity/accounts`, { headers: bearer(other.token) }),
    )
    const growth = Math.round((stage.watch.residentBytesMax - before) / MEGABYTE)
    for (const socket of sockets) socket?.destroy()
    findings.check(stage.isAlive, `the process ended (${stage.ended})`)
    findings.check(growth <= GROWTH_MEGABYTES_MAX, `it grew by ${growth} MB`)
    findings.check(
      others.every(({ status }) => status === 200),
      `another customer's list: ${statusText(others)}`,
    )
    const known = answers.every(({ status }) => [0, 200, 429, 503].includes(status))
    findings.check(known, `answers: ${statusText(answers)}`)
    return findings.outcome(`${statusText(answers)}; grew by ${growth} MB; another customer: ${statusText(others)}`)
  },
}

const FIRST_BYTES_MILLISECONDS_MAX = 10_000

/** The status in a response's first bytes, after which no more is read. 0: closed, or no response. */
async function firstStatus(socket: Socket | undefined): Promise<{ readonly status: number }> {
  if (socket === undefined) return { status: 0 }
  const first = new Promise<string>((resolve) => {
    socket.once('data', (data: Buffer) => resolve(data.toString('latin1', 0, 16)))
    socket.once('close', () => resolve(''))
  })
  socket.resume()
  const text = (await within(FIRST_BYTES_MILLISECONDS_MAX, first)) ?? ''
  socket.pause()
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0) }
}

const DRIP_SECONDS = 75
/** Other sockets that may be open: the measured customer's. */
const SOCKETS_SLACK = 3

export const slowReaders: Attack = {
  name: 'slow-readers',
  sent: `20 connections that ask for 100 to 200 accounts of 110 KiB and read 1 KiB a second for ${DRIP_SECONDS} s`,
  holds:
    'the service gives each connection up: answered as far as the kernel takes it, refused, or cut for reading too slowly',
  isolation: 'once',
  isInTests: false,
  prepare: prepareAccounts,
  async run({ stage }) {
    const findings = new Findings()
    const { token } = attackers.get(stage)!
    const socketsBefore = stage.watch.openSockets
    // One after the other: a store with many concurrent requests refuses most, and few responses would remain unread.
    const sockets: (Socket | undefined)[] = []
    for (let index = 0; index < 20; index++) {
      const socket = await askAndWait(stage.target, listHead(token, index % 2 === 0 ? 100 : 200))
      await firstStatus(socket)
      sockets.push(socket)
    }
    const begun = performance.now()
    const held = () => stage.watch.openSockets - socketsBefore
    const heldFirst = held()
    while (performance.now() - begun < DRIP_SECONDS * 1_000 && held() > SOCKETS_SLACK) {
      for (const socket of sockets) socket?.read(1_024)
      await pause(1_000)
    }
    const seconds = Math.round((performance.now() - begun) / 1_000)
    findings.check(held() <= SOCKETS_SLACK, `${held()} connections are still held after ${seconds} s`)
    const seen = `${heldFirst} connections held at first, ${held()} after ${seconds} s`
    for (const socket of sockets) socket?.destroy()
    return findings.outcome(seen)
  },
}
