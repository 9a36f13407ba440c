/**
 * The FIX session layer for an initiator (FIX 4.4 and FIXT.1.1), on one TCP connection: logon, heartbeats, test
 * requests, sequence numbers, resend requests, gap fill, sequence reset, logout. It has no socket: bytes leave through
 * `send`, and the clock is passed in. It passes on each application message once and in order, and reports every
 * missing number. Only the logon contains the password.
 */
import { printable } from '../publisher/runtime.mjs'
import { encodeMessage, timestampText } from './message.mjs'

/** @import { Clock, Log, Timer } from '../publisher/runtime.mjs' */
/** @import { Fields, Message } from './message.mjs' */

const TICK_MILLISECONDS = 1_000
const LOGON_MILLISECONDS = 10_000
const LOGOUT_MILLISECONDS = 2_000
/** For all messages in one resend. */
const RESEND_MILLISECONDS = 30_000
/** From the engine, in one session: a limit on endless requests. */
const RESEND_REQUESTS_MAX = 100
/** From the engine, in one session: two sides that answer each other's resets would never end. */
const RESETS_MAX = 10

/**
 * @typedef {object} SessionSettings
 * @property {'FIX.4.4' | 'FIXT.1.1'} version
 * @property {string} senderCompId
 * @property {string} targetCompId
 * @property {string | undefined} username
 * @property {string | undefined} password
 * @property {number} heartbeatSeconds
 * @property {boolean} resetSequenceNumbers Whether the logon resets both sides' numbers (141=Y).
 *
 * @typedef {object} Numbers Both directions' numbers, which continue on the next connection unless they are reset.
 * @property {number} next The number of the next message we send.
 * @property {number} expected The number of the next message we receive.
 *
 * @typedef {object} SessionListener
 * @property {() => void} onLoggedOn Also after a number reset within the session: request all state again.
 * @property {(message: Message) => void} onMessage An application message. Each is passed on once, in order.
 * @property {(reason: string) => void} onGap Messages are missing. They were requested again, unless the engine skipped
 * their numbers.
 * @property {(count: number) => void} onSkipped How many numbers the engine does not send again. Follows `onGap`.
 * @property {() => void} onRecovered Every message since `onGap` was received or skipped.
 * @property {() => void} onRequestsSkipped Some of our requests did not reach the engine, and are not sent again.
 * @property {(reason: string) => void} onEnd The connection must be closed.
 */

export class Session {
  #settings
  #numbers
  #listener
  #send
  #clock
  #log
  #isLoggedOn = false
  #isEnded = false
  #isPaused = false
  #isLoggingOut = false
  #sentMilliseconds = 0
  #receivedMilliseconds = 0
  #isTested = false
  /** During a resend: the highest number seen. */
  #recoverUpTo = 0
  #resendRequests = 0
  #resets = 0
  /** The number of our last application message. */
  #lastRequest = 0
  /** @type {Timer | undefined} */
  #tickTimer
  /** @type {Timer | undefined} */
  #limitTimer

  /**
   * @param {SessionSettings} settings
   * @param {Numbers} numbers
   * @param {SessionListener} listener
   * @param {{ send: (bytes: Buffer) => void, clock: Clock, log: Log }} means
   */
  constructor(settings, numbers, listener, { send, clock, log }) {
    this.#settings = settings
    this.#numbers = numbers
    this.#listener = listener
    this.#send = send
    this.#clock = clock
    this.#log = log
  }

