/**
 * Both packages as npm installs them in an empty project: the client alone, without a network, and the service, which needs
 * the network or npm's cache and must get nothing of `@tidegate` from a registry.
 */

import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { awaited } from '../support/awaited.ts'
import { ensureBuilt } from '../support/running-service.ts'
import { runTorture } from '../support/torture-run.ts'

const ROOT = join(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'tidegate-install-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Without the settings of this repository, which a test that npm has started inherits. */
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('npm_')))

function npm(cwd: string, ...args: string[]): string {
  return execFileSync('npm', [...args, '--no-audit', '--no-fund', '--loglevel=error'], { cwd, env, encoding: 'utf8' })
}

function emptyProject(name: string): string {
  const project = join(folder, name)
  mkdirSync(project)
  writeFileSync(join(project, 'package.json'), '{"name":"a-project","version":"1.0.0","type":"module"}')
  return project
}

function packed(...args: string[]): string {
  ensureBuilt()
  return join(folder, npm(ROOT, 'pack', '--pack-destination', folder, ...args).trim())
}

/** Packages of a lockfile, with where they come from. */
function locked(project: string): readonly (readonly [path: string, resolved: string])[] {
  const { packages } = JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8'))
  return Object.entries(packages as Record<string, { resolved?: string }>).map(([path, entry]) => [
    path,
    entry.resolved ?? '',
  ])
}

it('the client installs without a network, and its program of five lines works', async () => {
  const project = emptyProject('client')
  npm(project, 'install', '--offline', packed('--workspace', '@tidegate/client'))
  expect(locked(project).map(([path]) => path)).toEqual(['', 'node_modules/@tidegate/client'])
  // For Node.js 20, as `npm install ws` would.
  symlinkSync(join(ROOT, 'node_modules/ws'), join(project, 'node_modules/ws'))
  const readme = readFileSync(join(project, 'node_modules/@tidegate/client/README.md'), 'utf8')
  const [, program = ''] = /```js\n([\s\S]*?)```/.exec(readme) ?? []
  const file = join(project, 'program.js')
  writeFileSync(file, program.replace(`'data/demo-client.json'`, 'process.env.TIDEGATE_CREDENTIALS'))
  const only = ['--only', 'close-1012', '--only', 'close-4003']
  const { results } = await runTorture(folder, ['--pace', '300', ...only, '--', process.execPath, file]).ended
  expect(results.map(({ name, outcome }) => `${name} ${outcome}`)).toEqual(['close-1012 right', 'close-4003 right'])
})

it('the service installs from its package, with the client and nothing of @tidegate from a registry, and starts', async () => {
  const project = emptyProject('service')
  npm(project, 'install', '--engine-strict', '--ignore-scripts', packed())
  expect(locked(project).filter(([path]) => path.includes('@tidegate'))).toEqual([])
  const [, resolved = ''] = locked(project).find(([path]) => path === 'node_modules/tidegate') ?? []
  expect(resolved).toMatch(/^file:/)
  expect(execFileSync(join(project, 'node_modules/.bin/tidegate'), ['--version'], { encoding: 'utf8' })).toMatch(/^\d/)
  npm(project, 'install', '--offline', './node_modules/tidegate/packages/client')
  const program = `import('@tidegate/client').then(({ StreamClient }) => console.log(typeof StreamClient))`
  expect(execFileSync(process.execPath, ['-e', program], { cwd: project, encoding: 'utf8' })).toBe('function\n')
  await expectDemoStarts(join(project, 'node_modules/tidegate'))
})

it('the packed service starts its embedded store, without a network', async () => {
  const project = emptyProject('unpacked')
  execFileSync('tar', ['-xzf', packed(), '-C', project])
  symlinkSync(join(ROOT, 'node_modules'), join(project, 'node_modules'))
  await expectDemoStarts(join(project, 'package'))
})

/** Starts `tidegate demo` from an installed folder; its store is new and made from the template of the package. */
async function expectDemoStarts(installed: string): Promise<void> {
  const data = mkdtempSync(join(folder, 'data-'))
  const options = ['--data_dir', data, '--http.port', '0', '--operator.port', '0']
  const program = spawn(process.execPath, [join(installed, 'dist/main.js'), 'demo', ...options], { cwd: data })
  let output = ''
  const ended = new Promise((resolve) => program.once('exit', resolve))
  const ready = new Promise<void>((resolve) => {
    for (const stream of [program.stdout, program.stderr])
      stream.on('data', (chunk: Buffer) => {
        output += chunk
        if (output.includes('ready')) resolve()
      })
  })
  await awaited('the ready line of tidegate demo', Promise.race([ready, ended]))
  const isRunning = program.exitCode === null
  program.kill('SIGTERM')
  await ended
  expect(isRunning, output).toBe(true)
}
