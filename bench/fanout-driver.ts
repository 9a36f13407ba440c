/**
 * How the Node servers of the fan-out benchmark are driven: turns as fast as the sockets drain, or at a pace; commands
 * come as lines on standard input and each is answered by one line of JSON, as the native programs do it.
 */
import type { Socket } from 'node:net'
import { createInterface } from 'node:readline'

export type Answer = Readonly<Record<string, number>>
export type Commands = Readonly<Record<string, (first: number, second: number) => Answer | Promise<Answer>>>

/** Sockets in the order in which they were accepted, and whether the kernel has taken all that was written to them. */
export class Sockets {
  readonly all: Socket[] = []
  #looking = 0

  /** Looks at those from index `from` on; the one that waited last time is asked first. */
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
 * Publishes `count` messages of every market that moves, in one turn. `eventMicroseconds`, on the monotonic clock, is
 * when they happened at their source: late turns must not look punctual to those who measure.
 */
export type Publish = (count: number, eventMicroseconds: number) => void

/** A timer is that late by nature; whatever is later is the doing of the server that is measured. */
const TIMER_MICROSECONDS = 2_000

/** Commands that drive `publish`. */
export function turnCommands(publish: Publish, isDrained: () => boolean): Commands {
  let life = 0
  let turns = 0
  let waits = 0
  return {
    /** As fast as the sockets take it: a turn begins when the one before is with the kernel. */
    flat(count) {
      const mine = ++life
      let waited = false
      turns = 0
      waits = 0
      const tick = () => {
        if (mine !== life) return
        if (isDrained()) {
          publish(count, nowMicroseconds())
          turns += 1
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
    /** A turn every `microseconds`, whether the sockets have drained or not. */
    paced(count, microseconds) {
      const mine = ++life
      turns = 0
      waits = 0
      let due = nowMicroseconds()
      const tick = () => {
        if (mine !== life) return
        const now = nowMicroseconds()
        publish(count, now - due > TIMER_MICROSECONDS ? due : now)
        turns += 1
        due += microseconds
        setTimeout(tick, Math.max(0, (due - nowMicroseconds()) / 1000))
      }
      setImmediate(tick)
      return {}
    },
    stop() {
      life += 1
      return { turns, waits }
    },
    usage() {
      const { user, system } = process.cpuUsage()
      return { seconds: performance.now() / 1000, cpuSeconds: (user + system) / 1_000_000, turns }
    },
    /** Memory as it is, and after the garbage is gone. */
    peek: () => ({ rssBytes: process.memoryUsage.rss() }),
    memory() {
      globalThis.gc?.()
      return { rssBytes: process.memoryUsage.rss() }
    },
  }
}

/** The monotonic clock, which all processes of the machine share. */
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
      say(await command(first, second))
    })
    .on('close', () => process.exit(0))
}

export function say(answer: Answer): void {
  process.stdout.write(`${JSON.stringify(answer)}\n`)
}
