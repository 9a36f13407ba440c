/** Files that are written once and needed as long as the store: they are on disk before anything depends on them. */
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { readOrCreatePrivateFile } from '../../../src/service/keys/private-file.ts'
import { prepareDataFolder } from '../../../src/service/process/data-folder.ts'

const { steps } = vi.hoisted(() => ({ steps: [] as string[] }))

vi.mock('node:fs', async (original) => {
  const real = await original<typeof import('node:fs')>()
  return {
    ...real,
    fsyncSync(descriptor: number): void {
      steps.push(`sync ${readlinkSync(`/proc/self/fd/${descriptor}`)}`)
      real.fsyncSync(descriptor)
    },
    linkSync(from: string, to: string): void {
      steps.push(`link ${to}`)
      real.linkSync(from, to)
    },
  }
})

let root: string
let mask: number
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'tidegate-private-'))
  mask = process.umask()
  steps.length = 0
})
afterEach(() => {
  process.umask(mask)
  rmSync(root, { recursive: true })
})

it('a private file is on disk before it has its name, and its name before it is used', () => {
  const path = join(root, 'encryption-key')
  expect(readOrCreatePrivateFile(path, () => 'the key\n')).toBe('the key\n')
  expect(steps).toEqual([`sync ${path}.new`, `link ${path}`, `sync ${root}`])
  expect([readFileSync(path, 'utf8'), readdirSync(root)]).toEqual(['the key\n', ['encryption-key']])
})

it("a private file's name is on disk too after a start that ended before it was", () => {
  const path = join(root, 'encryption-key')
  readOrCreatePrivateFile(path, () => 'the key\n')
  steps.length = 0
  expect(readOrCreatePrivateFile(path, () => 'another key\n')).toBe('the key\n')
  expect(steps.at(-1)).toBe(`sync ${root}`)
})

it('a new data folder is on disk with every folder made for it', () => {
  prepareDataFolder(join(root, 'lib', 'tidegate'))
  expect(steps).toEqual([`sync ${join(root, 'lib')}`, `sync ${root}`])
  steps.length = 0
  prepareDataFolder(join(root, 'lib', 'tidegate'))
  expect(steps).toEqual([])
})
