/**
 * Notifies systemd (`sd_notify`) when the service is ready or stopping, if `NOTIFY_SOCKET` is set, and sends watchdog
 * keep-alives at half the interval in `WATCHDOG_USEC`. Node has no UNIX datagram sockets, so the program
 * `systemd-notify` sends the messages. An event-loop timer sends the keep-alives, so a hanging event loop sends none.
 */
import { spawn } from 'node:child_process'
import type { Clock } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'

export interface ServiceManager {
  /** The start has completed, and keep-alives begin. */
  ready(): void
  /** A shutdown has begun, and keep-alives continue. */
  stopping(): void
}

/** A slower `systemd-notify` is killed: the next keep-alive must not wait for it. */
const NOTIFY_MILLISECONDS_MAX = 5_000

/** @param environment the process's environment */
export function createServiceManager(
  environment: Readonly<Record<string, string | undefined>>,
  log: Log,
  clock: Clock,
): ServiceManager {
  if (!environment.NOTIFY_SOCKET) return { ready: () => undefined, stopping: () => undefined }
  let hasFailed = false
  const fail = (reason: object): void => {
    if (!hasFailed) log.error(reason, 'systemd-notify failed: systemd does not know the service’s state')
    hasFailed = true
  }
  let isAlivePending = false
  const notify = (message: string, onEnd = (): void => undefined): void => {
    const program = spawn('systemd-notify', [message], { stdio: 'ignore', timeout: NOTIFY_MILLISECONDS_MAX })
    program.unref()
    program.on('error', (error) => fail({ err: error }))
    program.on('exit', (code, signal) => {
      if (code === 0) hasFailed = false
      else fail({ code, signal })
    })
    program.on('close', onEnd)
  }
  const intervalMilliseconds = watchdogMilliseconds(environment) / 2
  const stayAlive = (): void => {
    clock.schedule(intervalMilliseconds, () => {
      if (!isAlivePending) {
        isAlivePending = true
        notify('WATCHDOG=1', () => {
          isAlivePending = false
        })
      }
      stayAlive()
    })
  }
  return {
    ready() {
      notify('READY=1')
      if (intervalMilliseconds > 0) stayAlive()
    },
    stopping: () => notify('STOPPING=1'),
  }
}

/** `WATCHDOG_USEC` in milliseconds, 0 when no keep-alive is expected from this process. */
function watchdogMilliseconds({ WATCHDOG_USEC, WATCHDOG_PID }: Readonly<Record<string, string | undefined>>): number {
  if (WATCHDOG_PID && WATCHDOG_PID !== String(process.pid)) return 0
  return /^[0-9]{1,15}$/.test(WATCHDOG_USEC ?? '') ? Number(WATCHDOG_USEC) / 1_000 : 0
}
