/**
 * SIGHUP with configurations that are broken or expensive to parse: the service keeps its configuration and logs the
 * reason.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type RunningCommand, runCommand, startCommand } from '../support/command-line.ts'
import { canMakeFifo, makeFifo } from '../support/fifo.ts'
import { HOSTILE_CONFIGURATIONS } from '../support/hostile-configurations.ts'
import { market, OperatorApi } from '../support/running-service.ts'

const REFUSED = '"event":"the configuration has problems: it stays as it was"'
/** The other kinds differ only in parsing, which has tests of its own. */
const KINDS = ['200,000 unknown keys', 'unknown keys', 'lists without an end', 'an alias of itself', 'long aliases']
const folder = mkdtempSync(join(tmpdir(), 'tidegate-hostile-reload-'))
const file = join(folder, 'tidegate.yaml')

let command: RunningCommand
let operator: OperatorApi

function put(place: () => void): void {
  rmSync(file, { recursive: true, force: true })
  place()
}

beforeAll(async () => {
  const settings = { markets: [market('BTC', 2, 10)], simulator: { allowed: true }, log: { level: 'info' } }
  put(() => writeFileSync(file, JSON.stringify(settings)))
  const args = ['serve', '--config', file, '--http.port', '0', '--operator.port', '0', '--data_dir', folder]
  command = startCommand(args)
  const ready = JSON.parse(await command.line((line) => line.startsWith('{"ready":true')))
  operator = new OperatorApi(ready.operator, folder)
})

afterAll(async () => {
  command.child.kill('SIGTERM')
  expect((await command.result).code).toBe(0)
  rmSync(folder, { recursive: true, force: true })
})

const refusals = () =>
  command
    .stderr()
    .split('\n')
    .filter((line) => line.includes(REFUSED))

async function expectRefusal(place: () => void): Promise<string> {
  const before = refusals().length
  put(place)
  command.child.kill('SIGHUP')
  await expect.poll(() => refusals().length).toBe(before + 1)
  const { items } = await operator.call<{ items: { market: string }[] }>('GET', '/markets')
  expect(items).toHaveLength(1)
  expect(await operator.metric('tidegate_config_reloads_total{outcome="refused"}')).toBe(before + 1)
  return refusals().at(-1) as string
}

it.each(KINDS)('a reload with %s changes nothing', async (kind) => {
  const line = await expectRefusal(() => writeFileSync(file, HOSTILE_CONFIGURATIONS[kind] as string))
  expect(line.length).toBeLessThan(20_000)
})

it('a reload of a directory changes nothing', async () => {
  expect(await expectRefusal(() => mkdirSync(file))).toContain('it is not a regular file')
})

it('a reload of a missing file changes nothing', async () => {
  expect(await expectRefusal(() => undefined)).toContain('ENOENT')
})

it.skipIf(!canMakeFifo)(
  'a named pipe (needs mkfifo) as the configuration changes nothing on a reload, and fails a start',
  async () => {
    expect(await expectRefusal(() => makeFifo(file))).toContain('it is not a regular file')
    const { code, stderr } = await runCommand(['serve', '--config', file])
    expect([code, stderr]).toEqual([1, `tidegate: ${file}: cannot be read: it is not a regular file\n`])
  },
)
