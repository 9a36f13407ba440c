/**
 * The playback of one symbol's script to all subscribers: at the recorded speed, faster, or as fast as the sockets
 * accept. It begins with the book's first subscription, pauses while there is no subscriber, continues for all
 * subscribers, and may repeat: one change message leads back to the initial book, so that no client has to be
 * disconnected for it.
 */
import { until } from '../awaited.ts'
import type { VenueClient } from './client.ts'
import type { FaultGate } from './faults.ts'
import type { Outgoing, Script, ScriptFrame, SentFrame } from './script.ts'

export interface PlaybackOptions {
  /** 1 = the recorded speed, 100 = a hundred times faster, Infinity = as fast as the socket accepts. */
  readonly speed: number
  /** The interval of heartbeats on an otherwise silent connection; every second when absent. */
  readonly heartbeatMilliseconds?: number
  /** Repeats at the end. Otherwise the venue keeps the final book. */
  readonly isRepeated?: boolean
  /**
   * Changes a recorded frame before it is sent (`index` counts the symbol's frames). The venue's own book stays
   * correct.
   */
  readonly corrupt?: (text: string, symbol: string, index: number) => string
  /**
   * Called before a frame is sent (`index` as above). The symbol's playback pauses until the returned promise resolves.
   */
  readonly hold?: (symbol: string, index: number) => Promise<void> | undefined
  /**
   * Called for every frame after the venue's own state has changed and before it is sent. Index -1 leads back to the
   * beginning.
   */
  readonly onPlayed?: (script: Script, outgoing: Outgoing | undefined, index: number) => void
}

/** At full speed: frames between two waits for the socket. */
const FRAMES_PER_WAIT = 64
/** A frame later than this follows a suspension of the process: the timing starts again from it. */
const LATE_MILLISECONDS_MAX = 250
/** Recorded time between two rounds, because some recordings have a single frame. */
const ROUND_PAUSE_MILLISECONDS = 500

export class Playback {
  readonly script: Script
  /** Resolves when every frame has been sent once. */
  readonly finished: Promise<void>
  readonly #options: PlaybackOptions
  readonly #gate: FaultGate
  readonly #clients: ReadonlySet<VenueClient>
  #resolveFinished: () => void = () => undefined
  #position = 0
  #played = 0
  #round = 0
  /** Recorded time at the last send, and the process's time then. Both are reset after a pause. */
  #anchor: { readonly recorded: number; readonly real: number } | undefined
  #isRunning = false
  #isPaused = false
  #timer: NodeJS.Timeout | undefined

  constructor(script: Script, options: PlaybackOptions, gate: FaultGate, clients: ReadonlySet<VenueClient>) {
    this.script = script
    this.#options = options
    this.#gate = gate
    this.#clients = clients
    this.finished = new Promise((resolve) => {
      this.#resolveFinished = resolve
    })
  }

  /** How many frames were played so far, in all rounds. */
  get played(): number {
    return this.#played
  }

  /** Subscribes a client to one channel, and sends the channel's beginning. */
  join(client: VenueClient, channel: string): void {
    const isBook = channel === this.script.bookChannel
    const beginning = isBook && this.#played === 0 ? undefined : this.script.beginning(channel)
    client.subscribe(channel, this.script.symbol)
    if (beginning !== undefined) client.sendBeginning(beginning)
    if (isBook) this.#start()
  }

  /** Pauses until `resume`. Subscribers have been sent everything played. */
  pause(): void {
    this.#isPaused = true
    for (const outgoing of this.#gate.release(this.script.symbol)) this.#send(outgoing)
  }

  /** Continues, if there is a subscriber. */
  resume(): void {
    this.#isPaused = false
    this.#start()
  }

  /** Plays this many frames without sending them. */
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
    const { bookChannel, symbol } = this.script
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
      const held = this.#options.hold?.(this.script.symbol, index)
      if (held !== undefined) await this.#standStill(held)
      if (this.#options.speed !== Number.POSITIVE_INFINITY) await this.#due(frame.milliseconds)
      else if (index % FRAMES_PER_WAIT === 0) await this.#drained()
      if (this.#isStill) break
      // Played without sending in the meantime.
      if (this.#position !== index) continue
      const outgoing = this.#play(frame)
      if (outgoing !== undefined) this.#sendThroughFaults(outgoing, index)
      if (this.#round === 0 && this.#position === this.script.frames.length) this.#resolveFinished()
    }
    this.#isRunning = false
  }

  /** The next frame. At the end of a repeated recording, a new round's first frame. */
  #nextFrame(): ScriptFrame | undefined {
    const { frames, repeatFrom } = this.script
    if (this.#position === frames.length && this.#options.isRepeated === true) {
      const outgoing = this.script.rewind(this.#round)
      this.#options.onPlayed?.(this.script, outgoing, -1)
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
    const outgoing = this.script.play(frame, this.#round)
    this.#options.onPlayed?.(this.script, outgoing, this.#position)
    this.#position++
    this.#played++
    return outgoing
  }

  #sendThroughFaults(outgoing: Outgoing, index: number): void {
    const { corrupt } = this.#options
    const text = corrupt === undefined ? outgoing.text : corrupt(outgoing.text, this.script.symbol, index)
    const { symbol } = this.script
    const reached = [...this.#clients].filter((client) => client.hears(outgoing.channel, symbol))
    const numbers = new Map(reached.map((client) => [client, client.takeNumber()]))
    for (const one of this.#gate.pass(this.script, { ...outgoing, text, numbers })) this.#send(one)
  }

  /** A delayed frame is sent to its intended clients, if they are still subscribed. */
  #send({ channel, text, numbers }: SentFrame): void {
    for (const [client, number] of numbers) {
      if (client.isSubscribed(channel, this.script.symbol)) client.send(text, number)
    }
  }

  /** Time spent here does not count for the timing. */
  async #standStill(held: Promise<void>): Promise<void> {
    const begin = performance.now()
    await held
    const anchor = this.#anchor
    if (anchor !== undefined) this.#anchor = { ...anchor, real: anchor.real + performance.now() - begin }
  }

  /** Waits until a frame with that recorded time is due at the requested speed. */
  async #due(recorded: number): Promise<void> {
    this.#anchor ??= { recorded, real: performance.now() }
    const due = this.#anchor.real + (recorded - this.#anchor.recorded) / this.#options.speed
    const delay = due - performance.now()
    if (delay < -LATE_MILLISECONDS_MAX) {
      this.#anchor = { recorded, real: performance.now() }
      // A machine that is too slow for the speed plays slower, and still processes its input.
      await new Promise(setImmediate)
    }
    if (delay < 1) return
    await new Promise<void>((resolve) => {
      this.#timer = setTimeout(resolve, delay)
    })
  }

  /** Waits until every subscriber's socket has drained, and lets requests in. */
  async #drained(): Promise<void> {
    await new Promise(setImmediate)
    await until('all sockets to drain', () => ![...this.#clients].some((client) => client.isLagging))
  }
}