  /** The socket is connected: sends the logon. */
  start() {
    const { heartbeatSeconds, resetSequenceNumbers } = this.#settings
    if (resetSequenceNumbers) Object.assign(this.#numbers, { next: 1, expected: 1 })
    this.#receivedMilliseconds = this.#clock.monotonic()
    this.#sendLogon(heartbeatSeconds, resetSequenceNumbers)
    this.#limit(LOGON_MILLISECONDS, 'no answer to the logon')
  }

  /** Sends an application message. @param {string} type @param {Fields} fields */
  request(type, fields) {
    if (!this.#isLoggedOn || this.#isEnded) return
    this.#lastRequest = this.#numbers.next
    this.#write(type, fields)
  }

  /** While the socket is not read, the engine's silence means nothing. @param {boolean} isPaused */
  pause(isPaused) {
    this.#isPaused = isPaused
    this.#receivedMilliseconds = this.#clock.monotonic()
    this.#isTested = false
  }

  /** Sends a logout. The session ends with the engine's answer, or without it after 2 seconds. */
  logout() {
    if (this.#isEnded) return
    if (!this.#isLoggedOn) return this.#end('stopped')
    this.#isLoggingOut = true
    this.#write('5', [])
    // Not by `#limit`, whose timer a resend cancels or replaces. Heartbeats are over.
    this.#tickTimer?.cancel()
    this.#tickTimer = this.#clock.schedule(LOGOUT_MILLISECONDS, () => this.#end('no answer to the logout'))
  }

  /** The socket was closed: stops all timers. */
  stop() {
    this.#isEnded = true
    this.#tickTimer?.cancel()
    this.#limitTimer?.cancel()
  }

  /** Processes one message from the engine. @param {Message} message */
  receive(message) {
    if (this.#isEnded) return
    this.#receivedMilliseconds = this.#clock.monotonic()
    this.#isTested = false
    const { version, senderCompId, targetCompId } = this.#settings
    const seq = message.count(34)
    if (message.get(8) !== version) return this.#refuse(`BeginString is not ${version}`)
    if (message.get(49) !== targetCompId || message.get(56) !== senderCompId) return this.#refuse('CompID problem')
    if (seq === undefined) return this.#refuse('MsgSeqNum is missing')
    if (!this.#isLoggedOn && message.type !== 'A') {
      const reason = message.type === '5' ? 'the engine refuses the logon' : 'the first message is no logon'
      return message.type === '5' ? this.#end(`${reason}: ${textOf(message)}`) : this.#refuse(reason)
    }
    if (message.type === 'A') return this.#onLogon(message, seq)
    if (message.type === '4' && message.get(123) !== 'Y') return this.#onReset(message, seq)
    if (seq < this.#numbers.expected) {
      if (message.get(43) === 'Y') return
      return this.#refuse(`MsgSeqNum too low, expecting ${this.#numbers.expected} but received ${seq}`)
    }
    // These are answered even when earlier messages are missing, because the engine may wait for the answer.
    if (seq > this.#numbers.expected) {
      if (message.type === '2') this.#onResendRequest(message)
      if (message.type === '5') return this.#onLogout(message)
      return this.#onGap(seq)
    }
    this.#numbers.expected = seq + 1
    this.#dispatch(message, seq)
    this.#onProgress()
  }

  /** @param {Message} message @param {number} seq */
  #dispatch(message, seq) {
    switch (message.type) {
      case '0':
        return
      case '1':
        return this.#write('0', [[112, message.get(112) ?? '']])
      case '2':
        return this.#onResendRequest(message)
      case '3':
        this.#log('warn', 'the engine rejects a message', { ref: message.count(45), reason: textOf(message) })
        return this.#listener.onMessage(message)
      case '4':
        return this.#onGapFill(message, seq)
      case '5':
        return this.#onLogout(message)
      default:
        return this.#listener.onMessage(message)
    }
  }

  /** @param {Message} message @param {number} seq */
  #onLogon(message, seq) {
    const isReset = message.get(141) === 'Y'
    const isRepeated = this.#isLoggedOn
    if (isRepeated && !isReset) {
      // A second logon without a reset only uses up a number.
      if (seq > this.#numbers.expected) this.#onGap(seq)
      else if (seq === this.#numbers.expected) this.#numbers.expected++
      return
    }
    if (isReset && seq !== 1) return this.#refuse('a logon that resets the numbers must have MsgSeqNum 1')
    if (isReset) this.#numbers.expected = 1
    if (isReset && isRepeated) {
      if (++this.#resets > RESETS_MAX) return this.#refuse('too many resets')
      this.#numbers.next = 1
      this.#sendLogon(message.count(108) ?? this.#settings.heartbeatSeconds, true)
    }
    if (seq < this.#numbers.expected) {
      return this.#refuse(`MsgSeqNum too low, expecting ${this.#numbers.expected} but received ${seq}`)
    }
    this.#isLoggedOn = true
    this.#limitTimer?.cancel()
    this.#recoverUpTo = 0
    if (!isRepeated) this.#tick()
    const isGap = seq > this.#numbers.expected
    if (!isGap) this.#numbers.expected++
    this.#listener.onLoggedOn()
    if (isGap) this.#onGap(seq)
  }

  /** SequenceReset in reset mode, which ignores MsgSeqNum. @param {Message} message @param {number} seq */
  #onReset(message, seq) {
    const number = message.count(36) ?? 0
    const skipped = number - this.#numbers.expected
    if (skipped < 0) {
      const reject = /** @type {Fields} */ ([
        [45, String(seq)],
        [371, '36'],
        [372, '4'],
        [373, '5'],
      ])
      return this.#write('3', reject)
    }
    this.#numbers.expected = number
    // Earlier numbers are given up, including those requested again.
    if (skipped > 0) this.#skip(skipped)
    else this.#onProgress()
  }

  /** @param {Message} message @param {number} seq */
  #onGapFill(message, seq) {
    const number = message.count(36) ?? 0
    if (number <= seq) return this.#refuse('NewSeqNo of a gap fill is not above its MsgSeqNum')
    this.#numbers.expected = number
    this.#skip(number - seq)
  }

  /** @param {number} count */
  #skip(count) {
    if (this.#recoverUpTo > 0) {
      this.#listener.onSkipped(count)
      return this.#onProgress()
    }
    this.#listener.onGap(`${count} numbers were skipped`)
    this.#listener.onSkipped(count)
    this.#listener.onRecovered()
  }

  /** @param {number} seq */
  #onGap(seq) {
    const isFirst = this.#recoverUpTo === 0
    this.#recoverUpTo = Math.max(this.#recoverUpTo, seq)
    // Messages after the gap are sent again too, in order. They are dropped until then.
    if (!isFirst) return
    const { expected } = this.#numbers
    this.#write('2', [
      [7, String(expected)],
      [16, '0'],
    ])
    this.#limit(RESEND_MILLISECONDS, 'missing messages were not sent again')
    this.#listener.onGap(`MsgSeqNum ${seq} instead of ${expected}`)
  }

