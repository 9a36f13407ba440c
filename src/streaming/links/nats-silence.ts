/**
 * Detects a dead NATS connection that neither side has closed. The server gets a ping every second, and counts as
 * silent after ten seconds in a row without a message or an answer. Pings count the seconds, so the time for which this
 * process was suspended is not the server's silence. The client library's own pings wait until the server takes the
 * unsent bytes.
 */
import type { Clock } from '../../platform/base/clock.ts'

const PING_MILLISECONDS = 1_000
const SILENT_PINGS_MAX = 10

/** A connection of the client library. */
interface Pinged {
  stats(): { readonly inMsgs: number }
  /** Sends a ping. Resolves with its answer, or rejects when the connection is lost. */
  flush(): Promise<void>
}

/** Calls `onSilence` once, unless the returned function was called before. */
export function watchForSilence(connection: Pinged, clock: Clock, onSilence: () => void): () => void {
  let silentPings = 0
  let messages = 0
  const onAnswer = (): void => {
    silentPings = 0
  }
  // The client library notifies the connection's owner as well.
  const onFailure = (): void => undefined
  const ping = (): void => {
    const { inMsgs } = connection.stats()
    silentPings = inMsgs === messages ? silentPings + 1 : 0
    messages = inMsgs
    if (silentPings === SILENT_PINGS_MAX) {
      onSilence()
      return
    }
    timer = clock.schedule(PING_MILLISECONDS, ping)
    connection.flush().then(onAnswer, onFailure)
  }
  let timer = clock.schedule(PING_MILLISECONDS, ping)
  return () => timer.cancel()
}
