/** The lock with which several processes create one template of the store. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { takeLock } from '../../scripts/ensure-template.mjs'
import { startProgram } from '../support/command-line.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidegate-lock-'))
afterAll(() => rmSync(folder, { recursive: true }))

it('processes that need the lock at the same moment have it one after the other', async () => {
  const [lock, trace] = [join(folder, 'lock'), join(folder, 'trace')]
  const holder = `
    import { appendFileSync, rmSync } from 'node:fs'
    import { takeLock } from '${new URL('../../scripts/ensure-template.mjs', import.meta.url)}'
    takeLock('${lock}')
    appendFileSync('${trace}', 'taken ')
    await new Promise((resolve) => setTimeout(resolve, 20))
    appendFileSync('${trace}', 'given back, ')
    rmSync('${lock}')`
  const holders = [1, 2, 3].map(() =>
    startProgram(process.execPath, ['--input-type=module', '--eval', holder], { cwd: folder, env: {} }),
  )
  const results = await Promise.all(holders.map(({ result }) => result))
  expect(results.map(({ stderr }) => stderr)).toEqual(['', '', ''])
  expect(readFileSync(trace, 'utf8')).toBe('taken given back, '.repeat(3))
})

it('the lock of a process that was killed is taken', async () => {
  const lock = join(folder, 'left')
  const dead = startProgram(process.execPath, ['--eval', ''], { cwd: folder, env: {} })
  await dead.result
  writeFileSync(lock, `${dead.child.pid}`)
  takeLock(lock)
  expect(readFileSync(lock, 'utf8')).toBe(`${process.pid}`)
})
