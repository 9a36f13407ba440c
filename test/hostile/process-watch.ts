/** What a process holds, as the kernel tells: memory and open files. Looked at from outside, every quarter of a second. */
import { readdirSync, readFileSync } from 'node:fs'

const INTERVAL_MILLISECONDS = 250
/** The unit of times in /proc, on every Linux that Node runs on. */
const TICK_MILLISECONDS = 10

export class ProcessWatch {
  readonly #pid: number
  readonly #timer: NodeJS.Timeout
  residentBytesMax = 0
  openFilesMax = 0
  samples = 0

  constructor(pid: number) {
    this.#pid = pid
    this.#timer = setInterval(() => this.#sample(), INTERVAL_MILLISECONDS)
  }

  get residentBytes(): number {
    const status = readFileSync(`/proc/${this.#pid}/status`, 'utf8')
    return Number(/^VmRSS:\s+([0-9]+) kB$/m.exec(status)?.[1]) * 1024
  }

  get openFiles(): number {
    return readdirSync(`/proc/${this.#pid}/fd`).length
  }

  /** Time of processors that it has used, of all of its threads. */
  get busyMilliseconds(): number {
    const stat = readFileSync(`/proc/${this.#pid}/stat`, 'utf8')
    // Behind the name, which may hold blanks: the 12th and 13th are the time in itself and in the kernel.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) * TICK_MILLISECONDS
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #sample(): void {
    this.samples++
    this.residentBytesMax = Math.max(this.residentBytesMax, this.residentBytes)
    this.openFilesMax = Math.max(this.openFilesMax, this.openFiles)
  }
}
