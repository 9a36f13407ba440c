/**
 * A FIX engine for tests: an acceptor with market data, written from the FIX session layer and tag=value specifications.
 * It shares no code with the adapter. It parses strictly and collects what breaks a rule in `violations`. Faults are
 * methods: skipped numbers, garbled messages, resends in full or as gap fill, resets, logouts, closed connections.
 */
import type { AddressInfo } from 'node:net'
import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import type { Certificate } from '../support/certificates.ts'
import { Waiters } from '../support/waiters.ts'

export type Field = readonly [tag: number, value: string | number]

export interface Received {
  readonly type: string
  readonly seq: number
  readonly fields: readonly (readonly [tag: number, value: string])[]
  get(tag: number): string | undefined
}

const SOH = '\u0001'

export class FixAcceptor {
  readonly violations: string[] = []
  readonly received: Received[] = []
  /** Whether missing messages are sent again, or replaced by a gap fill. */
  resends: 'all' | 'none' = 'all'
  /** Sends the full refresh of a symbol, and what belongs to it. */
  onSubscribe: (symbol: string, requestId: string) => void = () => undefined
  onStatusRequest: (symbol: string) => void = () => undefined
  /** Instead of a logon. */
  refusal: string | undefined
  isAnswering = true
  logons = 0
  readonly #version: string
  readonly #server: Server
  readonly #waiters: Waiters
  #socket: Socket | undefined
  #pending = ''
  #next = 1
  #expected = 1
  #isResetting = false
  /** Application messages by number, for resends. */
  #sent = new Map<number, readonly Field[]>()

  private constructor(version: string, waiters: Waiters, certificate: Certificate | undefined) {
    this.#waiters = waiters
    this.#version = version
    const onConnection = (socket: Socket): void => this.#onConnection(socket)
    this.#server = certificate === undefined ? createServer(onConnection) : createTlsServer(certificate, onConnection)
  }