  #onProgress() {
    if (this.#recoverUpTo === 0 || this.#numbers.expected <= this.#recoverUpTo) return
    this.#recoverUpTo = 0
    this.#limitTimer?.cancel()
    this.#listener.onRecovered()
  }

  /**
   * Nothing is sent again: administrative messages never are, and old market data requests are useless.
   * @param {Message} message
   */
  #onResendRequest(message) {
    const begin = message.count(7) ?? 0
    const end = message.count(16) ?? 0
    const { next } = this.#numbers
    if (begin < 1 || begin >= next) return
    if (++this.#resendRequests > RESEND_REQUESTS_MAX) return this.#refuse('too many resend requests')
    const until = end === 0 || end >= next ? next : end + 1
    this.#sendBytes('4', begin, [
      [43, 'Y'],
      [122, timestampText(this.#clock.now())],
      [123, 'Y'],
      [36, String(until)],
    ])
    if (this.#lastRequest >= begin && this.#lastRequest < until) this.#listener.onRequestsSkipped()
  }

  /** @param {Message} message */
  #onLogout(message) {
    if (!this.#isLoggingOut) this.#write('5', [])
    this.#end(`the engine logs out: ${textOf(message)}`)
  }

  /** @param {number} heartbeatSeconds @param {boolean} isReset */
  #sendLogon(heartbeatSeconds, isReset) {
    const { version, username, password } = this.#settings
    /** @type {[number, string][]} */
    const fields = [
      [98, '0'],
      [108, String(heartbeatSeconds)],
    ]
    if (isReset) fields.push([141, 'Y'])
    if (username !== undefined) fields.push([553, username])
    if (password !== undefined) fields.push([554, password])
    // FIX 5.0 SP2.
    if (version === 'FIXT.1.1') fields.push([1137, '9'])
    this.#write('A', fields)
  }

  #tick() {
    const now = this.#clock.monotonic()
    const heartbeatMilliseconds = this.#settings.heartbeatSeconds * 1_000
    if (now - this.#sentMilliseconds >= heartbeatMilliseconds) this.#write('0', [])
    const silence = this.#isPaused ? 0 : now - this.#receivedMilliseconds
    if (silence >= heartbeatMilliseconds * 2.4) return this.#end('the engine does not answer')
    if (silence >= heartbeatMilliseconds * 1.2 && !this.#isTested) {
      this.#isTested = true
      this.#write('1', [[112, timestampText(this.#clock.now())]])
    }
    this.#tickTimer = this.#clock.schedule(TICK_MILLISECONDS, () => this.#tick())
  }

  /** Ends the session unless something cancels the limit. @param {number} milliseconds @param {string} reason */
  #limit(milliseconds, reason) {
    this.#limitTimer?.cancel()
    this.#limitTimer = this.#clock.schedule(milliseconds, () => this.#end(reason))
  }

  /** Logs out with a reason, and ends. @param {string} reason */
  #refuse(reason) {
    this.#write('5', [[58, reason]])
    this.#end(reason)
  }

  /** @param {string} reason */
  #end(reason) {
    if (this.#isEnded) return
    this.stop()
    this.#listener.onEnd(reason)
  }

  /** @param {string} type @param {Fields} fields */
  #write(type, fields) {
    if (this.#isEnded) return
    this.#sendBytes(type, this.#numbers.next++, fields)
  }

  /** @param {string} type @param {number} seq @param {Fields} fields */
  #sendBytes(type, seq, fields) {
    const { version, senderCompId, targetCompId } = this.#settings
    this.#sentMilliseconds = this.#clock.monotonic()
    const header = /** @type {Fields} */ ([
      [35, type],
      [49, senderCompId],
      [56, targetCompId],
      [34, String(seq)],
      [52, timestampText(this.#clock.now())],
    ])
    this.#send(encodeMessage(version, [...header, ...fields]))
  }
}

/** The reason stated in a logout or reject. @param {Message} message */
function textOf(message) {
  return printable(message.get(58) ?? '')
}
