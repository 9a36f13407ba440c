/** Attacks on the process: a stalled reader for its log, and a suspension. */
import { type Attack, Findings } from './attack.ts'
import { pause, pooled, send, statusText } from './requests.ts'
import { STOP_MILLISECONDS_MAX } from './stage.ts'

/** Far longer than any response takes, and far shorter than a hang. */
const ANSWER_MILLISECONDS_MAX = 20_000

export const stalledLog: Attack = {
  name: 'stalled-log',
  sent: '3,000 requests without a token while the log of the service is not read, then SIGTERM',
  holds: `each is answered, /livez too, and the process ends within ${STOP_MILLISECONDS_MAX / 1_000} s`,
  hasStalledLog: true,
  isolation: 'once',
  isInTests: false,
  async run({ stage, scale }) {
    const findings = new Findings()
    let isHanging = false
    const answers = await pooled(scale === 'full' ? 3_000 : 800, 8, async (index) => {
      if (isHanging) return { status: -1 }
      const path = index % 3 === 0 ? '/nothing' : '/v2/identity/accounts'
      const answer = await send(`${stage.http}${path}`, { millisecondsMax: ANSWER_MILLISECONDS_MAX })
      if (answer.status === 0) isHanging = true
      return answer
    })
    const sent = answers.filter(({ status }) => status >= 0)
    findings.check(!isHanging, `no answer to one of ${sent.length} requests`)
    const livez = await send(`${stage.operator.url}/livez`, { millisecondsMax: ANSWER_MILLISECONDS_MAX })
    findings.check(livez.status === 200, `/livez: ${livez.error ?? livez.status}`)
    stage.signal('SIGTERM')
    const ended = await stage.untilEnded(STOP_MILLISECONDS_MAX)
    findings.check(ended === 'code 0', `after SIGTERM: ${ended ?? 'still running'}`)
    return findings.outcome(`${statusText(sent)}; /livez ${livez.status}; ended with ${ended}`)
  },
}

export const suspendedProcess: Attack = {
  name: 'suspended-process',
  sent: 'SIGSTOP for 12 s, then SIGCONT, twice, with process.hang_seconds = 5',
  holds: 'the process runs on: a process that did not run does not hang',
  settings: { 'process.hang_seconds': '5' },
  isolation: 'once',
  isInTests: false,
  async run({ stage }) {
    const findings = new Findings()
    for (let count = 0; count < 2; count++) {
      stage.signal('SIGSTOP')
      await pause(12_000)
      stage.signal('SIGCONT')
      const livez = await send(`${stage.operator.url}/livez`)
      findings.check(livez.status === 200, `/livez after SIGCONT: ${livez.error ?? livez.status}`)
      // As long as the watchdog would need to notice.
      await pause(6_000)
      findings.check(stage.isAlive, `the process ended (${stage.ended})`)
    }
    return findings.outcome(stage.isAlive ? 'it runs on' : `it ended with ${stage.ended}`)
  },
}
