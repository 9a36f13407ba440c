/** A process's memory, open files and CPU time, as the kernel reports them, sampled every quarter of a second. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

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
    // A process whose end has not been noticed here yet has no such line.
    return Number(/^VmRSS:\s+([0-9]+) kB$/m.exec(status)?.[1] ?? 0) * 1024
  }

  get openFiles(): number {
    return namesIn(`/proc/${this.#pid}/fd`).length
  }

  /** The sockets among the open files: the store opens files at any time. */
  get openSockets(): number {
    const folder = `/proc/${this.#pid}/fd`
    return namesIn(folder).filter((name) => linkText(`${folder}/${name}`).startsWith('socket:')).length
  }

  /** CPU time for all its threads. */
  get busyMilliseconds(): number {
    const stat = readFileSync(`/proc/${this.#pid}/stat`, 'utf8')
    // After the name, which may contain spaces, fields 12 and 13 are the user and the system time.
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

/** A process's open files. None if it has ended and only root may still look at them. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') return []
    throw error
  }
}

/** A link's target. Empty if it has been removed since its folder was read. */
function linkText(path: string): string {
  try {
    return readlinkSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}
