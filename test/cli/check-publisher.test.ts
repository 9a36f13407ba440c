/** `tidegate check-publisher` as a verb: its exit code, and what it prints. */
import { expect, it } from 'vitest'
import { registerCheckPublisher } from '../../src/cli/check-publisher.ts'
import { runCommand } from '../support/command-run.ts'

it('check-publisher does not report success when it is stopped before its scenarios were played', async () => {
  const run = runCommand(registerCheckPublisher, ['check-publisher', '--listen', '0', '--market', 'BTCUSD', '--json'])
  await run.stderr.until('the address', () => run.stderr.text.includes('listening on'))
  run.interrupt()
  expect(await run.ended).toEqual({ exitCode: 1, error: 'the check was stopped before its last scenario' })
  expect(JSON.parse(run.stdout.text)).toMatchObject({ ok: false, scenarios: [{ name: 'connect', outcome: 'skipped' }] })
})
