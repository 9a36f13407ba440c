/** Attacks with malformed traffic whose responses are documented: tables of cases, and a random mix. */
import { runAttacks } from '../attack-run.ts'
import { HEAD_CASES, runHeadCase } from '../http-heads.ts'
import { FRAME_CASES, runFrameCase } from '../stream-frames.ts'
import { type Attack, Findings } from './attack.ts'
import { pooled } from './requests.ts'

export const rawHttp: Attack = {
  name: 'raw-http',
  sent: 'bytes on the public listener: two lengths, transfer codings, folding, absolute targets, bad chunks, no HTTP',
  holds: 'each is answered with the documented status and a problem document, and bytes after a fault are not read',
  cases: HEAD_CASES,
  isolation: 'shared',
  isInTests: true,
  async run({ stage }) {
    const findings = new Findings()
    const field = await stage.field()
    await pooled(HEAD_CASES.length, 4, (index) => noted(findings, () => runHeadCase(field, index)))
    return findings.outcome(`${HEAD_CASES.length - findings.count} of ${HEAD_CASES.length} as documented`)
  },
}

export const streamFrameCases: Attack = {
  name: 'stream-frames',
  sent: 'frames that break or bend RFC 6455, each on a connection of its own',
  holds: 'each is answered as a sound one or closed with the documented code',
  cases: FRAME_CASES,
  isolation: 'shared',
  isInTests: true,
  async run({ stage, random }) {
    const findings = new Findings()
    const field = await stage.field()
    await pooled(FRAME_CASES.length, 4, (index) => noted(findings, () => runFrameCase(field, random, index)))
    return findings.outcome(`${FRAME_CASES.length - findings.count} of ${FRAME_CASES.length} as documented`)
  },
}

async function noted(findings: Findings, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    findings.check(false, (error as Error).message.slice(0, 300))
  }
}

export const malformedMix: Attack = {
  name: 'malformed-mix',
  sent: '1,000 malformed requests of every family: frames, requests, handshakes, heads, tokens, the operator API',
  holds: 'each is answered as the public description says',
  isolation: 'own',
  isInTests: false,
  settings: { 'auth.token_rate_per_second': '1000' },
  async run({ stage, random, scale }) {
    const count = scale === 'full' ? 1_000 : 200
    const { requests, failures } = await runAttacks(await stage.field(), random.integer(2 ** 31), count)
    const sent = Object.entries(requests).map(([family, number]) => `${family} ${number}`)
    return { seen: sent.join(', '), failures: failures.slice(0, 12) }
  },
}
