/**
 * One symbol's score on its way to everyone who is subscribed: at its own pace, faster, or as fast as the sockets take
 * it. It begins with the first subscription of the book, stands still while nobody is subscribed to it, goes on for
 * everyone, and may begin again from its end: one message of changes leads back to the book of the beginning, so that
 * nobody has to be disconnected for it.
 */
import type { VenueClient } from './client.ts'
import type { FaultGate } from './faults.ts'
import type { Outgoing, Script, ScriptFrame, SentFrame } from './script.ts'

export interface PlaybackOptions {
  /** 1 = the recording's own pace, 100 = a hundred times faster, Infinity = as fast as the socket takes it. */
  readonly speed: number
  /** How often a venue says that it lives when nothing else is to be said; every second when absent. */
  readonly heartbeatMilliseconds?: number
  /** Begin again at the end; otherwise the venue goes on with the book of the end. */
  readonly isRepeated?: boolean
  /** Changes a recorded frame on its way out (`index` counts the frames of the symbol); the server's own book stays right. */
  readonly corrupt?: (text: string, symbol: string, index: number) => string
  /** Asked before a frame goes out (`index` as above); the symbol's replay stands still until what it returns resolves. */
  readonly hold?: (symbol: string, index: number) => Promise<void> | undefined
  /** Told of every frame when the venue's own state has it, and before it goes out; index -1 leads back to the begin. */
  readonly onPlayed?: (score: Script, outgoing: Outgoing | undefined, index: number) => void
}

/** At full speed: frames between two waits for the socket. */
const FRAMES_PER_WAIT = 64
/** A frame that is later than this follows a halt of the whole process: the pace begins anew, and nothing is caught up. */
const LATE_MILLISECONDS_MAX = 250
/** Recorded time between two rounds; there are recordings of a single frame. */
const ROUND_PAUSE_MILLISECONDS = 500

export class Playback {
  readonly score: Script
  /** Resolves when every frame has been sent once. */
  readonly finished: Promise<void>
  readonly #options: PlaybackOptions
  readonly #gate: FaultGate
  readonly #clients: ReadonlySet<VenueClient>
  #resolveFinished: () => void = () => undefined
  #position = 0
  #played = 0
  #round = 0
  /** Recorded time at the last send, and the process's time then: the pace starts anew after standing still. */
  #anchor: { readonly recorded: number; readonly real: number } | undefined
  #isRunning = false
  #isPaused = false
  #timer: NodeJS.Timeout | undefined

  constructor(score: Script, options: PlaybackOptions, gate: FaultGate, clients: ReadonlySet<VenueClient>) {
    this.score = score
    this.#options = options
    this.#gate = gate
    this.#clients = clients
    this.finished = new Promise((resolve) => {
      this.#resolveFinished = resolve
    })
  }

  /** Frames that the venue has played so far, in all rounds. */
  get played(): number {
    return this.#played
  }

  /** Subscribes a client to one channel, and says what the channel begins with. */
  join(client: VenueClient, channel: string): void {
    const isBook = channel === this.score.bookChannel
    const beginning = isBook && this.#played === 0 ? undefined : this.score.beginning(channel)
    client.subscribe(channel, this.score.symbol)
    if (beginning !== undefined) client.sendBeginning(beginning)
    if (isBook) this.#start()
  }

