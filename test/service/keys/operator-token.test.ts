import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readOperatorToken } from '../../../src/service/keys/operator-token.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidegate-token-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

describe('the operator token', () => {
  it('the operator token is created once, with 256 random bits, readable by its owner only', () => {
    const token = readOperatorToken(folder, '')
    expect(token).toMatch(/^[\w-]{43}$/)
    expect(readOperatorToken(folder, '')).toBe(token)
    const path = join(folder, 'operator-token')
    expect(readFileSync(path, 'utf8')).toBe(`${token}\n`)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(readdirSync(folder)).toEqual(['operator-token'])
  })

  it('the operator token has that mode under any umask and after an interrupted start', () => {
    writeFileSync(join(folder, 'operator-token.new'), 'half', { mode: 0o644 })
    const mask = process.umask(0o777)
    try {
      readOperatorToken(folder, '')
    } finally {
      process.umask(mask)
    }
    expect(statSync(join(folder, 'operator-token')).mode & 0o777).toBe(0o600)
  })

  it('the operator token is taken from the configuration if it is set there, and no file is created', () => {
    expect(readOperatorToken(folder, 'mine')).toBe('mine')
    expect(readdirSync(folder)).toEqual([])
  })

  it.each(['', 'short', `${'x'.repeat(20)} ${'x'.repeat(20)}`])(
    'a damaged operator token is refused by its path: %j',
    (text) => {
      writeFileSync(join(folder, 'operator-token'), text)
      expect(() => readOperatorToken(folder, '')).toThrow(`${folder}/operator-token is damaged`)
    },
  )
})
