/** Attacks on the token endpoint: guesses from an honest client's address, and unlimited revocations. */
import { type Attack, Findings } from './attack.ts'
import { paced, pooled, send, statusText } from './requests.ts'
import type { Stage } from './stage.ts'

const SCOPE = 'identity:read_account'

function grant(stage: Stage, clientId: string, clientSecret: string) {
  const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret, scope: SCOPE }
  return post(stage, '/oauth2/token', form)
}

function post(stage: Stage, path: string, form: Readonly<Record<string, string>>) {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  return send(stage.http + path, { method: 'POST', headers, body: new URLSearchParams(form).toString() })
}

/** Token requests per second, below one address's default rate (50). */
const GUESSES_PER_SECOND = 40
/** Every third request is the honest client's own. */
const HONEST_EVERY = 3

export const tokenGuesses: Attack = {
  name: 'token-guesses',
  sent: '120 guesses at the secret of one client, and 60 requests with its right secret from the same address',
  holds: 'the right secret gets its token each time, and every guess is 401 or 429',
  isolation: 'shared',
  isInTests: true,
  async run({ stage, scale }) {
    const findings = new Findings()
    const { clientId, clientSecret } = await stage.customer()
    const answers = await paced(scale === 'full' ? 180 : 90, GUESSES_PER_SECOND, async (index) => {
      const isHonest = index % HONEST_EVERY === HONEST_EVERY - 1
      const secret = isHonest ? clientSecret : `${clientSecret.slice(0, -4)}${1_000 + index}`
      return { isHonest, status: (await grant(stage, clientId, secret)).status }
    })
    const honest = answers.filter(({ isHonest }) => isHonest)
    const guesses = answers.filter(({ isHonest }) => !isHonest)
    const granted = honest.filter(({ status }) => status === 200).length
    findings.check(granted === honest.length, `the right secret: ${statusText(honest)}`)
    findings.check(
      guesses.every(({ status }) => status === 401 || status === 429),
      `guesses: ${statusText(guesses)}`,
    )
    return findings.outcome(`guesses ${statusText(guesses)}; the right secret ${statusText(honest)}`)
  },
}

export const tokenFloods: Attack = {
  name: 'token-floods',
  sent: '600 guesses at invented clients as fast as they are answered, and 30 requests with a right secret from the same address',
  holds: 'the right secret gets its token each time; the guesses are limited (429)',
  isolation: 'own',
  isInTests: false,
  async run({ stage, scale }) {
    const findings = new Findings()
    const { clientId, clientSecret } = await stage.customer()
    const count = scale === 'full' ? 600 : 300
    const answers = await pooled(count, 8, async (index) => {
      const isHonest = index % 20 === 19
      const { status } = isHonest
        ? await grant(stage, clientId, clientSecret)
        : await grant(stage, `invented-${index}`, 'x'.repeat(43))
      return { isHonest, status }
    })
    const honest = answers.filter(({ isHonest }) => isHonest)
    const guesses = answers.filter(({ isHonest }) => !isHonest)
    findings.check(
      honest.every(({ status }) => status === 200),
      `the right secret: ${statusText(honest)}`,
    )
    findings.check(
      guesses.some(({ status }) => status === 429),
      `guesses: ${statusText(guesses)}`,
    )
    return findings.outcome(`guesses ${statusText(guesses)}; the right secret ${statusText(honest)}`)
  },
}

/** The service's clients, whose records a full directory reload reads. */
const CLIENTS = 1_200
/** CPU time for one revocation with its write, including all the process's other work. */
const REVOCATION_MILLISECONDS_MAX = 15

export const revocationStorms: Attack = {
  name: 'revocation-storms',
  sent: `200 revocations of one client's own tokens at 50 a second, on a service with ${CLIENTS.toLocaleString('en')} clients`,
  holds: `each is in force when it is answered, and costs at most ${REVOCATION_MILLISECONDS_MAX} ms of processor time`,
  isolation: 'own',
  isInTests: false,
  settings: { 'auth.token_rate_per_second': '1000' },
  async prepare({ stage, scale }) {
    const { id } = await stage.operator.call<{ id: string }>('POST', '/customers', { name: 'many clients' })
    await pooled(scale === 'full' ? CLIENTS : 50, 4, (index) =>
      stage.operator.call('POST', `/customers/${id}/clients`, { name: `client ${index}`, scopes: [SCOPE] }),
    )
  },
  async run({ stage, scale }) {
    const findings = new Findings()
    const { clientId, clientSecret } = await stage.customer()
    const count = scale === 'full' ? 200 : 40
    const credentials = { client_id: clientId, client_secret: clientSecret }
    const tokens = await pooled(count, 8, async () => {
      const answer = await grant(stage, clientId, clientSecret)
      return (JSON.parse(answer.text) as { access_token: string }).access_token
    })
    const before = stage.busyMilliseconds
    const answers = await paced(count, 50, (index) =>
      post(stage, '/oauth2/revoke', { ...credentials, token: tokens[index]! }),
    )
    const cost = Math.round((stage.busyMilliseconds - before) / count)
    const still = await pooled(count, 8, (index) =>
      send(`${stage.http}/v2/identity/accounts/x`, { headers: { authorization: `Bearer ${tokens[index]}` } }),
    )
    const revoked = answers.filter(({ status }) => status === 200).length
    const accepted = still.filter(({ status }, index) => answers[index]!.status === 200 && status !== 401).length
    findings.check(
      answers.every(({ status }) => status === 200 || status === 503),
      `answers: ${statusText(answers)}`,
    )
    findings.check(accepted === 0, `${accepted} revoked tokens were accepted`)
    findings.check(cost <= REVOCATION_MILLISECONDS_MAX, `${cost} ms of processor time for each`)
    return findings.outcome(`${revoked} of ${count} revoked, ${cost} ms of processor time for each`)
  },
}
