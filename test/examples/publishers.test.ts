/** The example publishers under `tidegate check-publisher`, each as the guide starts it. */
import { afterAll, describe, expect, it } from 'vitest'
import { checkPull, checkPush } from '../../src/conformance/judge/publisher/check-publisher-run.ts'
import type { CheckOptions } from '../../src/conformance/judge/publisher/check-run.ts'
import { createSystemClock } from '../../src/platform/base/clock.ts'
import { endExamples, type ForeignProgram, PYTHON, startExample, titleWith } from '../support/foreign-programs.ts'

const NODE: ForeignProgram = { file: process.execPath, isMissing: false, isSkipped: false }
const TOKEN = 'token-of-the-test'
const ENVIRONMENT = { TOKEN, PYTHONDONTWRITEBYTECODE: '1' }
const PROGRAMS = [
  ['mjs', NODE, 'Node.js'],
  ['py', PYTHON, 'python3-websockets'],
] as const

/** The engines change their book every 100 ms: an observation has some messages on a busy machine too. */
const options: CheckOptions = {
  markets: [{ symbol: 'BTCUSD', decimals: { price: 2, amount: 4 } }],
  times: { observe: 2_000, answer: 10_000, stall: 500, heartbeat: 6_000, connect: 20_000 },
  clock: createSystemClock(),
  backlogBytesMax: 1_000_000,
  bookEntriesMax: 1_000,
  restart: undefined,
  onProgress: () => undefined,
}

afterAll(endExamples)

describe.concurrent('an example publisher breaks no rule', () => {
  it.for(PROGRAMS)(
    'an example publisher to which Tidegate connects breaks no rule: pull.%s',
    async ([extension, program, needs], { skip }) => {
      if (program.isSkipped) skip(titleWith('pull', program, needs))
      const engine = startExample(program.file, [`examples/publisher/pull.${extension}`, 'BTCUSD', '0'], ENVIRONMENT)
      const line = await engine.line((text) => text.startsWith('listening on '))
      const url = line.slice('listening on '.length)
      const results = await checkPull(options, { url, token: TOKEN }).results
      engine.child.kill('SIGKILL')
      expect(results.flatMap(({ findings }) => findings)).toEqual([])
      expect(results.filter(({ outcome }) => outcome === 'right')).toHaveLength(results.length - 1)
    },
  )

  it.for(PROGRAMS)(
    'an example publisher that connects to Tidegate breaks no rule: push.%s',
    async ([extension, program, needs], { skip }) => {
      if (program.isSkipped) skip(titleWith('push', program, needs))
      const check = checkPush(options, { host: '127.0.0.1', port: 0, token: undefined }, ({ port, clientSecret }) => {
        startExample(program.file, [`examples/publisher/push.${extension}`, 'BTCUSD', `ws://127.0.0.1:${port}/`], {
          TOKEN_URL: `http://127.0.0.1:${port}/oauth2/token`,
          PYTHONDONTWRITEBYTECODE: '1',
          CLIENT_ID: 'check-publisher',
          CLIENT_SECRET: clientSecret,
        })
      })
      const results = await check.results
      expect(results.flatMap(({ findings }) => findings)).toEqual([])
      expect(results.filter(({ outcome }) => outcome === 'right')).toHaveLength(results.length - 1)
    },
  )
})
