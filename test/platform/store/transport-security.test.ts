import { describe, expect, it } from 'vitest'
import { transportProblem } from '../../../src/platform/store/transport-security.ts'

describe('the connection to the store', () => {
  it.each([
    '',
    'postgres://tidegate@localhost/tidegate',
    'postgres://tidegate@127.0.0.1:5432/tidegate?sslmode=disable',
    'postgres://tidegate@[::1]/tidegate',
    'postgres:///tidegate',
    'postgres://tidegate@/tidegate?host=/var/run/postgresql',
    'postgres://%2Fvar%2Frun%2Fpostgresql/tidegate',
    'postgres://db.example.com/tidegate?sslmode=verify-full',
    'postgres://db.example.com/tidegate?sslmode=verify-ca&sslrootcert=/ca.pem',
    'postgres://db.example.com/tidegate?sslmode=require',
    'postgres://db.example.com/tidegate?sslmode=require&uselibpqcompat=true&sslrootcert=/ca.pem',
    'postgres://db.example.com/tidegate?ssl=true',
  ])('the connection to the store is protected, or stays on this machine: %s', (url) => {
    expect(transportProblem(url)).toBeUndefined()
  })

  it.each([
    ['postgres://u:geheim@db.example.com/tidegate', 'sets no sslmode', 'db.example.com'],
    ['postgres://u:geheim@/tidegate?host=db.example.com', 'sets no sslmode', 'db.example.com'],
    ['postgres://u:geheim@10.0.0.5/tidegate?sslmode=disable', 'has sslmode=disable', '10.0.0.5'],
    ['postgres://u:geheim@[fd00::1]/tidegate?sslmode=allow', 'has sslmode=allow', 'fd00::1'],
    [
      'postgres://u:geheim@localhost.example.com/tidegate?sslmode=prefer',
      'has sslmode=prefer',
      'localhost.example.com',
    ],
    ['postgres://u:geheim@db/tidegate?sslmode=no-verify', 'has sslmode=no-verify', 'db'],
    ['postgres://u:geheim@db/tidegate?ssl=0', 'sets no sslmode', 'db'],
    ['postgres://u:geheim@db/tidegate?sslmode=require&uselibpqcompat=true', 'has sslmode=require', 'db'],
    ['postgres://u:geheim@localhost/tidegate?host=db', 'sets no sslmode', 'db'],
  ])('the connection to the store is not protected: %s', (url, state, host) => {
    const problem = transportProblem(url)
    expect(problem).toContain(`store.url ${state}: `)
    expect(problem).toContain(` sent to ${host} `)
    expect(problem).toContain('sslmode=verify-full')
    expect(problem).not.toContain('geheim')
  })
})
