/**
 * Open files: whether the limit of the process fits its settings, and whether there is one left now. Every connection
 * takes one; a process without any cannot accept connections, reach a store or a venue, or open a file.
 */
import { closeSync, openSync, readFileSync } from 'node:fs'
import type { Log } from '../base/log.ts'
import type { Config } from '../config/settings.ts'
import { CONNECTIONS_MAX } from '../http/connections.ts'

/** The operator listener (256), the store's connections, venues, certificates, logs and what the runtime itself opens. */
const RESERVE = 512

/** Warns when more connections are allowed than there are descriptors. Where the limit cannot be read, it is not checked. */
export function checkDescriptorLimit(config: Config, log: Log, readLimits = readProcessLimits): void {
  const limit = softLimitOf(readLimits())
  const connectionsMax = config['stream.connections_max']
  const needed = connectionsMax + CONNECTIONS_MAX + RESERVE
  if (limit === undefined || limit >= needed) return
  log.warn(
    { limit, needed, 'stream.connections_max': connectionsMax },
    'the limit of open files is too low: raise it (LimitNOFILE, ulimit -n) or lower stream.connections_max',
  )
}

/** Whether a descriptor can be opened now. */
export function hasDescriptor(): boolean {
  try {
    closeSync(openSync('/dev/null', 'r'))
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // Where there is no such file, nothing can be said.
    return code !== 'EMFILE' && code !== 'ENFILE'
  }
}

function readProcessLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8')
  } catch (error) {
    // Not Linux, or a sandbox without /proc.
    if (typeof (error as NodeJS.ErrnoException).code === 'string') return ''
    throw error
  }
}

/** In force, since the runtime has raised it to the hard limit at its start; undefined: unlimited or not known. */
function softLimitOf(limits: string): number | undefined {
  const limit = /^Max open files +(\d+) /m.exec(limits)?.[1]
  return limit === undefined ? undefined : Number(limit)
}
