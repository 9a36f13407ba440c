/**
 * The first two tutorials, executed as they are written: every command of the page in a shell, in one folder, in order.
 * `npm start` is its last step, the demo. Kraken is replaced by the simulator, because no test leaves the machine.
 */
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeAll, expect, it } from 'vitest'
import { type CommandResult, type RunningCommand, startProgram } from '../support/command-line.ts'
import { claimPort } from '../support/ports.ts'
import { ensureBuilt, temporaryFolder } from '../support/running-service.ts'

const ROOT = join(import.meta.dirname, '../..')
const SERVICES = ['npm start', 'node dist/main.js serve --config tidegate.yaml']

let endOfTest: (() => Promise<unknown>)[] = []
beforeAll(ensureBuilt)
afterEach(async () => {
  for (const end of endOfTest.reverse()) await end()
  endOfTest = []
})

it('the tutorial about the first book works as it is written', async () => {
  const results = await follow('first-book', await newPlace())
  expect(results.get('watch')?.stdout).toContain('BTCUSD')
  expect(results.get('verify')?.code).toBe(0)
  expect(JSON.parse(results.get('curl')?.stdout ?? '')).toHaveProperty('access_token')
})

it('the tutorial about the first customer works as it is written', async () => {
  const place = await newPlace()
  const [, configuration = ''] = /^```yaml\n(.*?)^```/ms.exec(pageOf('first-customer')) ?? []
  expect(configuration).toContain('[kraken:BTC/USD]')
  writeFileSync(join(place.folder, 'kraken.yaml'), configuration)
  const offline = 'node dist/main.js check-config --config kraken.yaml --offline'
  expect(await run(offline, place)).toMatchObject({ code: 0 })

  const simulated = `${configuration.replace('kraken:BTC/USD', 'simulator')}simulator:\n  allowed: true\n`
  writeFileSync(join(place.folder, 'tidegate.yaml'), simulated)
  const results = await follow('first-customer', place)
  expect(results.get('watch')?.stdout).toContain('BTCUSD')
})

interface Place {
  readonly folder: string
  readonly ports: readonly [http: number, operator: number]
}

async function newPlace(): Promise<Place> {
  const { path: folder, remove } = temporaryFolder()
  endOfTest.push(async () => remove())
  symlinkSync(join(ROOT, 'dist'), join(folder, 'dist'))
  return { folder, ports: [await claimPort(), await claimPort()] }
}

/** Executes the commands of a page; each must succeed. Returns the results by verb, or by program. */
async function follow(page: string, place: Place): Promise<Map<string, CommandResult>> {
  const results = new Map<string, CommandResult>()
  for (const command of commandsOf(pageOf(page))) {
    if (SERVICES.includes(command)) {
      const service = start(command.replace('npm start', 'node dist/main.js demo'), place)
      endOfTest.push(() => {
        service.child.kill('SIGTERM')
        return service.result
      })
      await service[command === 'npm start' ? 'errorLine' : 'line']((line) => line.includes('"ready"')).catch(() => {
        throw new Error(`${command} ended: ${service.stderr()}`)
      })
      continue
    }
    const result = await run(command, place)
    expect(result.code, `${command}: ${result.stdout}${result.stderr}`).toBe(0)
    const [program = '', , verb] = command.split(' ')
    results.set(program === 'node' ? (verb as string) : program, result)
  }
  return results
}

function commandsOf(text: string): string[] {
  const lines = text.replaceAll(/\\\n\s*/g, '').replace(/^```.*?^```/gms, '')
  return [...lines.matchAll(/^ {4}(\S.*)$/gm)].map(([, command]) => command as string)
}

function start(command: string, { folder, ports }: Place): RunningCommand {
  const words = `exec ${command.replace('127.0.0.1:8080', `127.0.0.1:${ports[0]}`)}`
  const env = { PATH: process.env.PATH, TIDEGATE_HTTP_PORT: `${ports[0]}`, TIDEGATE_OPERATOR_PORT: `${ports[1]}` }
  return startProgram('sh', ['-c', words], { cwd: folder, env })
}

function run(command: string, place: Place): Promise<CommandResult> {
  return start(command, place).result
}

function pageOf(name: string): string {
  return readFileSync(join(ROOT, `docs/tutorials/${name}.md`), 'utf8')
}
