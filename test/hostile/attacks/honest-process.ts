/** The parent's side of `honest-client.ts`: starts it, opens and closes its windows, ends it. */

import { type ChildProcess, fork } from 'node:child_process'
import { once } from '../../support/awaited.ts'
import { within } from './stage.ts'

export interface HonestSetup {
  readonly wsUrl: string
  readonly token: string
  readonly markets: readonly string[]
  readonly livezUrl: string
}

/** The client's measurements between two commands. */
export interface HonestReport {
  readonly silenceMilliseconds: number
  /** The slowest response from `/livez`, in milliseconds, or 5,000 without a response. */
  readonly livezMilliseconds: number
  readonly messages: number
  readonly livezFailures: number
  /** How its stream ended, if it did. */
  readonly closed?: string | undefined
}

/** Far more than the client needs to load, connect or answer on a busy machine. */
const ANSWER_MILLISECONDS_MAX = 60_000

export class HonestProcess {
  readonly #child: ChildProcess

  private constructor(child: ChildProcess) {
    this.#child = child
  }

  static async start(setup: HonestSetup): Promise<HonestProcess> {
    const file = new URL('honest-client.ts', import.meta.url)
    const honest = new HonestProcess(fork(file, [], { execArgv: ['--import', import.meta.resolve('tsx')] }))
    await honest.#answer()
    honest.#child.send(JSON.stringify(setup))
    await honest.#answer()
    return honest
  }

  begin(): void {
    this.#child.send('begin')
  }

  async end(): Promise<HonestReport> {
    const answer = this.#answer()
    this.#child.send('end')
    return JSON.parse(await answer) as HonestReport
  }

  close(): void {
    this.#child.kill('SIGKILL')
  }

  async #answer(): Promise<string> {
    const answer = await within(ANSWER_MILLISECONDS_MAX, once(this.#child, 'message'))
    if (answer === undefined) throw new Error('the honest client did not answer')
    return String(answer[0])
  }
}
