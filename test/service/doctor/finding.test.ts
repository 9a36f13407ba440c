/** The advice of the doctor about something that cannot be connected to. */
import { expect, it } from 'vitest'
import { nextOfConnection, reasonOf } from '../../../src/service/doctor/finding.ts'

it.each([
  ['getaddrinfo ENOTFOUND db.example', 'no such host: correct its name, or this machine’s name server'],
  ['ENOTFOUND', 'no such host: correct its name, or this machine’s name server'],
  ['getaddrinfo EAI_AGAIN db.example', 'this machine’s name server does not answer: see /etc/resolv.conf'],
  ['connect ECONNREFUSED 127.0.0.1:5432', 'start the store'],
])('the advice for %s is about its cause', (reason, next) => {
  expect(nextOfConnection(reason, 'start the store')).toBe(next)
})

it('the reason of a failure is the code of the system if there is one, or else its message', () => {
  expect(reasonOf(Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }))).toBe('ECONNREFUSED')
  expect(reasonOf(new TypeError('fetch failed', { cause: { code: 'ECONNRESET' } }))).toBe('ECONNRESET')
  expect(reasonOf(new DOMException('it took too long', 'TimeoutError'))).toBe('it took too long')
})
