/**
 * Guessing secrets at the built service's token endpoint: responses do not reveal which clients exist, clients have to
 * wait from the sixth failure in a minute, the rate of guesses from one address is limited, and a client with the right
 * secret gets its tokens, even at the same address.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../support/awaited.ts'
import { ensureBuilt, STREAM_SCOPE, temporaryFolder } from '../support/running-service.ts'
import { type AttackedService, askForToken, startAttackedService, stopAttackedService } from './attacked-service.ts'
import { type Credentials, SECRET_MARK } from './family.ts'
import type { RawAnswer } from './raw-peer.ts'

const FAILURES_FREE = 5
const WAIT_SECONDS_MAX = 60
/** The documented default for `auth.token_rate_per_second`, and its burst. */
const RATE = 50
const BURST = 200

const folder = temporaryFolder()
let siege: AttackedService

beforeAll(async () => {
  ensureBuilt()
  siege = await startAttackedService(folder.path, { 'auth.token_rate_per_second': RATE })
})

afterAll(async () => {
  siege?.service.command.child.kill('SIGKILL')
  await siege?.service.command.result
  folder.remove()
})

/** Requests a token from one address in the loopback network. */
function ask(from: string, credentials: Omit<Credentials, 'token'>): Promise<RawAnswer> {
  return askForToken({ ...siege.field.stream, from }, credentials, STREAM_SCOPE)
}

/**
 * A response without the parts that differ between any two: ids, times, the address's remaining rate, and the remaining
 * delay.
 */
function telling({ status, headers, body }: RawAnswer): string {
  const differs = ['date', 'x-request-id', 'ratelimit']
  const fields = [...headers].filter(([name]) => !differs.includes(name))
  const withoutSeconds = fields.map(([name, value]) => [name, name === 'retry-after' ? Number(value) > 0 : value])
  const lengthless = withoutSeconds.filter(([name]) => name !== 'content-length')
  return JSON.stringify([status, lengthless, body.replace(/[0-9]+ seconds?/, 'a while')])
}

function retryAfterSeconds({ headers }: RawAnswer): number {
  return Number(headers.get('retry-after'))
}

function wrong(clientId: string) {
  return { clientId, clientSecret: `${SECRET_MARK}-guess` }
}

describe('guessing a client secret', () => {
  it('guessing a client secret is answered identically for an existing, an unknown and a disabled client, however often', async () => {
    const { reader, unlisted } = siege.field
    await siege.service.operator.call('PATCH', `/clients/${unlisted.clientId}`, { enabled: false })
    const unknownId = '00000000-0000-4000-8000-000000000000'
    for (let count = 0; count < FAILURES_FREE + 3; count++) {
      const [there, notThere, disabled] = [
        telling(await ask('127.0.0.10', wrong(reader.clientId))),
        telling(await ask('127.0.0.10', wrong(unknownId))),
        // Even with the right secret.
        telling(await ask('127.0.0.10', unlisted)),
      ]
      expect(notThere).toBe(there)
      expect(disabled).toBe(there)
      expect(JSON.parse(there)[0]).toBe(count < FAILURES_FREE ? 401 : 429)
    }
  })

  it('guessing a client secret has to wait from the sixth failure on, longer each time, but never longer than a minute', async () => {
    const { reader, scopeless } = siege.field
    const from = '127.0.0.11'
    for (let count = 0; count < FAILURES_FREE; count++) {
      expect((await ask(from, wrong(reader.clientId))).status).toBe(401)
    }
    const waits: number[] = []
    for (let count = 0; count < 12; count++) {
      const answer = await ask(from, wrong(reader.clientId))
      expect(answer.status).toBe(429)
      expect(JSON.parse(answer.body)).toMatchObject({ error: 'temporarily_unavailable' })
      waits.push(retryAfterSeconds(answer))
    }
    expect(waits[0]).toBe(1)
    expect(Math.max(...waits)).toBeGreaterThan(WAIT_SECONDS_MAX / 2)
    expect(Math.max(...waits)).toBeLessThanOrEqual(WAIT_SECONDS_MAX)
    // The right secret does not wait.
    expect((await ask(from, reader)).status).toBe(200)
    // Other addresses, and other clients at the same address, are not affected.
    expect((await ask('127.0.0.12', reader)).status).toBe(200)
    expect(JSON.parse((await ask(from, scopeless)).body)).toMatchObject({ error: 'invalid_scope' })
  })

  it('guessing client secrets from one address is limited to the rate of an address, with the rate headers', async () => {
    const answers: RawAnswer[] = []
    const guesses = BURST + 200
    const guess = async (from: number): Promise<void> => {
      for (let count = from; count < guesses; count += 20)
        answers.push(await ask('127.0.0.13', wrong(`unknown-${count}`)))
    }
    const begin = performance.now()
    await Promise.all(Array.from({ length: 20 }, (_, from) => guess(from)))
    const seconds = (performance.now() - begin) / 1_000
    const refused = answers.filter(({ status }) => status === 429)
    const accepted = answers.filter(({ status }) => status === 401)
    expect(refused.length + accepted.length).toBe(guesses)
    expect(accepted.length).toBeGreaterThanOrEqual(BURST)
    expect(accepted.length).toBeLessThanOrEqual(BURST + Math.ceil(seconds * RATE) + 1)
    for (const answer of refused) {
      expect(retryAfterSeconds(answer)).toBeGreaterThanOrEqual(1)
      expect(answer.headers.get('ratelimit')).toContain('r=0')
      expect(answer.headers.get('ratelimit-policy')).toContain(`q=${BURST}`)
      expect(JSON.parse(answer.body)).toMatchObject({ error: 'temporarily_unavailable' })
    }
    expect((await ask('127.0.0.14', siege.field.reader)).status).toBe(200)
  })

  it('guessing a client secret from a shared address costs the right secret none of 130 grants', async () => {
    const { reader } = siege.field
    const from = '127.0.0.15'
    const guesses = { ended: false, refused: 0 }
    const guess = async (): Promise<void> => {
      while (!guesses.ended) if ((await ask(from, wrong(reader.clientId))).status === 429) guesses.refused++
    }
    const guessing = Array.from({ length: 4 }, guess)
    await until(
      `${BURST} refusals`,
      () => guesses.refused >= BURST,
      () => ask(from, wrong(reader.clientId)),
    )
    const statuses: number[] = []
    for (let count = 0; count < 130; count++) statuses.push((await ask(from, reader)).status)
    guesses.ended = true
    await Promise.all(guessing)
    expect(statuses).toEqual(Array(130).fill(200))
  })

  it('guessing a client secret leaves no error and no secret in the output of the service', async () => {
    expect(await stopAttackedService(siege)).toEqual([])
  })
})
