/**
 * Tells systemd that the service is ready, stops, and still answers (`sd_notify`), where it asks for that:
 * `NOTIFY_SOCKET` for the state, `WATCHDOG_USEC` for a sign of life at half of that time. The runtime has no UNIX
 * datagram sockets, so the program `systemd-notify` sends the messages. Signs of life are sent by a timer of the event
 * loop: one that hangs sends none.
 */
import { spawn } from 'node:child_process'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'

export interface ServiceManager {
  /** The start is over; signs of life begin. */
  ready(): void
  /** A shutdown has begun; signs of life go on. */
  stopping(): void
}

/** A `systemd-notify` that takes longer is ended: the next sign of life must not wait for it. */
const NOTIFY_MILLISECONDS_MAX = 5_000

/** @param environment as the process got it from whoever started it */
export function createServiceManager(
  environment: Readonly<Record<string, string | undefined>>,
  log: Log,
  clock: Clock,
): ServiceManager {
  if (!environment.NOTIFY_SOCKET) return { ready: () => undefined, stopping: () => undefined }
  let hasFailed = false
  const fail = (reason: object): void => {
    if (!hasFailed) log.error(reason, 'systemd-notify failed: systemd is not told the state of the service')
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

/** 0: nobody waits for signs of life of this process. */
function watchdogMilliseconds({ WATCHDOG_USEC, WATCHDOG_PID }: Readonly<Record<string, string | undefined>>): number {
  if (WATCHDOG_PID && WATCHDOG_PID !== String(process.pid)) return 0
  return /^[0-9]{1,15}$/.test(WATCHDOG_USEC ?? '') ? Number(WATCHDOG_USEC) / 1_000 : 0
}
