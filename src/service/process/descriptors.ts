/**
 * File descriptors: whether the process's limit suffices for its settings, and whether one is left now. Every
 * connection takes one. A process without any left cannot accept connections, connect to a store or a venue, or open a
 * file.
 */

import { closeSync, openSync, readFileSync } from 'node:fs'
import type { Log } from '../../platform/base/log.ts'
import { SHARED_POOLS } from '../../platform/base/shared-pool.ts'
import { hasRole } from '../config/roles.ts'
import type { Config } from '../config/settings.ts'

/** For the operator listener (256), connections to the store and to venues, certificates, logs and the runtime itself. */
const RESERVE = 512

/**
 * Warns when the settings allow more connections than the process may open. Stream connections count only where the
 * stream is served. An unreadable limit is not checked.
 */
export function checkDescriptorLimit(config: Config, log: Log, readLimits = readProcessLimits): void {
  const limit = softLimitOf(readLimits())
  const servesStream = hasRole(config, 'gateway')
  const connectionsMax = servesStream ? config['stream.connections_max'] : 0
  const needed = connectionsMax + SHARED_POOLS.public_connections.size + RESERVE
  if (limit === undefined || limit >= needed) return
  const [fields, remedy] = servesStream
    ? [{ 'stream.connections_max': connectionsMax }, ' or lower stream.connections_max']
    : [{}, '']
  log.warn({ limit, needed, ...fields }, `the open-file limit is too low: raise it (LimitNOFILE, ulimit -n)${remedy}`)
}

/** Whether a descriptor can be opened now. */
export function hasDescriptor(): boolean {
  try {
    closeSync(openSync('/dev/null', 'r'))
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // On a system without /dev/null the open fails for another reason.
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

/** The soft limit, which Node raises to the hard limit when it starts. Undefined = unlimited or unknown. */
function softLimitOf(limits: string): number | undefined {
  const limit = /^Max open files +(\d+) /m.exec(limits)?.[1]
  return limit === undefined ? undefined : Number(limit)
}
