/**
 * The program of the package's README under `tidegate torture`: every scenario in the long run, and in every run those that
 * cover most. The program is the client's sources and nothing else.
 */
import { afterAll, expect, it } from 'vitest'
import { SCENARIOS } from '../../src/conformance/stimulus/torture/scenarios.ts'
import { readmeProgram } from '../support/client-program.ts'
import { temporaryFolder } from '../support/running-service.ts'
import { runTorture } from '../support/torture-run.ts'

const isLong = process.env.TIDEGATE_LONG === '1'
const BROADEST = ['close-4001', 'resume-cursor', 'market-changed', 'close-4003']
/** At another pace than 1, and for a client that sends its token among the subprotocols. */
const NOT_PLAYED = ['silence', 'handshake-403']

const folder = temporaryFolder()
afterAll(() => folder.remove())

const native = typeof WebSocket === 'undefined' ? ['--experimental-websocket', '--no-warnings'] : []

it.each([
  ['the WebSocket of the runtime', native],
  ['the package ws', typeof WebSocket === 'undefined' ? [] : ['--no-experimental-websocket']],
])('the client reacts rightly to every behaviour of a service, with %s', async (_name, flags) => {
  const only = isLong ? [] : BROADEST.flatMap((name) => ['--only', name])
  const command = readmeProgram(folder.path, flags)
  const { error, results } = await runTorture(folder.path, ['--pace', '300', ...only, '--', ...command]).ended
  const outcomes = results.map(({ name, outcome }) => [name, outcome])
  const expected = (isLong ? SCENARIOS.map(({ name }) => name) : BROADEST).map((name) => [
    name,
    NOT_PLAYED.includes(name) ? 'skipped' : 'right',
  ])
  expect({ error, outcomes: Object.fromEntries(outcomes) }).toEqual({
    error: '',
    outcomes: Object.fromEntries(expected),
  })
})
