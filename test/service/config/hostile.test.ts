/** Configurations that are broken or made to be expensive: each is one bounded list of problems, in bounded CPU time. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { readRegularFile } from '../../../src/platform/base/regular-file.ts'
import { readTlsFiles } from '../../../src/platform/http/tls.ts'
import { loadConfig } from '../../../src/service/config/load.ts'
import { describeProblem } from '../../../src/service/config/problem-list.ts'
import { canMakeFifo, makeFifo } from '../../support/fifo.ts'
import { HOSTILE_CONFIGURATIONS } from '../../support/hostile-configurations.ts'

/** Some take half a second on one core, and the machine may do other things; some took minutes, or had no end. */
const CPU_MILLISECONDS_MAX = 5_000
const folder = mkdtempSync(join(tmpdir(), 'tidegate-hostile-config-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function problemsOf(parts: { readonly file?: string; readonly environment?: Record<string, string> }): string[] {
  const { file, environment = {} } = parts
  const readFile = (path: string) => readRegularFile(path, 4_194_304).toString()
  const before = process.cpuUsage()
  const result = loadConfig({ flags: {}, environment, file, readFile })
  const { user, system } = process.cpuUsage(before)
  expect((user + system) / 1_000).toBeLessThan(CPU_MILLISECONDS_MAX)
  return result.ok ? [] : result.problems.map(describeProblem)
}

let files = 0
function fileWith(text: string): string {
  const path = join(folder, `${files++}.yaml`)
  writeFileSync(path, text)
  return path
}

describe('a configuration', () => {
  it.each(Object.entries(HOSTILE_CONFIGURATIONS))('a configuration with %s has few problems', (_what, text) => {
    const problems = problemsOf({ file: fileWith(text) })
    expect(problems.length).toBeGreaterThan(0)
    expect(problems.length).toBeLessThanOrEqual(51)
    for (const problem of problems) expect(problem.length).toBeLessThan(1_000)
  })

  it('a configuration names the first unknown keys and the number of the others', () => {
    const text = Array.from({ length: 10_000 }, (_, index) => `htp.port${index}: 1\n`).join('')
    const problems = problemsOf({ file: fileWith(text) })
    expect(problems).toHaveLength(51)
    expect(problems[0]).toContain('htp.port0 is an unknown key; did you mean http.port? (from ')
    expect(problems.at(-1)).toBe('configuration: has 9950 more problems')
  })

  it.each([
    ['a: &a [*a]', 'is nested more than 64 levels deep, or refers to itself'],
    ['http: &http\n  tls: *http\n', 'is nested more than 64 levels deep, or refers to itself'],
    [`a: [${'*a,'.repeat(101)}]`, 'has more than 100 aliases'],
    [' '.repeat(1_048_577), 'is longer than 1048576 characters'],
    ['a: {b: 1, c: {}, b: 2}', 'line 1 is not valid YAML (duplicate key)'],
  ])('a configuration is rejected with the rule (%#)', (text, rule) => {
    const file = fileWith(text)
    expect(problemsOf({ file })).toEqual([`${file}: ${rule}`])
  })

  it('a configuration may use aliases', () => {
    const file = fileWith('http: {host: &host 127.0.0.1, port: 1}\noperator: {host: *host}\n')
    expect(problemsOf({ file })).toEqual([])
  })
})

describe('what is no regular file', () => {
  const directory = join(folder, 'directory')
  mkdirSync(directory)
  const fifo = join(folder, 'fifo')
  if (canMakeFifo) makeFifo(fifo)
  const link = join(folder, 'link')
  symlinkSync(directory, link)
  const expectRejected = (path: string) => {
    expect(problemsOf({ file: path })).toEqual([`${path}: cannot be read: it is not a regular file`])
    expect(problemsOf({ environment: { TIDEGATE_OPERATOR_TOKEN_FILE: path } })).toEqual([
      `operator.token cannot be read from ${path}: it is not a regular file (from TIDEGATE_OPERATOR_TOKEN_FILE)`,
    ])
    expect(() => readTlsFiles({ certFile: path, keyFile: path }, 0)).toThrow(
      `${path}: cannot be read (it is not a regular file)`,
    )
  }

  it.each([
    ['a directory', directory],
    ['a link to a directory', link],
    ['a device', '/dev/zero'],
  ])('%s is rejected as the configuration, a secret and a TLS file, without waiting', (_what, path) => {
    expectRejected(path)
  })

  it.skipIf(!canMakeFifo)(
    'a named pipe is rejected as the configuration, a secret and a TLS file, without waiting (needs mkfifo)',
    () => expectRejected(fifo),
  )
})

describe('a file that is too large', () => {
  const path = join(folder, 'large')
  writeFileSync(path, '')
  // A sparse file: it uses no disk space, and reading it would use all memory.
  truncateSync(path, 2 ** 40)

  it('a file that is too large is rejected as the configuration, a secret and a TLS file', () => {
    expect(problemsOf({ file: path })).toEqual([`${path}: cannot be read: it is larger than 4194304 bytes`])
    expect(problemsOf({ environment: { TIDEGATE_OPERATOR_TOKEN_FILE: path } })).toHaveLength(1)
    expect(() => readTlsFiles({ certFile: path, keyFile: path }, 0)).toThrow('larger than')
  })
})

describe('readRegularFile', () => {
  it('readRegularFile reads an existing file, up to its limit, and follows links', () => {
    const path = fileWith('0123456789')
    const link = join(folder, 'link-to-file')
    symlinkSync(path, link)
    for (const name of [path, link]) expect(readRegularFile(name, 10).toString()).toBe('0123456789')
    expect(() => readRegularFile(path, 9)).toThrow('it is larger than 9 bytes')
    expect(readRegularFile(fileWith(''), 10).toString()).toBe('')
    expect(() => readRegularFile(join(folder, 'missing'), 10)).toThrow(expect.objectContaining({ code: 'ENOENT' }))
  })
})
