/** Plays all scenarios for a pull or a push to a publisher, and closes what they opened. */
import { type CheckOptions, CheckRun, type ScenarioResult } from './check-run.ts'
import type { PullAddress } from './pull-connection.ts'
import { PullDriver } from './pull-driver.ts'
import { PULL_SCENARIOS } from './pull-scenarios.ts'
import { PushDriver } from './push-driver.ts'
import { PUSH_SCENARIOS } from './push-scenarios.ts'
import { PushServer } from './push-server.ts'

export interface PublisherCheck {
  readonly results: Promise<readonly ScenarioResult[]>
  /** Ends it early. The results so far are returned. */
  stop(): void
}

/** Connects to a publisher and plays every pull scenario. */
export function checkPull(options: CheckOptions, address: PullAddress): PublisherCheck {
  const run = new CheckRun(options)
  const driver = new PullDriver(run, address)
  const results = run.play(PULL_SCENARIOS, driver).finally(() => driver.close())
  return { results, stop: () => run.stop() }
}

export interface PushAddress {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** The accepted token. Absent: a random one. */
  readonly token: string | undefined
}

/**
 * Listens for a publisher and plays every push scenario.
 * @param onListening called once, when the publisher can connect
 */
export function checkPush(
  options: CheckOptions,
  { host, port, token }: PushAddress,
  onListening: (server: Pick<PushServer, 'port' | 'token' | 'clientSecret'>) => void,
): PublisherCheck {
  const run = new CheckRun(options)
  const server = new PushServer(run, token)
  const driver = new PushDriver(run, server)
  const playAll = async () => {
    await server.listen(host, port)
    onListening(server)
    try {
      return await run.play(PUSH_SCENARIOS, driver)
    } finally {
      await server.stop()
    }
  }
  return { results: playAll(), stop: () => run.stop() }
}
