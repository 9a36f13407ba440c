/** Which `Host` and `Origin` a listener accepts: names that a page cannot make resolve to us, and our own pages only. */
import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { createHostCheck } from '../../../src/platform/http/host-check.ts'

let allowed: readonly string[] = ['operator.internal', 'Ops.Example.']
const check = createHostCheck(() => allowed, 'operator.allowed_hosts')

function problemOf(headers: Record<string, string>, encrypted = false): string | undefined {
  const socket = encrypted ? { encrypted } : {}
  return check({ headers, socket } as unknown as IncomingMessage)?.code
}

describe('Host', () => {
  it.each([
    '127.0.0.1',
    '127.0.0.1:8081',
    '10.1.2.3:8081',
    '[::1]:8081',
    '[2001:db8::1]',
    'localhost',
    'LOCALHOST:8081',
    'localhost.:8081',
    'operator.internal',
    'Operator.Internal:9000',
    'ops.example',
  ])('the Host %s is accepted', (host) => {
    expect(problemOf({ host })).toBeUndefined()
  })

  it.each([
    'attacker.example',
    'attacker.example:8081',
    'localhost.attacker.example',
    '127.0.0.1.nip.io',
    'operator',
    '',
  ])('the Host %j is 421', (host) => {
    expect(problemOf({ host })).toBe('misdirected_request')
  })

  it('a request without a Host comes from no browser', () => {
    expect(problemOf({})).toBeUndefined()
  })

  it('the Host is checked with the current names', () => {
    allowed = [...allowed, 'new.example']
    expect(problemOf({ host: 'new.example' })).toBeUndefined()
  })
})

describe('Origin', () => {
  it.each([
    ['http://127.0.0.1:8081', '127.0.0.1:8081', false],
    ['http://localhost', 'localhost:80', false],
    ['http://operator.internal:8081', 'operator.internal:8081', false],
    ['https://localhost:8081', 'localhost:8081', true],
  ])('the Origin %s is accepted at %s', (origin, host, encrypted) => {
    expect(problemOf({ origin, host }, encrypted)).toBeUndefined()
  })

  it.each([
    ['https://attacker.example', '127.0.0.1:8081'],
    ['http://localhost:8081', '127.0.0.1:8081'],
    ['http://127.0.0.1:3000', '127.0.0.1:8081'],
    ['https://127.0.0.1:8081', '127.0.0.1:8081'],
    ['null', 'localhost:8081'],
  ])('the Origin %s is 403 at %s', (origin, host) => {
    expect(problemOf({ origin, host })).toBe('foreign_origin')
  })

  it('the Origin cannot be checked without a Host', () => {
    expect(problemOf({ origin: 'http://localhost' })).toBe('foreign_origin')
  })

  it('the Origin check comes after the Host check', () => {
    expect(problemOf({ origin: 'http://attacker.example', host: 'attacker.example' })).toBe('misdirected_request')
  })
})