  /** @param waiters Notified of every change; several servers of one test share it. */
  static async start(version = 'FIX.4.4', waiters = new Waiters(), certificate?: Certificate): Promise<FixAcceptor> {
    const acceptor = new FixAcceptor(version, waiters, certificate)
    await new Promise<void>((resolve) => acceptor.#server.listen(0, '127.0.0.1', resolve))
    return acceptor
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Bytes that the adapter has not taken. */
  get unsentBytes(): number {
    return this.#socket?.writableLength ?? 0
  }

  until(what: string, predicate: () => boolean): Promise<void> {
    return this.#waiters.until(what, () => predicate() || this.violations.length > 0)
  }

  of(type: string): Received[] {
    return this.received.filter((message) => message.type === type)
  }

  /** Sends an application message with the next number, which later resends repeat. */
  send(type: string, fields: readonly Field[]): void {
    this.#sent.set(this.#next, [[35, type], ...fields])
    this.#write(type, this.#next++, fields)
  }

  /** As `send`, but the message is lost on its way. */
  lose(type: string, fields: readonly Field[]): void {
    this.#sent.set(this.#next++, [[35, type], ...fields])
  }

  /** A lost message that is not sent again: resends fill its number. */
  skip(): void {
    this.#next++
  }

  /** As `send`, but with a wrong checksum. */
  garble(type: string, fields: readonly Field[]): void {
    this.#sent.set(this.#next, [[35, type], ...fields])
    const bytes = this.#bytes(type, this.#next++, fields)
    this.#socket?.write(
      bytes.replace(/10=(\d)/, (_, digit) => `10=${(Number(digit) + 1) % 3}`),
      'latin1',
    )
  }

  /** Sends any session message with the next number. */
  admin(type: string, fields: readonly Field[] = []): void {
    this.#write(type, this.#next++, fields)
  }

  /** A message again, with its old number. */
  repeat(seq: number): void {
    this.#resend(seq, seq)
  }

  get lastSeq(): number {
    return this.#next - 1
  }

  /** SequenceReset in reset mode, past numbers that were never sent. */
  resetTo(seq: number): void {
    this.#write('4', this.#next, [
      [123, 'N'],
      [36, seq],
    ])
    this.#next = seq
  }

  /** A logon within the session that sets both numbers to 1. */
  resetSession(): void {
    if (this.#socket === undefined || this.#socket.destroyed) return
    this.#isResetting = true
    this.#next = 1
    this.#expected = 1
    this.#sent.clear()
    this.admin('A', [
      [98, 0],
      [108, 3_600],
      [141, 'Y'],
    ])
  }

  raw(text: string): void {
    this.#socket?.write(text, 'latin1')
  }

  drop(): void {
    this.#socket?.destroy()
  }

  async stop(): Promise<void> {
    this.#socket?.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #onConnection(socket: Socket): void {
    this.#socket?.destroy()
    this.#socket = socket
    this.#pending = ''
    this.#isResetting = false
    socket.on('data', (chunk) => {
      this.#pending += chunk.toString('latin1')
      for (;;) {
        const trailerAt = this.#pending.indexOf(`${SOH}10=`)
        const length = trailerAt + '|10=000|'.length
        if (trailerAt < 0 || this.#pending.length < length) return
        this.#onText(this.#pending.slice(0, length))
        this.#pending = this.#pending.slice(length)
      }
    })
    socket.on('error', () => socket.destroy())
    socket.on('close', () => this.#waiters.notify())
  }

  #onText(text: string): void {
    const fields = text
      .split(SOH)
      .slice(0, -1)
      .map((field) => [Number(field.split('=')[0]), field.slice(field.indexOf('=') + 1)] as const)
    const get = (tag: number): string | undefined => fields.find(([candidate]) => candidate === tag)?.[1]
    const message = { type: get(35) ?? '', seq: Number(get(34)), fields, get }
    // Sent before our reset had arrived.
    if (this.#isResetting && message.type !== 'A') return
    this.#check(text, message)
    this.received.push(message)
    this.#onMessage(message)
    this.#waiters.notify()
  }

  #check(text: string, { fields, get, seq, type }: Received): void {
    const require = (condition: boolean, rule: string): void => {
      if (!condition) this.violations.push(`${rule}: ${text.replaceAll(SOH, '|')}`)
    }
    const body = text.slice(text.indexOf(SOH, text.indexOf(`${SOH}9=`) + 1) + 1, -7)
    require(fields
      .map(([tag]) => tag)
      .slice(0, 3)
      .join() === '8,9,35', 'the first three fields')
    require(get(8) === this.#version, 'BeginString')
    require(Number(get(9)) === body.length, 'BodyLength')
    require(get(10) === checksum(text.slice(0, -7)), 'CheckSum')
    require(get(49) === 'TIDEGATE' && get(56) === 'ENGINE', 'CompIDs')
    require(/^\d{8}-\d\d:\d\d:\d\d\.\d{3}$/.test(get(52) ?? ''), 'SendingTime')
    require(fields.every(([, value]) => value !== ''), 'an empty field')
    if (type === 'A' && get(141) === 'Y') this.#expected = 1
    // A resend has an old number.
    if (get(43) === 'Y') return
    require(seq === this.#expected, `MsgSeqNum ${seq} instead of ${this.#expected}`)
    this.#expected = seq + 1
  }

  #onMessage(message: Received): void {
    if (message.type === 'A') this.#onLogon(message)
    if (!this.isAnswering) return
    if (message.type === '1') this.admin('0', [[112, message.get(112) ?? '']])
    if (message.type === '2') this.#resend(Number(message.get(7)), Number(message.get(16)) || this.lastSeq)
    if (message.type === '5') {
      this.admin('5')
      this.#socket?.end()
    }
    if (message.type === 'V' && message.get(263) === '1') {
      this.onSubscribe(message.get(55) ?? '', message.get(262) ?? '')
    }
    if (message.type === 'e' && message.get(263) === '1') this.onStatusRequest(message.get(55) ?? '')
  }

  #onLogon(message: Received): void {
    if (message.get(141) === 'Y' && message.seq !== 1) this.violations.push('a reset must have MsgSeqNum 1')
    // The answer to a logon of ours.
    if (this.#isResetting) {
      this.#isResetting = false
      return
    }
    this.logons++
    this.#next = 1
    this.#sent.clear()
    if (this.refusal !== undefined) {
      this.admin('5', [[58, this.refusal]])
      this.#socket?.end()
      return
    }
    this.admin('A', [
      [98, 0],
      [108, Number(message.get(108))],
      [141, 'Y'],
    ])
  }

  #resend(begin: number, end: number): void {
    let filled = 0
    const fill = (until: number): void => {
      if (filled > 0)
        this.#write('4', filled, [
          [43, 'Y'],
          [123, 'Y'],
          [36, until],
        ])
      filled = 0
    }
    for (let seq = begin; seq <= end; seq++) {
      const fields = this.resends === 'all' ? this.#sent.get(seq) : undefined
      if (fields === undefined) {
        if (filled === 0) filled = seq
        continue
      }
      fill(seq)
      const [[, type], ...rest] = fields as [Field, ...Field[]]
      this.#write(String(type), seq, [[43, 'Y'], ...rest])
    }
    fill(end + 1)
  }

  #write(type: string, seq: number, fields: readonly Field[]): void {
    this.#socket?.write(this.#bytes(type, seq, fields), 'latin1')
  }

  #bytes(type: string, seq: number, fields: readonly Field[]): string {
    const time = new Date().toISOString().replaceAll('-', '').replace('T', '-').replace('Z', '')
    const all: readonly Field[] = [[35, type], [34, seq], [49, 'ENGINE'], [56, 'TIDEGATE'], [52, time], ...fields]
    const body = all.map(([tag, value]) => `${tag}=${value}${SOH}`).join('')
    const text = `8=${this.#version}${SOH}9=${body.length}${SOH}${body}`
    return `${text}10=${checksum(text)}${SOH}`
  }
}

function checksum(text: string): string {
  let sum = 0
  for (const byte of Buffer.from(text, 'latin1')) sum += byte
  return String(sum % 256).padStart(3, '0')
}
