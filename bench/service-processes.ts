/** A service's processes, its main one and the gateway processes: their processor time, memory and sockets on Linux. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { collectGarbage } from '../test/support/collect-garbage.ts'
import { secondsOf } from './process-time.ts'

export class ServiceProcesses {
  readonly #gateways: readonly number[]
  readonly #all: readonly number[]

  /** @param pid the main process, whose gateway processes have all started */
  constructor(pid: number) {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
    this.#gateways = children === '' ? [] : children.split(' ').map(Number)
    this.#all = [pid, ...this.#gateways]
  }

  /** Processor time so far. */
  seconds(): number {
    return sumOf(this.#all, secondsOf)
  }

  /** Open sockets by gateway process. */
  socketsOfGateways(): readonly number[] {
    return this.#gateways.map(socketsOf)
  }

  /** Their proportional resident memory: shared pages count once, and the kernel's buffers not at all. */
  memoryBytes(): number {
    return sumOf(this.#all, (pid) => {
      const kilobytes = /^Pss: +(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]
      return Number(kilobytes) * 1_024
    })
  }

  async collectGarbage(): Promise<void> {
    for (const pid of this.#all) await collectGarbage(pid)
  }
}

function sumOf(pids: readonly number[], measure: (pid: number) => number): number {
  return pids.reduce((sum, pid) => sum + measure(pid), 0)
}

function socketsOf(pid: number): number {
  const folder = `/proc/${pid}/fd`
  return readdirSync(folder).filter((name) => isSocket(`${folder}/${name}`)).length
}

/** A descriptor may be closed meanwhile. */
function isSocket(path: string): boolean {
  try {
    return readlinkSync(path).startsWith('socket:')
  } catch {
    return false
  }
}
