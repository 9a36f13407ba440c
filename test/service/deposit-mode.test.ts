/** A store with deposits of the other kind: the start fails before anything is opened, and the error says what to do. */
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { keepDepositMode } from '../../src/money/controls/deposit-mode.ts'
import { createSystemClock } from '../../src/platform/base/clock.ts'
import { createLog } from '../../src/platform/base/log.ts'
import { openEmbedded } from '../../src/platform/store/embedded.ts'
import { transactionWithRetries } from '../../src/platform/store/retry.ts'
import { startCommand } from '../support/command-line.ts'
import { temporaryFolder } from '../support/running-service.ts'

it('serve on the store of a demo with a sandbox deposit opens no listener, and names the remedy', async () => {
  const { path: data, remove } = temporaryFolder()
  const db = await openEmbedded({ folder: join(data, 'store'), log: createLog('silent'), clock: createSystemClock() })
  await transactionWithRetries(db, (transaction) => keepDepositMode(transaction, true))
  await db.close()
  const flags = ['--data_dir', data, '--http.port', '0', '--operator.port', '0']
  const { code, stdout, stderr } = await startCommand(['serve', ...flags]).result
  remove()
  expect(code).toBe(1)
  expect(stderr).toContain('rest.sandbox must be true: the store has sandbox deposits. For real deposits use another')
  expect(`${stdout}${stderr}`).not.toContain('"listening"')
})