  /** Stands still until `resume`. Whoever is subscribed has been sent all that was played. */
  pause(): void {
    this.#isPaused = true
    for (const outgoing of this.#gate.release(this.score.symbol)) this.#send(outgoing)
  }

  /** Goes on, when anybody is subscribed. */
  resume(): void {
    this.#isPaused = false
    this.#start()
  }

  /** The market goes on for so many frames while nobody is told. */
  playUnseen(frames: number): void {
    for (let index = 0; index < frames; index++) {
      const frame = this.#nextFrame()
      if (frame === undefined) return
      this.#play(frame)
    }
  }

  close(): void {
    this.#isPaused = true
    clearTimeout(this.#timer)
  }

  get #hasSubscribers(): boolean {
    const { bookChannel, symbol } = this.score
    for (const client of this.#clients) if (client.isSubscribed(bookChannel, symbol)) return true
    return false
  }

  get #isStill(): boolean {
    return this.#isPaused || !this.#hasSubscribers
  }

  #start(): void {
    if (!this.#isRunning) void this.#run()
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    this.#anchor = undefined
    while (!this.#isStill) {
      const frame = this.#nextFrame()
      if (frame === undefined) break
      const index = this.#position
      const held = this.#options.hold?.(this.score.symbol, index)
      if (held !== undefined) await this.#standStill(held)
      if (this.#options.speed !== Number.POSITIVE_INFINITY) await this.#due(frame.milliseconds)
      else if (index % FRAMES_PER_WAIT === 0) await this.#drained()
      if (this.#isStill) break
      // Played unseen in the meantime.
      if (this.#position !== index) continue
      const outgoing = this.#play(frame)
      if (outgoing !== undefined) this.#sendThroughFaults(outgoing, index)
      if (this.#round === 0 && this.#position === this.score.frames.length) this.#resolveFinished()
    }
    this.#isRunning = false
  }

  /** The next one, which at the end of a repeated recording is a new round's first. */
  #nextFrame(): ScriptFrame | undefined {
    const { frames, repeatFrom } = this.score
    if (this.#position === frames.length && this.#options.isRepeated === true) {
      const outgoing = this.score.rewind(this.#round)
      this.#options.onPlayed?.(this.score, outgoing, -1)
      this.#sendThroughFaults(outgoing, -1)
      this.#played++
      this.#round++
      this.#position = repeatFrom
      const recorded = (frames[repeatFrom]?.milliseconds ?? 0) - ROUND_PAUSE_MILLISECONDS
      this.#anchor = { recorded, real: performance.now() }
    }
    return frames[this.#position]
  }

  #play(frame: ScriptFrame): Outgoing | undefined {
    const outgoing = this.score.play(frame, this.#round)
    this.#options.onPlayed?.(this.score, outgoing, this.#position)
    this.#position++
    this.#played++
    return outgoing
  }

  #sendThroughFaults(outgoing: Outgoing, index: number): void {
    const { corrupt } = this.#options
    const text = corrupt === undefined ? outgoing.text : corrupt(outgoing.text, this.score.symbol, index)
    const { symbol } = this.score
    const reached = [...this.#clients].filter((client) => client.hears(outgoing.channel, symbol))
    const numbers = new Map(reached.map((client) => [client, client.takeNumber()]))
    for (const one of this.#gate.pass(this.score, { ...outgoing, text, numbers })) this.#send(one)
  }

  /** A frame that is late reaches whoever it was for, if that client still reads it. */
  #send({ channel, text, numbers }: SentFrame): void {
    for (const [client, number] of numbers) {
      if (client.isSubscribed(channel, this.score.symbol)) client.send(text, number)
    }
  }

  /** Time spent here is no part of the pace. */
  async #standStill(held: Promise<void>): Promise<void> {
    const begin = performance.now()
    await held
    const anchor = this.#anchor
    if (anchor !== undefined) this.#anchor = { ...anchor, real: anchor.real + performance.now() - begin }
  }

  /** Waits until a frame of that recorded time is due at the wanted speed. */
  async #due(recorded: number): Promise<void> {
    this.#anchor ??= { recorded, real: performance.now() }
    const due = this.#anchor.real + (recorded - this.#anchor.recorded) / this.#options.speed
    const delay = due - performance.now()
    if (delay < -LATE_MILLISECONDS_MAX) {
      this.#anchor = { recorded, real: performance.now() }
      // A machine that is too slow for the pace plays slower, and still reads what it is sent.
      await new Promise(setImmediate)
    }
    if (delay < 1) return
    await new Promise<void>((resolve) => {
      this.#timer = setTimeout(resolve, delay)
    })
  }

  /** Waits until every subscriber's socket has taken what it was sent, and lets requests in. */
  async #drained(): Promise<void> {
    await new Promise(setImmediate)
    while ([...this.#clients].some((client) => client.isLagging)) await new Promise(setImmediate)
  }
}
