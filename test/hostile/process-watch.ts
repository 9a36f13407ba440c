/** What a process holds, as the kernel tells: memory and open files. Looked at from outside, every quarter of a second. */
import { readdirSync, readFileSync } from 'node:fs'

const INTERVAL_MILLISECONDS = 250

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

  stop(): void {
    clearInterval(this.#timer)
  }

  #sample(): void {
    this.samples++
    this.residentBytesMax = Math.max(this.residentBytesMax, this.residentBytes)
    this.openFilesMax = Math.max(this.openFilesMax, this.openFiles)
  }
}
