/**
 * Drives the Node servers in the fan-out benchmark: publishes as fast as the sockets drain, or at a fixed rate.
 * Commands are lines on standard input, each answered by one line of JSON, as in the native programs.
 */
import type { Socket } from 'node:net'
import { createInterface } from 'node:readline'

export type Answer = Readonly<Record<string, number>>
export type Commands = Readonly<Record<string, (first: number, second: number) => Answer | Promise<Answer>>>

/** Sockets in acceptance order, and whether the kernel has taken all their written data. */
export class Sockets {
  readonly all: Socket[] = []
  #looking = 0

  /** Checks the sockets from index `from` on, beginning with the one that had not drained last time. */
  areDrained(from = 0): boolean {
    if (this.#looking < from) this.#looking = from
    for (let seen = from; seen < this.all.length; seen++) {
      if ((this.all[this.#looking] as Socket).writableLength > 0) return false
      this.#looking = this.#looking + 1 < this.all.length ? this.#looking + 1 : from
    }
    return true
  }
}

/**
 * Publishes `count` messages for every active market in one event-loop tick. `eventMicroseconds`, on the monotonic
 * clock, is the events' time at their source, so that a late tick adds to the measured latency.
 */
export type Publish = (count: number, eventMicroseconds: number) => void

/** A timer's normal delay. Any further delay is attributed to the server under test. */
const TIMER_MICROSECONDS = 2_000

/** Commands that drive `publish`. */
export function tickCommands(publish: Publish, isDrained: () => boolean): Commands {
  let life = 0
  let ticks = 0
  let waits = 0
  return {
    /** As fast as possible: a tick begins when the kernel has taken the previous tick's data. */
    flat(count) {
      const mine = ++life
      let waited = false
      ticks = 0
      waits = 0
      const tick = () => {
        if (mine !== life) return
        if (isDrained()) {
          publish(count, nowMicroseconds())
          ticks += 1
          waited = false
        } else if (!waited) {
          waits += 1
          waited = true
        }
        setImmediate(tick)
      }
      setImmediate(tick)
      return {}
    },
    /** A tick every `microseconds`, whether or not the sockets have drained. */
    paced(count, microseconds) {
      const mine = ++life
      ticks = 0
      waits = 0
      let due = nowMicroseconds()
      const tick = () => {
        if (mine !== life) return
        const now = nowMicroseconds()
        publish(count, now - due > TIMER_MICROSECONDS ? due : now)
        ticks += 1
        due += microseconds
        setTimeout(tick, Math.max(0, (due - nowMicroseconds()) / 1000))
      }
      setImmediate(tick)
      return {}
    },
    stop() {
      life += 1
      return { ticks, waits }
    },
    usage() {
      const { user, system } = process.cpuUsage()
      return { seconds: performance.now() / 1000, cpuSeconds: (user + system) / 1_000_000, ticks }
    },
    /** Memory before and after garbage collection. */
    peek: () => ({ rssBytes: process.memoryUsage.rss() }),
    memory() {
      globalThis.gc?.()
      return { rssBytes: process.memoryUsage.rss() }
    },
  }
}

/** The monotonic clock, which all processes on the machine share. */
export function nowMicroseconds(): number {
  return Number(process.hrtime.bigint() / 1000n)
}

export function answerCommands(commands: Commands): void {
  createInterface({ input: process.stdin })
    .on('line', async (line) => {
      const [name = '', ...numbers] = line.split(' ')
      const [first = 0, second = 0] = numbers.map(Number)
      const command = commands[name]
      if (command === undefined) throw new Error(`unknown command ${line}`)
      writeAnswer(await command(first, second))
    })
    .on('close', () => process.exit(0))
}

export function writeAnswer(answer: Answer): void {
  process.stdout.write(`${JSON.stringify(answer)}\n`)
}
